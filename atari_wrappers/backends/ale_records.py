"""What ALE's vector env reports, brought to the terms of `VecEnv`: lost lives, true games, records.

Everything handed out is fresh: what is kept from step to step is never given away.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.base import Info
from atari_wrappers.backends.results import add_final, add_games
from atari_wrappers.recipes import Recipe


class GameRecords:
    """Derives what ALE does not report from what it does.

    A lost life that ends an episode while the game goes on is told by the lives; ALE could report
    it (`life_loss_info`), but like the end of a game. Where a lost life begins a new game, ALE does
    report it like an end (`episodic_life`); it is one where no more than one life was left.

    In same-step mode ALE does not report the last lives of a game that it left. They are taken to
    be none where it ended by itself, one less than before where a lost life ended it, and as before
    where it was truncated.

    Within a step, with the caches full of frames, a numpy operation costs 2 µs and more. Therefore
    `prepare` makes what a step brings that ends nothing and gives no reward, while ALE's threads
    emulate (free where a core is), and `after_step` tells by bytes whether it was such a step.

    Args:
        num_envs: Envs in the batch.
        recipe: How games become episodes.
        mode: When an ended env restarts.
    """

    def __init__(self, num_envs: int, recipe: Recipe, mode: AutoresetMode) -> None:
        self._num_envs = num_envs
        self._same_step = mode == AutoresetMode.SAME_STEP
        self._clip_reward = recipe.clip_reward
        self._marks_lives = recipe.episodic_life and recipe.after_life_loss == "go-on"
        self._ends_by_life = recipe.episodic_life and not self._marks_lives
        self._one_step = np.ones(num_envs, np.int64)
        self._skip = np.full(num_envs, recipe.frame_skip, np.int64)
        self._none = np.zeros(num_envs, bool)
        self._none_bytes = self._none.tobytes()
        # Of the last call: what `after_no_step` gives.
        self._reward = np.zeros(num_envs, np.int32)
        self._no_reward_bytes = self._lives = self._reward.tobytes()
        self._terminated = self._truncated = self._none
        self._left = self._none  # where ALE goes on with another game
        self._any_left = False
        self._return = np.zeros(num_envs)
        self._length = np.zeros(num_envs, np.int64)
        self._frames = np.zeros(num_envs, np.int64)
        self._first_frame = np.zeros(num_envs, np.int32)  # where games began, as ALE counts

    def after_reset(self, indices: Sequence[int] | None, ale_info: Info) -> None:
        """Begin new games in the envs named (`None`: all)."""
        chosen = np.zeros(self._num_envs, bool)
        chosen[slice(None) if indices is None else indices] = True
        frames = ale_info["episode_frame_number"]
        self._first_frame[chosen] = (ale_info["frame_number"] - frames)[chosen]
        self._frames[chosen] = frames[chosen]
        self._length[chosen] = 0
        self._return[chosen] = 0.0
        self._reward = np.where(chosen, 0, self._reward)
        self._lives = ale_info["lives"].tobytes()
        self._terminated = self._terminated & ~chosen
        self._truncated = self._truncated & ~chosen
        self._left = self._left & ~chosen
        self._any_left = bool(self._left.any())

    def prepare(self) -> None:
        """Make the results of a step that ends nothing and gives no reward."""
        count = self._num_envs
        if self._any_left:
            self._return[self._left] = 0.0
            # In next-step mode this step only restarts the env, and is none of the new game.
            self._length[self._left] = 0 if self._same_step else -1
        # Not in place: numpy looks longer for overlaps than it adds.
        self._length = self._length + self._one_step
        self._frames = self._frames + self._skip
        self._no_reward = np.zeros(count, np.float32)
        self._quiet_info: Info = {
            "raw_reward": np.zeros(count, np.float32),
            "game_terminated": np.zeros(count, np.bool_),
            "game_truncated": np.zeros(count, np.bool_),
            "episode_return": self._return.copy(),
            "episode_length": self._length.copy(),
            "episode_frames": self._frames.copy(),
        }

    def after_step(
        self,
        obs: np.ndarray,
        reward: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
        ale_info: Info,
    ) -> tuple[np.ndarray, np.ndarray, Info]:
        """Return reward, `terminated` and info of the step that was prepared.

        Args:
            obs: uint8 `[num_envs, ...]`.
            reward: int32 `[num_envs]`, not clipped.
            terminated: bool `[num_envs]`.
            truncated: bool `[num_envs]`.
            ale_info: int32 `[num_envs]` under `lives`, `frame_number` and `episode_frame_number`;
                in same-step mode where games ended `final_obs`, whose other rows mean nothing.
        """
        info, seen_reward = self._quiet_info, self._no_reward
        info["lives"], info["env_id"] = ale_info["lives"], ale_info["env_id"]
        self._reward = reward
        if reward.tobytes() != self._no_reward_bytes:
            raw_reward = reward.astype(np.float32)
            self._return = self._return + reward
            info["raw_reward"], info["episode_return"] = raw_reward, self._return.copy()
            seen_reward = np.sign(raw_reward) if self._clip_reward else raw_reward.copy()
        lives, self._lives = self._lives, ale_info["lives"].tobytes()
        none = self._none_bytes
        any_end = terminated.tobytes() != none or truncated.tobytes() != none
        if any_end or self._any_left or lives != self._lives:
            terminated = self._after_event(
                info, np.frombuffer(lives, np.int32), obs, terminated, truncated, ale_info
            )
        return seen_reward, terminated, info

    def after_no_step(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, Info]:
        """Return reward and flags, all zero, and info of every env as of the last call."""
        info = {
            "raw_reward": self._reward.astype(np.float32),
            "lives": np.frombuffer(self._lives, np.int32).copy(),
            "game_terminated": self._terminated.copy(),
            "game_truncated": self._truncated.copy(),
            "episode_return": self._return.copy(),
            "episode_length": self._length.copy(),
            "episode_frames": self._frames.copy(),
            "env_id": np.arange(self._num_envs, dtype=np.int32),
        }
        count = self._num_envs
        return np.zeros(count, np.float32), *np.zeros((2, count), np.bool_), info

    def _after_event(
        self,
        info: Info,
        lives: np.ndarray,
        obs: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
        ale_info: Info,
    ) -> np.ndarray:
        """Correct `info` where a game ended or began or lives changed; return `terminated`.

        `lives` are those before the step.
        """
        begun, self._left = self._left, terminated | truncated
        self._any_left = bool(self._left.any())
        lost = self._lost(lives, info["lives"], terminated, begun)
        self._terminated, self._truncated = terminated.copy(), truncated.copy()
        self._frames = self._game_frames(ale_info)
        info["episode_frames"] = self._frames.copy()
        info["game_terminated"], info["game_truncated"] = self._terminated.copy(), truncated.copy()
        over = self._terminated | truncated
        add_games(info, over)
        if self._same_step and (self._left | lost).any():
            self._add_final(info, lives, lost, obs, ale_info.get("final_obs"))
        return terminated | lost

    def _lost(
        self, before: np.ndarray, now: np.ndarray, terminated: np.ndarray, begun: np.ndarray
    ) -> np.ndarray:
        """Return where a lost life ends an episode."""
        if self._ends_by_life:
            return terminated & (before > 1)
        if not self._marks_lives:
            return self._none
        lost = (now < before) & (now > 0) & ~self._left
        # What a step of next-step mode has just begun compares with nothing.
        return lost if self._same_step else lost & ~begun

    def _game_frames(self, ale_info: Info) -> np.ndarray:
        """Return the frames, int64, of the game that the step belonged to.

        In same-step mode what ALE counts after an end is the new game already. `frame_number` runs
        through all games, so where a game began is their difference, and its length that of two
        beginnings.
        """
        frames = ale_info["episode_frame_number"]
        if self._same_step and self._any_left:
            begun, self._first_frame = self._first_frame, ale_info["frame_number"] - frames
            frames = np.where(self._left, self._first_frame - begun, frames)
        return frames.astype(np.int64)

    def _add_final(
        self,
        info: Info,
        lives: np.ndarray,
        lost: np.ndarray,
        obs: np.ndarray,
        final_obs: np.ndarray | None,
    ) -> None:
        """Add the last observation and info of each episode that ended."""
        goes_on = lost & ~self._left
        if final_obs is None:
            final_obs = np.empty_like(obs)
        final_obs[goes_on] = obs[goes_on]
        last = np.where(self._truncated, lives, np.where(lost, lives - 1, 0))
        last_lives = np.where(self._left, last, info["lives"])
        add_final(info, self._left | lost, final_obs, last_lives)
