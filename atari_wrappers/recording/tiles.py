"""Pictures of many envs as one, for people to look at."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

# Width to height of the screens that the one picture is to fill well.
_SCREEN = 4 / 3


class Picture(np.ndarray):
    """An array, uint8 RGB `[height, width, 3]`, that notebooks show as the picture it is."""

    def _repr_png_(self) -> bytes | None:
        """Return what IPython shows; `None` of what is no picture any more, such as a row of it."""
        if self.ndim != 3 or self.shape[2] != 3 or self.dtype != np.uint8:
            return None
        file = io.BytesIO()
        Image.fromarray(np.asarray(self)).save(file, "png")
        return file.getvalue()


def tile(frames: Sequence[np.ndarray]) -> Picture:
    """Put pictures side by side in rows, in reading order.

    Args:
        frames: Uint8 RGB `[height, width, 3]`, at least one.

    Returns:
        Uint8 RGB `[rows * height, columns * width, 3]`, of the largest height and the largest width
        among them, black beside and below what is smaller and where no picture is left. There are
        as many columns as show the pictures largest on a 4:3 screen.

    Raises:
        ValueError: There are none, or they are no such pictures.
    """
    if len(frames) == 0:
        raise ValueError("there are no pictures to tile")
    for index, frame in enumerate(frames):
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
            raise ValueError(
                f"picture {index} is {frame.dtype} {list(frame.shape)},"
                " not uint8 [height, width, 3]"
            )
    height, width = (max(frame.shape[axis] for frame in frames) for axis in (0, 1))
    columns = _columns(len(frames), width / height)
    rows = -(-len(frames) // columns)
    picture = np.zeros((rows, height, columns, width, 3), np.uint8)
    for index, frame in enumerate(frames):
        cell = picture[index // columns, :, index % columns]
        cell[: frame.shape[0], : frame.shape[1]] = frame
    return picture.reshape(rows * height, columns * width, 3).view(Picture)


def _columns(count: int, aspect: float) -> int:
    """Return the number of columns with which `count` pictures come out largest."""

    def scale(columns: int) -> float:
        rows = -(-count // columns)
        return min(_SCREEN / (columns * aspect), 1 / rows)

    return max(range(1, count + 1), key=scale)
