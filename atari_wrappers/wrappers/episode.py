"""What infos and rewards say of an episode: its record, and rewards clipped."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from atari_wrappers.types import EnvReset, EnvStep, Options


class EpisodeRecord(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Add to each info what `AtariGame` says of a game, for an env that hides no frames.

    - `raw_reward`: float, this step's; 0 at a reset.
    - `lives`: int, those left; 0 where the env says none, or no integer.
    - `game_terminated`, `game_truncated`: bool, as the step's own flags.
    - `episode_return`, `episode_length`, `episode_frames`: float, int, int: the sum of the rewards,
      and the steps (which are the frames, too), from the reset to this step.
    """

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self._return = 0.0
        self._length = 0

    def step(self, action: Any) -> EnvStep:
        """Step and report."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._return += float(reward)
        self._length += 1
        info = self._report(info, float(reward), bool(terminated), bool(truncated))
        return obs, reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Reset and report."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._return, self._length = 0.0, 0
        return obs, self._report(info, 0.0, terminated=False, truncated=False)

    def _report(
        self, info: dict[str, Any], raw_reward: float, terminated: bool, truncated: bool
    ) -> dict[str, Any]:
        lives = info.get("lives")
        return {
            **info,
            "raw_reward": raw_reward,
            "lives": int(lives) if isinstance(lives, int | np.integer) else 0,
            "game_terminated": terminated,
            "game_truncated": truncated,
            "episode_return": self._return,
            "episode_length": self._length,
            "episode_frames": self._length,
        }


class ClipReward(gym.RewardWrapper[Any, Any], RecordConstructorArgs):
    """Replace each reward by its sign: -1, 0 or +1 (Mnih et al. 2015, Methods)."""

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gym.RewardWrapper.__init__(self, env)

    def reward(self, reward: SupportsFloat) -> float:
        """Return the sign of `reward`."""
        return float(np.sign(float(reward)))
