"""What stands in the host for an env of a worker process."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NoReturn

import gymnasium as gym
import numpy as np

from atari_wrappers.backends.python_envs import PythonEnvsBackend


class RemoteEnv:
    """Reaches one env: its attributes and methods, by name, wherever among its wrappers.

    Public attributes and methods may also be used as if they were its own; setting one takes
    `set_attr`.

    Arguments and results travel by pickle. Every method raises what the env raises (a `WorkerError`
    where that cannot be pickled), `WorkerError` when its process fails, `UnsupportedError` for
    arguments that cannot be pickled, `PendingStepError` during a call of the batch in another
    thread, and `ClosedError` after the batch was closed. An interrupt such as Ctrl-C is one of the
    batch, which then needs a reset.

    Attributes:
        index: The env's place in the batch.
        observation_space: Its observation space.
        action_space: Its action space.
    """

    index: int
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    _backend: PythonEnvsBackend
    _access: AbstractContextManager[None]

    def __init__(
        self, backend: PythonEnvsBackend, index: int, access: AbstractContextManager[None]
    ) -> None:
        self.index = index
        self.observation_space = backend.single_observation_space
        self.action_space = backend.single_action_space
        self._backend, self._access = backend, access

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return the attribute `name`, called with the arguments if it is a method."""
        with self._access:
            return self._backend.call([self.index], name, args, kwargs)[0]

    def get_attr(self, name: str) -> Any:
        """Return an attribute."""
        return self.call(name)

    def set_attr(self, name: str, value: Any) -> None:
        """Set an attribute."""
        with self._access:
            self._backend.set_attr([self.index], name, [value])

    # By these names gymnasium's wrappers, and so the envs of the `sync` backend, have the two.
    get_wrapper_attr = get_attr
    set_wrapper_attr = set_attr

    def render(self) -> np.ndarray:
        """Return what the env shows: uint8 RGB `[height, width, 3]`."""
        with self._access:
            return self._backend.frames([self.index])[0]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the env, or what calls its method."""
        if name.startswith("_"):  # those that copy, pickle and the like look for
            raise AttributeError(f"{self!r} reaches no private attribute {name}")
        request = {self.index: (name,)}
        with self._access:
            [(is_method, value)] = self._backend.ask("attribute", f"reading `{name}`", request)
        return partial(self.call, name) if is_method else value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set one of its own attributes; refuse others, which the env would not see."""
        if name not in RemoteEnv.__annotations__:
            raise AttributeError(
                f"{self!r}.{name} = {value!r} would not reach the env;"
                f" call set_attr({name!r}, value)"
            )
        super().__setattr__(name, value)

    def __reduce_ex__(self, _: Any) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise TypeError(f"{self!r} cannot be copied or pickled; its save_state can be kept")

    def __repr__(self) -> str:
        """Name the env."""
        return f"RemoteEnv({self.index})"
