"""Small envs like those in the peers' own tests: a counter, spaces of every kind, a gate.

Registered under `peer_envs:...` ids, which worker processes can import.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

Result = tuple[Any, float, bool, bool, dict[str, Any]]

FATAL_ACTION = 4


class CountingEnv(gym.Env):
    """Observes its steps since the reset, pays the action, and ends with step `max_count`.

    It raises at `FATAL_ACTION`, and when it is reset while `is_broken`. `reset` starts counting at
    `options["start"]`.
    """

    observation_space = gym.spaces.Discrete(1000)
    action_space = gym.spaces.Discrete(5)

    def __init__(self, max_count: int = 3, truncates: bool = False) -> None:
        self.max_count = max_count
        self.truncates = truncates
        self.count = 0
        self.is_broken = False
        self.gate: str | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._wait_at_gate()
        if self.is_broken:
            raise ValueError("I am broken")
        self.count = (options or {}).get("start", 0)
        return self.count, {}

    def step(self, action: int) -> Result:
        self._wait_at_gate()
        if action == FATAL_ACTION:
            raise ValueError(f"action {action} is not for me")
        self.count += 1
        ends = self.count == self.max_count
        return self.count, float(action), ends and not self.truncates, ends and self.truncates, {}

    def weigh(self, rows: int, columns: int = 1) -> np.ndarray:
        """Return ones, for callers of methods."""
        return np.ones((rows, columns))

    def _wait_at_gate(self) -> None:
        """Block until somebody writes to the named pipe at `gate`, where one is set."""
        if self.gate is not None:
            Path(self.gate).read_bytes()


class Note(dict):
    """An info that is a dictionary, but no `dict`."""


class TalkingEnv(CountingEnv):
    """A counter whose infos say what was done."""

    def reset(self, **kwargs: Any) -> tuple[int, dict[str, Any]]:
        return super().reset(**kwargs)[0], Note(was_reset=True)

    def step(self, action: int) -> Result:
        return *super().step(action)[:4], Note(action=int(action))


class HearingEnv(CountingEnv):
    """A counter whose infos hold an array as long as its steps and the action together."""

    def step(self, action: int) -> Result:
        result = super().step(action)
        return *result[:4], {"heard": np.zeros(self.count + int(action))}


class SpaceEnv(gym.Env):
    """Observes and acts in one space, with random rewards; an episode has four steps."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(self, space: gym.Space, render_mode: str | None = None) -> None:
        self.observation_space = self.action_space = space
        self.render_mode = render_mode
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        self._steps = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Result:
        assert self.action_space.contains(action), action
        self._steps += 1
        reward = float(self.np_random.random())
        return self.observation_space.sample(), reward, self._steps == 4, False, {}

    def render(self) -> np.ndarray:
        return np.full((4, 6, 3), self._steps, np.uint8)


SPACES = {
    "Discrete": gym.spaces.Discrete(3),
    "DiscreteFromFive": gym.spaces.Discrete(3, start=5),
    "MultiDiscrete": gym.spaces.MultiDiscrete([2, 3]),
    "MultiBinary": gym.spaces.MultiBinary(3),
    "Box": gym.spaces.Box(0.0, 1.0, (2,), np.float32),
    "Half": gym.spaces.Box(-1.0, 1.0, (3,), np.float16),
    "Picture": gym.spaces.Box(0, 255, (12, 8, 3), np.uint8),
}

for _name, _space in SPACES.items():
    gym.register(f"{_name}-v0", SpaceEnv, kwargs={"space": _space})
gym.register("Text-v0", SpaceEnv, kwargs={"space": gym.spaces.Text(8)})
gym.register("Counting-v0", CountingEnv)
gym.register("Talking-v0", TalkingEnv)
gym.register("Hearing-v0", HearingEnv, kwargs={"max_count": 10})
