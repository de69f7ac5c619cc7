"""Videos of a batch whose backend shows only observations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.recording.recorder import FRAMES_PER_SECOND, prepare_folders
from atari_wrappers.recording.video import GameVideos
from atari_wrappers.settings import Settings


class ObservationRecorder:
    """Videos of the newest frame that each env of a batch observes in a step."""

    def __init__(self, num_envs: int, settings: Settings, frame_skip: int = 4) -> None:
        prepare_folders(settings)
        rate = FRAMES_PER_SECOND / frame_skip
        chosen = filter(settings.records_video, range(num_envs))
        self._games = {index: GameVideos(index, settings, rate) for index in chosen}
        self._restarts_in_step = settings.autoreset_mode == AutoresetMode.NEXT_STEP
        self._restarting = [False] * num_envs

    def after_reset(self, env_ids: Iterable[int]) -> None:
        """Begin new games of some envs."""
        for index in self._games.keys() & env_ids:
            self._games[index].end_game(is_over=False)
            self._restarting[index] = False

    def after_step(
        self,
        env_ids: Iterable[int],
        obs: np.ndarray,
        game_over: np.ndarray,
        final_obs: np.ndarray | None = None,
    ) -> None:
        """Write the newest of the frames that a step brought, row by row.

        They are those of `final_obs` where a game ended, if that is given.
        """
        for row, index in enumerate(env_ids):
            if index not in self._games:
                continue
            games, over = self._games[index], bool(game_over[row])
            # The step that only restarts an env is none of the new game.
            if not self._restarting[index]:
                games.note_step()
                if games.wants_frames:
                    last = final_obs if over and final_obs is not None else obs
                    games.write(last[row, -1])
            self._restarting[index] = over and self._restarts_in_step
            if over:
                games.end_game(is_over=True)

    def close(self) -> None:
        """Give up the games in play."""
        for games in self._games.values():
            games.end_game(is_over=False)
