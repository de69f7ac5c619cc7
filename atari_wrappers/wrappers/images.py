"""Raw frames written to disk."""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from atari_wrappers.recording.files import FrameFiles, prepare_folder
from atari_wrappers.types import EnvStep


class ImageSaver(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Write the observation of every step as `out<env>-<frame>.png`, as `FrameFiles` names them.

    Put directly around an emulator with `frameskip=1`, that is every emulated frame; a reset
    emulates none and writes none.

    Args:
        env: An env that observes uint8 `[height, width, 3]`.
        img_dir: The folder, made with its parents.
        env_index: The `<env>` in the file names.

    Raises:
        OSError: The folder cannot be made or written to; `NotADirectoryError` where it is a file.
    """

    def __init__(self, env: gym.Env, img_dir: str | os.PathLike[str], env_index: int = 0) -> None:
        RecordConstructorArgs.__init__(self, img_dir=img_dir, env_index=env_index)
        gym.Wrapper.__init__(self, env)
        self._files = FrameFiles(prepare_folder("img_dir", img_dir), env_index)

    def step(self, action: Any) -> EnvStep:
        """Step and write the frame."""
        result = self.env.step(action)
        self._files.write(result[0])
        return result
