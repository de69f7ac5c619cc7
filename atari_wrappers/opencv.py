"""OpenCV, which makes pictures gray and small; the backends `native` and `ale` do that themselves.

The first picture imports it: the package works without it, and starts faster.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np

from atari_wrappers.errors import UnsupportedError


def problem_of_opencv() -> str | None:
    """Say what keeps pictures from being made gray and small, if anything."""
    if "cv2" in sys.modules or find_spec("cv2") is not None:
        return None
    return (
        "it makes pictures small by OpenCV, which is not installed:"
        ' pip install "atari-wrappers[opencv]"'
    )


def check_opencv() -> None:
    """Raise an `UnsupportedError` where OpenCV is not installed."""
    problem = problem_of_opencv()
    if problem is not None:
        raise UnsupportedError(f'a game on ale-py: {problem}; backend="native" needs none')


def to_gray(picture: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Turn uint8 RGB `[height, width, 3]` to gray `[height, width]`, by OpenCV's weights."""
    import cv2

    return cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY, dst=out)


def resize(
    picture: np.ndarray,
    size: tuple[int, int],
    out: np.ndarray | None = None,
    linear: bool = False,
) -> np.ndarray:
    """Resize a picture to `size`, width and height, by INTER_AREA or INTER_LINEAR."""
    import cv2

    way = cv2.INTER_LINEAR if linear else cv2.INTER_AREA
    return cv2.resize(picture, size, dst=out, interpolation=way)
