"""Files of recordings: their folders, made and proved, their numbers, and frames as PNG."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image

_LOGGER = logging.getLogger("atari_wrappers")


def prepare_folder(setting: str, path: str | os.PathLike[str]) -> Path:
    """Make a folder and its parents, prove that a file can be written there; return its full path.

    Raises:
        NotADirectoryError: It, or one of its parents, is a file.
        OSError: It cannot be made or written to; `PermissionError` where that is the reason.
    """
    folder = Path(path).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError) as cause:
        raise NotADirectoryError(f"{setting} `{folder}` is not a directory") from cause
    except OSError as cause:
        raise type(cause)(
            cause.errno, f"{setting} `{folder}` cannot be written to: {cause.strerror}"
        ) from cause
    return folder


def next_number(folder: Path, name: str) -> int:
    """Return the number behind the highest in use, however many are missing below; 0 if none is.

    `name` is what the files are called: a regular expression whose group 1 is the number.
    """
    with os.scandir(folder) as entries:
        matches = [re.fullmatch(name, entry.name) for entry in entries]
    return max((int(match[1]) + 1 for match in matches if match), default=0)


def new_file(path: Path) -> BinaryIO:
    """Create a file and open it; if its folder was removed meanwhile, make that again."""
    try:
        return path.open("xb")
    except FileNotFoundError:
        path.parent.mkdir(exist_ok=True)
        return path.open("xb")


def log_loss(path: str | os.PathLike[str], error: Exception) -> None:
    """Write to the log of this package which recording is lost, and why."""
    _LOGGER.warning("the recording `%s` is lost: %s: %s", path, type(error).__name__, error)


class FrameFiles:
    """Pictures of an env as `out<env>-<frame>.png`, at least five digits.

    Frames count from 0 over the env's life, through all its games; in a folder that has frames of
    this env already, from behind the last of them. No file is ever replaced.

    Attributes:
        prefix: How the files' paths begin.
    """

    def __init__(self, folder: str | os.PathLike[str], env_index: int) -> None:
        self.prefix: Path = Path(folder) / f"out{env_index}"
        self._frame = next_number(Path(folder), rf"out{env_index}-([0-9]{{5,18}})\.png")

    def write(self, picture: np.ndarray) -> None:
        """Write the next frame: uint8 RGB `[height, width, 3]`."""
        with self._new_file() as file:
            try:
                # Level 1 is twice as fast as the default and 10 % larger on these flat pictures.
                Image.fromarray(picture).save(file, "png", compress_level=1)
                file.flush()
            except OSError:
                Path(file.name).unlink()
                raise

    def _new_file(self) -> BinaryIO:
        while True:
            path = Path(f"{self.prefix}-{self._frame:05d}.png")
            self._frame += 1
            try:
                return new_file(path)
            except FileExistsError:  # someone else writes here too
                continue
