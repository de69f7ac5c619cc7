"""Reading back the files that recording wrote."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

from atari_wrappers.recording.video import SCALE


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read_png(path: Path) -> np.ndarray:
    return np.array(Image.open(path))


def read_video(path: Path) -> tuple[list[np.ndarray], Fraction]:
    """Return the pictures, in their size before it was doubled, and their rate."""
    with av.open(path) as container:
        [stream] = container.streams
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        assert len(frames) == stream.frames
        return [frame[::SCALE, ::SCALE] for frame in frames], stream.average_rate


def assert_same_pictures(decoded: list[np.ndarray], shown: list[np.ndarray]) -> None:
    """Compare a video with what was shown; H.264 loses a little, a frame in the wrong place more.

    Raises:
        AssertionError: They differ in number, or by more than that.
    """
    assert len(decoded) == len(shown)
    for index, (ours, theirs) in enumerate(zip(decoded, shown, strict=True)):
        difference = np.abs(ours.astype(int) - theirs).mean()
        assert difference < 1.5, f"frame {index} differs by {difference} on average"
