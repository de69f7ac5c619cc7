"""Pictures of many envs as one, for people to look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Width to height of the screens that the one picture is to fill well.
_SCREEN = 4 / 3


def tile(frames: Sequence[np.ndarray]) -> np.ndarray:
    """Put pictures side by side in rows, in reading order.

    Args:
        frames: Uint8 RGB `[height, width, 3]`, at least one, all of one size.

    Returns:
        Uint8 RGB `[rows * height, columns * width, 3]`, black where no picture is left. There are
        as many columns as show the pictures largest on a 4:3 screen.

    Raises:
        ValueError: There are none, or they are no such pictures.
    """
    if len(frames) == 0:
        raise ValueError("there are no pictures to tile")
    height, width = frames[0].shape[:2]
    for index, frame in enumerate(frames):
        if frame.shape != (height, width, 3) or frame.dtype != np.uint8:
            raise ValueError(
                f"picture {index} is {frame.dtype} {list(frame.shape)},"
                f" not uint8 {[height, width, 3]}"
            )
    columns = _columns(len(frames), width / height)
    rows = -(-len(frames) // columns)
    picture = np.zeros((rows, height, columns, width, 3), np.uint8)
    for index, frame in enumerate(frames):
        picture[index // columns, :, index % columns] = frame
    return picture.reshape(rows * height, columns * width, 3)


def _columns(count: int, aspect: float) -> int:
    """Return the number of columns with which `count` pictures come out largest."""

    def scale(columns: int) -> float:
        rows = -(-count // columns)
        return min(_SCREEN / (columns * aspect), 1 / rows)

    return max(range(1, count + 1), key=scale)
