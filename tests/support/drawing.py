"""An env that is no Atari game and draws itself, registered as `drawing:Drawing-v0`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class DrawingEnv(gym.Env):
    """Draws a flat picture of 10 times the episode's number (from 0) plus the steps taken in it."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - gymnasium's own
    observation_space = gym.spaces.Box(0, 255, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None, length: int = 3) -> None:
        self.render_mode = render_mode
        self._length = length
        self._episode, self._step = -1, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._episode, self._step = self._episode + 1, 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._step += 1
        return np.zeros(1, np.float32), 1.0, self._step == self._length, False, {}

    def render(self) -> np.ndarray:
        return np.full((21, 17, 3), 10 * self._episode + self._step, np.uint8)


gym.register("Drawing-v0", DrawingEnv)
