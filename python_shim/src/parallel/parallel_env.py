"""An environment of PettingZoo's parallel API in plain lists and bytes, as Rust calls it."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from atari_wrappers.errors import UnknownEnvError, UnsupportedError

# What is observed comes to Rust as one of these.
OBS_DTYPES = {"uint8": "uint8", "float32": "float32", "float64": "float32"}


class ParallelEnv:
    """One environment; agents are known by their places among all that there may be."""

    def __init__(self, module: str, num_agents: int, continuous: bool) -> None:
        """Make what `parallel_env` of `module` makes.

        Args:
            module: Such as `mpe2.simple_spread_v3`.
            num_agents: How many agents there are to be, which MPE2 calls `N`; 0 for the usual.
            continuous: Whether actions are to be continuous, where that can be chosen.

        Raises:
            UnknownEnvError: There is no such module, or no `parallel_env` in it.
            UnsupportedError: It has another number of agents, or spaces that are not for Rust.
        """
        try:
            make = importlib.import_module(module).parallel_env
        except ModuleNotFoundError as error:
            raise UnknownEnvError(f"`{module}` cannot be imported: {error}") from None
        except AttributeError:
            raise UnknownEnvError(
                f"`{module}` has no `parallel_env`, as PettingZoo's have"
            ) from None
        asked: dict[str, Any] = {"continuous_actions": True} if continuous else {}
        self.env = make(**asked | _count(make, num_agents))
        self.names: list[str] = list(self.env.possible_agents)
        if num_agents not in (0, len(self.names)):
            raise UnsupportedError(
                f"`{module}` has {len(self.names)} agents; num_agents is {num_agents}"
            )
        self.dtypes = [_obs_dtype(self.env.observation_space(name)) for name in self.names]

    def agents(self) -> list[tuple[Any, ...]]:
        """Return of each agent name, shape, dtype, number of actions, bounds; 0 for a `Box`."""
        about = []
        for name, dtype in zip(self.names, self.dtypes, strict=True):
            shape = self.env.observation_space(name).shape
            space = self.env.action_space(name)
            if isinstance(space, Discrete) and space.start == 0:
                actions: tuple[Any, ...] = (int(space.n), [], [], [])
            elif isinstance(space, Box) and space.dtype == np.float32:
                low, high = space.low.ravel().tolist(), space.high.ravel().tolist()
                actions = (0, list(space.shape), low, high)
            else:
                raise UnsupportedError(
                    f"agent `{name}` has the actions {space}: Discrete or Box is needed"
                )
            about.append((name, list(shape), dtype, *actions))
        return about

    def reset(self, seed: int | None) -> list[bytes | None]:
        """Start an episode; return what each agent observes, `None` where it takes no part."""
        obs, _ = self.env.reset(seed=seed)
        return self._observed(obs)

    def step(self, actions: list[Any]) -> tuple[list[Any], list[bytes | None], list[bool]]:
        """Take an action of each agent that takes part.

        Returns:
            Reward and both ends of each of these; what they observe; who takes part from now on.
        """
        taken = {
            name: self._action(name, action)
            for name, action in zip(self.names, actions, strict=True)
            if action is not None
        }
        obs, rewards, terminated, truncated, _ = self.env.step(taken)
        brought = [
            (float(rewards[name]), bool(terminated[name]), bool(truncated[name]))
            if name in taken
            else None
            for name in self.names
        ]
        left = set(self.env.agents)
        return brought, self._observed(obs), [name in left for name in self.names]

    def close(self) -> None:
        """Free what it holds."""
        self.env.close()

    def _action(self, name: str, action: Any) -> Any:
        space = self.env.action_space(name)
        return np.asarray(action, space.dtype).reshape(space.shape) if space.shape else int(action)

    def _observed(self, obs: dict[str, Any]) -> list[bytes | None]:
        return [
            np.ascontiguousarray(obs[name], dtype).tobytes() if name in obs else None
            for name, dtype in zip(self.names, self.dtypes, strict=True)
        ]


def _count(make: Any, num_agents: int) -> dict[str, int]:
    """Return `N` where it is asked for and may be taken."""
    try:
        taken = inspect.signature(make).parameters
    except ValueError:
        return {}
    takes_any = any(each.kind == each.VAR_KEYWORD for each in taken.values())
    return {"N": num_agents} if num_agents and ("N" in taken or takes_any) else {}


def _obs_dtype(space: Any) -> str:
    if not isinstance(space, Box) or str(space.dtype) not in OBS_DTYPES:
        raise UnsupportedError(f"observations are {space}: a Box of uint8 or floats is needed")
    return OBS_DTYPES[str(space.dtype)]
