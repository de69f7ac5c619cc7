"""The true game's record, kept under and over the wrappers that hide it.

`GameCounter` sits on the emulator and sees every frame and raw reward; `EpisodeRecord` sits on top,
counts agent steps and reports.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs


class GameCounter(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Count the raw rewards and frames of the current game.

    Attributes:
        step_reward: Raw rewards summed since the attribute was last set to 0.
        length: Agent steps of the current game, counted by whoever knows what an agent step is.
        finished: `{"r": raw return, "l": agent steps, "frames": frames}` of a game that has ended,
            until set to `None`.
    """

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self.step_reward = 0.0
        self.length = 0
        self.finished: dict[str, Any] | None = None
        self._return = 0.0
        self._frames = 0

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step one frame and count it."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.step_reward += float(reward)
        self._return += float(reward)
        self._frames += 1
        # A game that ends before the agent's first step, among the no-ops, is nobody's.
        if (terminated or truncated) and self.length > 0:
            self.finished = {"r": self._return, "l": self.length, "frames": self._frames}
        return obs, reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a game at zero."""
        self.length = 0
        self._return = 0.0
        self._frames = 0
        return self.env.reset(seed=seed, options=options)


class EpisodeRecord(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Add the true game's record to each info.

    - `raw_reward`: float, the unclipped reward of this step; absent from a reset's info.
    - `lives`: int, those left; 0 where the env has none.
    - `episode`: where a game ended, `{"r": raw return, "l": agent steps, "frames": emulator
      frames}`. The frames of no-ops, FIRE and continuations count in `r` and `frames`, not in `l`.
      A game that ends inside of a reset, on the step that should have continued it, is in that
      reset's info.

    Args:
        env: An env with a `GameCounter` among its wrappers, below all that hide frames or rewards.

    Raises:
        ValueError: There is none.
    """

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self._game = _game_counter(env)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step and report."""
        self._game.step_reward = 0.0
        self._game.length += 1
        obs, reward, terminated, truncated, info = self.env.step(action)
        info = self._report(info)
        info["raw_reward"] = self._game.step_reward
        return obs, reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset and report."""
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, self._report(info)

    def _report(self, info: dict[str, Any]) -> dict[str, Any]:
        info = {**info, "lives": int(info.get("lives", 0))}
        info.pop("episode", None)
        if self._game.finished is not None:
            info["episode"] = self._game.finished
            self._game.finished = None
        return info


def _game_counter(env: gym.Env) -> GameCounter:
    wrapper = env
    while isinstance(wrapper, gym.Wrapper):
        if isinstance(wrapper, GameCounter):
            return wrapper
        wrapper = wrapper.env
    raise ValueError(f"{env} has no GameCounter among its wrappers")
