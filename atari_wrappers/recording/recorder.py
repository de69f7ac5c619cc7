"""What an env shows, written to the folders of its settings: each frame a PNG, each game an mp4.

`AtariGame` calls a `Recorder` after each emulated frame; `Recorded` tells it of steps. The `ale`
backend, which has no such frames, records its observations (`ObservationRecorder`). Which games
have a file, and what is in it, is decided in `video`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from PIL import Image

from atari_wrappers.recording.video import GameVideos, check_video_support
from atari_wrappers.settings import Settings

FRAMES_PER_SECOND = Fraction(60)


def prepare_folders(settings: Settings) -> None:
    """Make the folders of the settings, and prove that they can be written to and videos encoded.

    Raises:
        UnsupportedError: Videos are asked for and cannot be encoded here.
        NotADirectoryError: A folder, or one of its parents, is a file.
        OSError: It cannot be made or written to; `PermissionError` where that is the reason.
    """
    if settings.img_dir is not None:
        prepare_folder("img_dir", settings.img_dir)
    if settings.video_dir is not None:
        check_video_support()
        prepare_folder("video_dir", settings.video_dir)


def prepare_folder(setting: str, path: str | os.PathLike[str]) -> Path:
    """Make a folder and its parents, and prove that a file can be written there.

    Raises:
        NotADirectoryError: It, or one of its parents, is a file.
        OSError: It cannot be made or written to; `PermissionError` where that is the reason.
    """
    folder = Path(path)
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


class FrameFiles:
    """Pictures of an env as `out<env>-<frame>.png`, at least five digits.

    Frames count from 0 over the env's life, through all its games; in a folder that has frames of
    this env already, from behind them, so that a run that is resumed overwrites nothing.
    """

    def __init__(self, folder: str | os.PathLike[str], env_index: int) -> None:
        self._prefix = Path(folder) / f"out{env_index}"
        self._frame = 0
        while self._path().exists():
            self._frame += 1

    def write(self, picture: np.ndarray) -> None:
        """Write the next frame: uint8 RGB `[height, width, 3]`."""
        # Level 1 is twice as fast as the default and 10 % larger on these flat pictures.
        Image.fromarray(picture).save(self._path(), compress_level=1)
        self._frame += 1

    def _path(self) -> Path:
        return Path(f"{self._prefix}-{self._frame:05d}.png")


class Recorder:
    """Writes what one env shows.

    A game that is given up, by a reset or by `close`, is finished as a file that plays up to there.
    A state that is restored is no new game: what follows is appended to the open file.

    Args:
        settings: Which folders, and which games.
        env_index: The env's place in its batch.
        rate: Frames per second.
    """

    def __init__(self, settings: Settings, env_index: int, rate: Fraction) -> None:
        self._images: FrameFiles | None = None
        self._videos: GameVideos | None = None
        if settings.img_dir is not None:
            self._images = FrameFiles(settings.img_dir, env_index)
        if settings.video_dir is not None:
            every = settings.record_every
            self._videos = GameVideos(settings.video_dir, env_index, every, rate)
        self._env: Any = None

    def attach(self, env: gym.Env) -> gym.Env:
        """Return `env` as one that is recorded.

        Args:
            env: It calls `on_frame`, and tells by `frame_number` which frame of its game that is,
                the first being 1; the infos of its steps say where games end.
        """
        self._env = env
        return Recorded(env, self)

    def on_frame(self) -> None:
        """Write the frame that was just emulated where it belongs."""
        videos = self._videos
        if videos is not None:
            if self._env.frame_number == 1:
                videos.end_game()
            if not videos.wants_frames:
                videos = None
        if self._images is None and videos is None:
            return
        picture = self._env.render()
        if self._images is not None:
            self._images.write(picture)
        if videos is not None:
            videos.write(picture)

    def after_step(self, *, game_over: bool) -> None:
        """Note that the agent has acted, and whether that ended the game."""
        if self._videos is not None:
            self._videos.note_step()
            if game_over:
                self._videos.end_game()

    def close(self) -> None:
        """Finish the game in play."""
        if self._videos is not None:
            self._videos.end_game()


class Recorded(gym.Wrapper[Any, Any, Any, Any]):
    """Tells a recorder of an env's steps; the infos say where games end."""

    def __init__(self, env: gym.Env, recorder: Recorder) -> None:
        super().__init__(env)
        self._recorder = recorder

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step."""
        result = self.env.step(action)
        info = result[4]
        self._recorder.after_step(game_over=info["game_terminated"] or info["game_truncated"])
        return result

    def close(self) -> None:
        """Finish what is being recorded, then close the env."""
        self._recorder.close()
        self.env.close()


class StepFrames(gym.Wrapper[Any, Any, Any, Any]):
    """Calls `on_frame` after each step, as `AtariGame` does after each emulated frame."""

    def __init__(self, env: gym.Env, on_frame: Callable[[], None]) -> None:
        super().__init__(env)
        self._on_frame = on_frame
        self._number = 0

    @property
    def frame_number(self) -> int:
        """Steps since the reset."""
        return self._number

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step."""
        result = self.env.step(action)
        self._number += 1
        self._on_frame()
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset."""
        self._number = 0
        return self.env.reset(seed=seed, options=options)


def make_recorder(
    settings: Settings, env_index: int, rate: Fraction = FRAMES_PER_SECOND
) -> Recorder | None:
    """Return the recorder that the settings ask for; `None` where they ask for none.

    Raises:
        Exception: As `prepare_folders`.
    """
    if settings.img_dir is None and settings.video_dir is None:
        return None
    prepare_folders(settings)
    return Recorder(settings, env_index, rate)


class ObservationRecorder:
    """Videos of a batch whose backend shows only observations: the newest frame of each agent step.

    Args:
        num_envs: Envs in the batch.
        settings: With a `video_dir`.
    """

    def __init__(self, num_envs: int, settings: Settings) -> None:
        prepare_folders(settings)
        recipe = settings.recipe
        rate = FRAMES_PER_SECOND / recipe.frame_skip
        self._games = [
            GameVideos(settings.video_dir, index, settings.record_every, rate)
            for index in range(num_envs)
        ]
        self._restarts_in_step = settings.autoreset_mode == AutoresetMode.NEXT_STEP
        self._restarting = [False] * num_envs

    def after_reset(self, env_ids: Sequence[int]) -> None:
        """Begin new games.

        Args:
            env_ids: Of which envs.
        """
        for index in env_ids:
            self._games[index].end_game()
            self._restarting[index] = False

    def after_step(
        self,
        env_ids: Sequence[int],
        obs: np.ndarray,
        game_over: np.ndarray,
        final_obs: np.ndarray | None = None,
    ) -> None:
        """Write what a step brought; all arguments are row by row.

        Args:
            env_ids: The envs of the rows.
            obs: Observations, uint8 `[n, frame_stack, height, width]` or with a last axis of 3.
            game_over: Where a game ended, bool `[n]`.
            final_obs: What to write where a game ended; `obs` if `None`.
        """
        for row, index in enumerate(env_ids):
            games, over = self._games[index], bool(game_over[row])
            # The step that only restarts an env is none of the new game.
            if not self._restarting[index]:
                games.note_step()
                if games.wants_frames:
                    last = final_obs if over and final_obs is not None else obs
                    games.write(last[row, -1])
            self._restarting[index] = over and self._restarts_in_step
            if over:
                games.end_game()

    def close(self) -> None:
        """Finish the games in play."""
        for games in self._games:
            games.end_game()
