"""Actions checked before any env sees them.

ALE's vector env waits for ever after an action out of range, and others take it in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers.errors import UnsupportedError

ActionCheck = Callable[[Any, Sequence[int] | None], np.ndarray]


def action_check(space: gym.Space, num_envs: int) -> ActionCheck:
    """Return what turns a caller's actions into a fresh array that is valid for every env.

    The check raises `ValueError` for a wrong shape and for a value out of range (the message names
    the env, the action and the range), and `TypeError` for a wrong kind of number. Its second
    argument names the envs that the actions are for, `None` for all.

    Args:
        space: The action space of one env.
        num_envs: How many there are.

    Raises:
        UnsupportedError: The actions are no arrays.
    """
    if isinstance(space, gym.spaces.Discrete):
        return DiscreteCheck(space, num_envs)
    if isinstance(space, gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        return ArrayCheck(space, num_envs)
    raise UnsupportedError(f"actions of {space} are no arrays")


def _expect_shape(actions: np.ndarray, shape: tuple[int, ...]) -> None:
    if actions.shape != shape:
        raise ValueError(
            f"actions have shape {list(actions.shape)}; {shape[0]} envs take {list(shape)}"
        )


class DiscreteCheck:
    """Check for one integer per env; the result is int64 `[num_envs]`."""

    def __init__(self, space: gym.spaces.Discrete, num_envs: int) -> None:
        self._shape = (num_envs,)
        self._first = int(space.start)
        self._last = self._first + int(space.n) - 1

    def __call__(self, actions: Any, env_ids: Sequence[int] | None = None) -> np.ndarray:
        """Return `actions` as a fresh int64 array."""
        given = np.asarray(actions)
        shape = self._shape if env_ids is None else (len(env_ids),)
        if given.shape != shape:
            _expect_shape(given, shape)
        if given.dtype.kind not in "iu":
            raise TypeError(f"actions must be integers, not {given.dtype}")
        checked = given.astype(np.int64)
        # A list's min and max: within a step, with the caches full of frames, numpy's cost 20 µs.
        values = checked.tolist()
        if min(values) < self._first or max(values) > self._last:
            self._refuse(given, values, env_ids)
        return checked

    def _refuse(self, given: np.ndarray, values: list[int], env_ids: Sequence[int] | None) -> None:
        valid = range(self._first, self._last + 1)
        index = next(index for index, value in enumerate(values) if value not in valid)
        raise ValueError(
            f"action {given[index]} of env {_env(env_ids, index)} is outside of the valid range"
            f" {self._first} to {self._last}"
        )


class ArrayCheck:
    """Check for an array per env; the result has the space's dtype and `[num_envs, ...]`."""

    def __init__(self, space: gym.Space, num_envs: int) -> None:
        self._space = space
        self._shape = (num_envs, *(space.shape or ()))

    def __call__(self, actions: Any, env_ids: Sequence[int] | None = None) -> np.ndarray:
        """Return `actions` as a fresh array of the space's dtype."""
        given = np.asarray(actions)
        count = self._shape[0] if env_ids is None else len(env_ids)
        _expect_shape(given, (count, *self._shape[1:]))
        if not np.can_cast(given.dtype, self._space.dtype, "same_kind"):
            raise TypeError(f"actions must be {self._space.dtype}, not {given.dtype}")
        checked = given.astype(self._space.dtype)
        for index, action in enumerate(checked):
            if not self._space.contains(action):
                env = _env(env_ids, index)
                raise ValueError(f"action {action} of env {env} is outside of {self._space}")
        return checked


def _env(env_ids: Sequence[int] | None, index: int) -> int:
    return index if env_ids is None else env_ids[index]
