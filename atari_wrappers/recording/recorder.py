"""What an env shows, written to the folders of its settings: each frame a PNG, each game an mp4.

`AtariGame` calls a `Recorder` after each emulated frame; `Recorded` tells it of steps. Which games
have a file is decided in `video`; a batch that has no such frames is recorded by `observations`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers import forks
from atari_wrappers.recording.files import FrameFiles, log_loss, prepare_folder
from atari_wrappers.recording.video import GameVideos, check_video_support
from atari_wrappers.settings import Settings
from atari_wrappers.types import EnvReset, EnvStep, Options

FRAMES_PER_SECOND = Fraction(60)


def prepare_folders(settings: Settings) -> None:
    """Make the folders of the settings; prove that files can be written there, videos encoded."""
    if settings.img_dir is not None:
        prepare_folder("img_dir", settings.img_dir)
    if settings.video_dir is not None:
        check_video_support()
        prepare_folder("video_dir", settings.video_dir)


class Recorder:
    """Writes what one env shows to the folders of the settings, at a rate of frames per second.

    A game that is given up, by a reset or by `close`, is finished as a file that plays up to there,
    or with `record_unfinished=False` deleted. A state that is restored is no new game: what follows
    is appended to the open file. When a frame cannot be written, no more are.
    """

    def __init__(self, settings: Settings, env_index: int, rate: Fraction) -> None:
        self._images: FrameFiles | None = None
        self._videos: GameVideos | None = None
        if settings.img_dir is not None:
            self._images = FrameFiles(settings.img_dir, env_index)
        if settings.records_video(env_index):
            self._videos = GameVideos(env_index, settings, rate)
        self._env: Any = None
        forks.watch(self)

    def after_fork(self) -> None:
        """Record nothing in a forked child."""
        self._images = self._videos = None

    def watch(self, env: Any) -> None:
        """Record an env of whose steps `after_step` tells.

        Args:
            env: It calls `on_frame`, and tells by `is_first_frame` whether the frame is the first
                of its game, and then by `ended_in_reset` whether the game before it ended while a
                reset was to go on with it.
        """
        self._env = env

    def on_frame(self) -> None:
        """Write the frame that was just emulated where it belongs."""
        videos = self._videos
        if videos is not None:
            if self._env.is_first_frame:
                videos.end_game(is_over=self._env.ended_in_reset)
            if not videos.wants_frames:
                videos = None
        if self._images is None and videos is None:
            return
        picture = self._env.render()
        problem = _problem_of(picture)
        if problem is not None:
            log_loss(str(self._env), TypeError(problem))
            self.close()
            return
        if videos is not None:
            videos.write(picture)
        if self._images is None:
            return
        try:
            self._images.write(picture)
        except OSError as error:
            log_loss(f"{self._images.prefix}-*.png", error)
            self._images = None

    def after_step(self, *, game_over: bool) -> None:
        """Note that the agent has acted, and whether that ended the game."""
        if self._videos is not None:
            self._videos.note_step()
            if game_over:
                self._videos.end_game(is_over=True)

    def close(self) -> None:
        """Give up the game in play, and record nothing more."""
        videos, self._videos, self._images = self._videos, None, None
        if videos is not None:
            videos.end_game(is_over=False)


def _problem_of(picture: Any) -> str | None:
    """Say what keeps a picture from being recorded, if anything."""
    if not isinstance(picture, np.ndarray):
        return f"render() returned no array, but {picture!r:.100}"
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        seen = f"{picture.dtype} {list(picture.shape)}"
        return f"render() returned {seen}, not uint8 [height, width, 3]"
    return None


class Recorded(gym.Wrapper[Any, Any, Any, Any]):
    """An env that is recorded: tells a recorder of its steps, and the infos say where games end.

    With `by_steps` it is recorded once a step; else the env calls `on_frame` of the recorder.
    """

    ended_in_reset = False

    is_first_frame: bool

    # What a game has without a recording, too.
    _OF_THE_GAME = frozenset(
        {"ale", "check_state", "get_action_meanings", "restore_state", "save_state"}
    )

    def __init__(self, env: gym.Env, recorder: Recorder, *, by_steps: bool = False) -> None:
        super().__init__(env)
        self._recorder, self._by_steps = recorder, by_steps
        self.is_first_frame = False
        recorder.watch(self if by_steps else env)

    def __getattr__(self, name: str) -> Any:
        """Return what the game has under this name."""
        if name in self._OF_THE_GAME:
            return getattr(self.env, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def step(self, action: Any) -> EnvStep:
        """Step."""
        result = self.env.step(action)
        if self._by_steps:
            self._recorder.on_frame()
            self.is_first_frame = False
        info = result[4]
        self._recorder.after_step(game_over=info["game_terminated"] or info["game_truncated"])
        return result

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Reset."""
        self.is_first_frame = True
        return self.env.reset(seed=seed, options=options)

    def close(self) -> None:
        """End what is being recorded, and close the env whatever comes of that."""
        try:
            self._recorder.close()
        finally:
            self.env.close()


def make_recorder(
    settings: Settings, env_index: int, rate: Fraction = FRAMES_PER_SECOND
) -> Recorder | None:
    """Return the recorder that the settings ask for; `None` where they ask for none."""
    if settings.img_dir is None and not settings.records_video(env_index):
        return None
    prepare_folders(settings)
    return Recorder(settings, env_index, rate)
