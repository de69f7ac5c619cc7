"""Frames as PNG files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image

from atari_wrappers.recording.folders import new_file, next_number


class FrameFiles:
    """Pictures of an env as `out<env>-<frame>.png`, at least five digits.

    Frames count from 0 over the env's life, through all its games; in a folder that has frames of
    this env already, from behind the last of them. No file is ever replaced.

    Attributes:
        prefix: How the files' paths begin.
    """

    def __init__(self, folder: str | os.PathLike[str], env_index: int) -> None:
        self.prefix = Path(folder) / f"out{env_index}"
        self._frame = next_number(Path(folder), rf"out{env_index}-([0-9]{{5,18}})\.png")

    def write(self, picture: np.ndarray) -> None:
        """Write the next frame: uint8 RGB `[height, width, 3]`."""
        with self._new_file() as file:
            # Level 1 is twice as fast as the default and 10 % larger on these flat pictures.
            Image.fromarray(picture).save(file, "png", compress_level=1)

    def _new_file(self) -> BinaryIO:
        while True:
            path = Path(f"{self.prefix}-{self._frame:05d}.png")
            self._frame += 1
            try:
                return new_file(path)
            except FileExistsError:  # someone else writes here too
                continue
