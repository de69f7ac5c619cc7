"""Raw frames written to disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs
from PIL import Image


def prepare_img_dir(img_dir: str | os.PathLike[str]) -> Path:
    """Make the folder and its parents, and prove that a file can be written there.

    Raises:
        NotADirectoryError: It, or one of its parents, is a file.
        OSError: It cannot be made or written to; `PermissionError` where that is the reason.
    """
    folder = Path(img_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError) as cause:
        raise NotADirectoryError(f"img_dir `{folder}` is not a directory") from cause
    except OSError as cause:
        raise type(cause)(
            cause.errno, f"img_dir `{folder}` cannot be written to: {cause.strerror}"
        ) from cause
    return folder


class ImageSaver(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Write the observation of every step as `out<env>-<frame>.png`.

    Put directly around an emulator with `frameskip=1`, that is every emulated frame. Frames count
    from 0 over the env's life, through all its games, with at least five digits as in the tch-rs
    example; a reset emulates no frame and writes none.

    Args:
        env: An env that observes uint8 `[height, width, 3]`.
        img_dir: The folder, see `prepare_img_dir`.
        env_index: The `<env>` in the file names.
    """

    def __init__(self, env: gym.Env, img_dir: str | os.PathLike[str], env_index: int = 0) -> None:
        RecordConstructorArgs.__init__(self, img_dir=img_dir, env_index=env_index)
        gym.Wrapper.__init__(self, env)
        self._prefix = prepare_img_dir(img_dir) / f"out{env_index}"
        self._frame = 0

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step and write the frame."""
        result = self.env.step(action)
        # Level 1 is twice as fast as the default and 10 % larger on these flat pictures.
        Image.fromarray(result[0]).save(f"{self._prefix}-{self._frame:05d}.png", compress_level=1)
        self._frame += 1
        return result
