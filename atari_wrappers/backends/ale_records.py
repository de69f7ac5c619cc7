"""What ALE's vector env reports, in the terms of `VecEnv`: lost lives, true games, records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.base import Info
from atari_wrappers.backends.results import Outcome, ResultArrays
from atari_wrappers.recipes import Recipe

# What each step sets.
_OF_A_STEP = (
    "reward",
    "raw_reward",
    "terminated",
    "truncated",
    "game_terminated",
    "game_truncated",
    "final",
)


class GameRecords:
    """Derives what ALE does not report from what it does, and writes the rows of a batch.

    A lost life that ends an episode while the game goes on is told by the lives; ALE could report
    it (`life_loss_info`), but like the end of a game. Where a lost life begins a new game, ALE does
    report it like an end (`episodic_life`); it is one where no more than one life was left.

    In same-step mode ALE does not report the last lives of a game that it left. They are taken to
    be none where it ended by itself, one less than before where a lost life ended it, and as before
    where it was truncated.

    Within a step, with the caches full of frames, a numpy operation costs 2 µs and more. Therefore
    `prepare` makes what a step brings that ends nothing and gives no reward, while ALE's threads
    emulate (free where a core is), and `after_step` tells by bytes whether it was such a step.
    """

    def __init__(
        self, num_envs: int, space: gym.Space[Any], recipe: Recipe, mode: AutoresetMode
    ) -> None:
        self._rows = ResultArrays.of_this_process(num_envs, space)
        self._same_step = mode == AutoresetMode.SAME_STEP
        self._clips, self._skip = recipe.clip_reward, recipe.frame_skip
        self._marks_lives = recipe.episodic_life and recipe.after_life_loss == "go-on"
        self._ends_by_life = recipe.episodic_life and not self._marks_lives
        self._left = np.zeros(num_envs, bool)  # where ALE goes on with another game
        self._any_left = False
        self._first_frame = np.zeros(num_envs, np.int32)  # where games began, as ALE counts
        self._is_quiet = True  # what each step sets is zero
        self._no_flag, self._no_reward = bytes(num_envs), bytes(4 * num_envs)

    def after_reset(self, indices: Sequence[int] | None, ale_info: Info) -> None:
        """Begin new games in the envs named (`None`: all)."""
        rows, chosen = self._rows, slice(None) if indices is None else indices
        frames = ale_info["episode_frame_number"]
        self._first_frame[chosen] = (ale_info["frame_number"] - frames)[chosen]
        rows.episode_frames[chosen] = frames[chosen]
        for name in ("episode_return", "episode_length", *_OF_A_STEP):
            rows.arrays[name][chosen] = 0
        self._left[chosen] = False
        rows.lives[:] = ale_info["lives"]
        self._any_left = bool(self._left.any())

    def last(self) -> Outcome:
        """Return what every env told last; nothing has ended since."""
        return self._rows.collect(None, ())

    def prepare(self) -> None:
        """Make the results of a step that ends nothing and gives no reward."""
        rows = self._rows
        if not self._is_quiet:
            for name in _OF_A_STEP:
                rows.arrays[name].fill(0)
            self._is_quiet = True
        rows.episode_length += 1
        rows.episode_frames += self._skip
        if self._any_left:
            rows.episode_return[self._left] = 0.0
            # In next-step mode this step only restarts the env, and is none of the new game.
            rows.episode_length[self._left] = 1 if self._same_step else 0
        self._quiet = rows.collect(None)

    def after_step(
        self,
        obs: np.ndarray,
        reward: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
        ale_info: Info,
    ) -> Outcome:
        """Return the results of the step that was prepared.

        Reward is int32 and not clipped; so are `lives`, `frame_number` and `episode_frame_number`
        in the info. In same-step mode where games ended `final_obs` is there, of whose rows the
        others mean nothing.
        """
        rows, none, lives = self._rows, self._no_flag, ale_info["lives"]
        has_reward = reward.tobytes() != self._no_reward
        has_event = (
            self._any_left
            or terminated.tobytes() != none
            or truncated.tobytes() != none
            or lives.tobytes() != rows.lives.tobytes()
        )
        if not has_reward and not has_event:
            return self._quiet
        self._is_quiet = False
        if has_reward:
            rows.raw_reward[:] = reward
            rows.reward[:] = np.sign(reward) if self._clips else reward
            rows.episode_return += reward
        if has_event:
            self._write_event(obs, terminated, truncated, ale_info)
        return rows.collect(None)

    def _write_event(
        self, obs: np.ndarray, terminated: np.ndarray, truncated: np.ndarray, ale_info: Info
    ) -> None:
        """Write where a game ended or began or lives changed."""
        rows, before = self._rows, self._rows.lives.copy()
        begun, self._left = self._left, terminated | truncated
        self._any_left = bool(self._left.any())
        lost = self._lost(before, ale_info["lives"], terminated, begun)
        rows.terminated[:] = terminated | lost
        rows.truncated[:] = rows.game_truncated[:] = truncated
        rows.game_terminated[:], rows.lives[:] = terminated, ale_info["lives"]
        rows.episode_frames[:] = self._game_frames(ale_info)
        if self._same_step:
            rows.final[:] = self._left | lost
            goes_on = lost & ~self._left
            rows.final_obs[goes_on] = obs[goes_on]
            if self._any_left:
                rows.final_obs[self._left] = ale_info["final_obs"][self._left]
            last = np.where(truncated, before, np.where(lost, before - 1, 0))
            rows.final_lives[:] = np.where(self._left, last, rows.lives)

    def _lost(
        self, before: np.ndarray, now: np.ndarray, terminated: np.ndarray, begun: np.ndarray
    ) -> np.ndarray:
        """Return where a lost life ends an episode."""
        if self._ends_by_life:
            return terminated & (before > 1)
        if not self._marks_lives:
            return np.zeros_like(terminated)
        lost = (now < before) & (now > 0) & ~self._left
        # What a step of next-step mode has just begun compares with nothing.
        return lost if self._same_step else lost & ~begun

    def _game_frames(self, ale_info: Info) -> np.ndarray:
        """Return the frames of the game that the step belonged to.

        In same-step mode what ALE counts after an end is the new game already. `frame_number` runs
        through all games, so where a game began is their difference, and its length that of two
        beginnings.
        """
        frames: np.ndarray = ale_info["episode_frame_number"]
        if self._same_step and self._any_left:
            begun, self._first_frame = self._first_frame, ale_info["frame_number"] - frames
            frames = np.where(self._left, self._first_frame - begun, frames)
        return frames
