"""`RustParallelEnv`: an environment of several agents, by PettingZoo's parallel API."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar

import gymnasium
import numpy as np

from .checks import Array, action_space, check_render_mode, checked_seeds, obs_space
from .errors import ClosedError, ResetNeededError
from .window import Window

try:
    from pettingzoo import ParallelEnv
except ImportError:
    # A module has other environments, too: it is missed once one of these is made.
    ParallelEnv = object


class RustParallelEnv(ParallelEnv):  # type: ignore[misc]
    """Several agents in Rust, who act at once.

    Each is known by its name, and has spaces, rewards and an end of its own; after that it is no
    more in `agents`. Infos are without entries. An action out of its space is a `ValueError`, a
    wrong kind of number a `TypeError`, and each names the agent. Calls out of order are Gymnasium's
    `ResetNeeded` and `ClosedEnvironmentError`, and a `RuntimeError` at once.

    Args:
        render_mode: "rgb_array" for `render`, "human" to watch each step in a window.
        settings: The environment's own.

    Attributes:
        possible_agents: The names of all.
        agents: The names of those that take part.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array"],
        "is_parallelizable": True,
    }
    make: ClassVar[Callable[..., Any]]

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        if ParallelEnv is object:
            message = "several agents need pettingzoo: pip install pettingzoo"
            raise gymnasium.error.DependencyNotInstalled(message)
        self._env: Any = self.make(**settings)
        about, fps = self._env.describe()
        self.possible_agents: list[str] = [name for name, _ in about]
        self.agents: list[str] = []
        self.observation_spaces = {name: obs_space(spaces) for name, spaces in about}
        self.action_spaces = {name: action_space(spaces) for name, spaces in about}
        self.metadata = {**self.metadata, "render_fps": fps}
        check_render_mode(render_mode, self.metadata["render_modes"], self._env.render)
        self.render_mode = render_mode
        is_shown = render_mode == "human"
        self._window = Window(self.metadata["name"], fps) if is_shown else None
        self._was_reset = self._closed = False

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the space of what an agent observes."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Start an episode of all agents.

        Args:
            seed: Restarts the random numbers, at least 0; without one they go on.
            options: None are known, and those of other environments change nothing.
        """
        self._check_open("reset")
        [checked] = checked_seeds(seed, 1)
        if checked is None and not self._was_reset:
            # Without a seed the futures of different environments differ.
            checked = int(np.random.default_rng().integers(2**63))
        observed = self._env.reset(checked)
        self._was_reset = True
        return self._told(observed), {name: {} for name in self.agents}

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, Array],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Take an action of each of `agents`.

        Returns:
            Observations, rewards, terminated, truncated and infos of these agents by name.
        """
        self._check_open("step")
        if not self.agents:
            raise ResetNeededError("step: no agent takes part; call reset first")
        for name in actions:
            if name not in self.agents:
                known = ", ".join(self.agents)
                raise ValueError(f"step: `{name}` is none of the agents that take part: {known}")
        taken = [
            self._checked(name, actions[name]) if name in actions else None
            for name in self.possible_agents
        ]
        acting = self.agents
        brought, observed = self._env.step(taken)
        obs = self._told(observed, acting)
        by_name = dict(zip(self.possible_agents, brought, strict=True))
        rewards, terminated, truncated = (
            {name: by_name[name][part] for name in acting} for part in range(3)
        )
        return obs, rewards, terminated, truncated, {name: {} for name in acting}

    def render(self) -> Array | None:
        """Return a picture, uint8 `[height, width, 3]`; `None` with a window, which shows it."""
        self._check_open("render")
        if self.render_mode is None:
            gymnasium.logger.warn('render: make the environment with render_mode="rgb_array"')
        frame: Array | None = self._env.render() if self.render_mode == "rgb_array" else None
        return frame

    def save_state(self) -> bytes:
        """Return all that the future depends on, as plain data."""
        self._check_open("save_state")
        if not self._was_reset:
            raise ResetNeededError("save_state: call reset first")
        state: bytes = self._env.save_state()
        return state

    def restore_state(self, state: bytes) -> dict[str, Array]:
        """Go to a state that `save_state` returned, and return the observations there."""
        self._check_open("restore_state")
        observed = self._env.restore_state(state)
        self._was_reset = True
        return self._told(observed)

    def close(self) -> None:
        """Free the environment, and close its window."""
        self._closed, self._env = True, None
        if self._window is not None:
            self._window.close()

    def _check_open(self, call: str) -> None:
        if self._closed:
            raise ClosedError(f"{call}: the environment is closed")

    def _checked(self, name: str, action: Any) -> Array:
        """Return an action as an array of its space's type."""
        space, given = self.action_spaces[name], np.asarray(action)
        assert space.dtype is not None
        if given.shape != space.shape:
            raise ValueError(
                f"the action of `{name}` has shape {list(given.shape)}, not {list(space.shape)}"
            )
        if not np.can_cast(given.dtype, space.dtype, "same_kind"):
            raise TypeError(f"the action of `{name}` must be {space.dtype}, not {given.dtype}")
        cast = np.ascontiguousarray(given, space.dtype)
        if not space.contains(cast.reshape(space.shape)[()]):
            raise ValueError(f"the action of `{name}`, {action}, is outside of {space}")
        return cast

    def _told(
        self, observed: tuple[list[Array], list[bool]], names: list[str] | None = None
    ) -> dict[str, Array]:
        """Note who takes part, show it, and return what `names`, or these, observe."""
        seen, takes_part = observed
        parts = zip(self.possible_agents, takes_part, strict=True)
        self.agents = [name for name, part in parts if part]
        if self._window is not None:
            self._window.show(self._env.render())
        obs = {}
        for name, row in zip(self.possible_agents, seen, strict=True):
            if name in (self.agents if names is None else names):
                space = self.observation_spaces[name]
                obs[name] = row.view(space.dtype).reshape(space.shape)
        return obs


def register(module: ModuleType, name: str, make: Callable[..., Any]) -> None:
    """Put a module such as PettingZoo's into a module: `parallel_env`, and `env` for turns."""
    # maturin puts the module into a package of the same name, which users import.
    package, _, last = module.__name__.rpartition(".")
    own = ModuleType(
        f"{package if package.rpartition('.')[2] == last else module.__name__}.{name}",
        inspect.getdoc(make),
    )
    about = {
        "make": staticmethod(make),
        "__module__": own.__name__,
        "__doc__": "\n\n".join(filter(None, map(inspect.getdoc, (make, RustParallelEnv)))),
        "metadata": {**RustParallelEnv.metadata, "name": name},
    }
    parallel_env = type("parallel_env", (RustParallelEnv,), about)

    def env(**settings: Any) -> Any:
        """Make the environment with agents that act one after the other: PettingZoo's `AECEnv`."""
        from pettingzoo.utils import parallel_to_aec

        return parallel_to_aec(parallel_env(**settings))

    own.parallel_env, own.env = parallel_env, env  # type: ignore[attr-defined]
    sys.modules[own.__name__] = own
    setattr(module, name, own)
