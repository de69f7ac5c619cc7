"""`RustEnv`: one environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from .checks import Array, check_options, check_render_mode, checked_seeds
from .envs import Envs
from .window import Window


class RustEnv(gymnasium.Env[Array, Any]):
    """One environment in Rust; each step gives fresh arrays, and an info without entries.

    Actions are checked: a wrong shape and a value out of range are a `ValueError`, a wrong kind of
    number is a `TypeError`. Calls out of order are Gymnasium's `ResetNeeded` and
    `ClosedEnvironmentError`, and a `RuntimeError` at once.

    Args:
        render_mode: "rgb_array" for `render`, "human" to watch each step in a window.
        settings: The environment's own.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012
    make: ClassVar[Callable[..., Any]]

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        batch = self.make(num_envs=1, autoreset_mode="Disabled", num_threads=1, **settings)
        self._envs = Envs(batch, 1, AutoresetMode.DISABLED)
        self.observation_space = self._envs.obs_space
        self.action_space = self._envs.action_space
        self.metadata = {**self.metadata, "render_fps": self._envs.render_fps}
        check_render_mode(render_mode, self.metadata["render_modes"], lambda: self._envs.frame(0))
        self.render_mode = render_mode
        self._window = None
        if render_mode == "human":
            self._window = Window(type(self).__name__, self._envs.render_fps)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Restarts the random numbers, at least 0; without one they go on.
            options: None are known.
        """
        [checked] = checked_seeds(seed, 1)
        check_options(options)
        super().reset(seed=checked)
        [obs] = self._envs.reset([checked], self.np_random, None)
        self._show()
        return obs, {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take an action; where Ctrl-C breaks it off, a reset comes next."""
        try:
            self._envs.send(np.asarray(action)[None], call="step")
            [obs], [reward], [terminated], [truncated], _ = self._envs.recv()
        except KeyboardInterrupt:
            self._envs.drop_step()
            raise
        self._show()
        return obs, float(reward), bool(terminated), bool(truncated), {}

    def render(self) -> Array | None:
        """Return a picture, uint8 `[height, width, 3]`; `None` with a window, which shows it."""
        if self.render_mode is None:
            gymnasium.logger.warn('render: make the environment with render_mode="rgb_array"')
        return self._envs.frame(0) if self.render_mode == "rgb_array" else None

    def _show(self) -> None:
        if self._window is not None:
            frame = self._envs.frame(0)
            assert frame is not None
            self._window.show(frame)

    def save_state(self) -> bytes:
        """Return all that the future depends on, as plain data."""
        return self._envs.save_state()[0]

    def restore_state(self, state: bytes) -> Array:
        """Go to a state that `save_state` returned, and return the observation there."""
        obs: Array = self._envs.restore_state([state])[0]
        return obs

    def close(self) -> None:
        """Free the environment, and close its window."""
        self._envs.close()
        if self._window is not None:
            self._window.close()
