"""Actions checked before any env sees them.

ALE's vector env waits for ever after an action out of range, and others take it in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers.checks import dtype_of
from atari_wrappers.errors import UnsupportedError

ActionCheck = Callable[[Any, Sequence[int] | None], np.ndarray]


def action_check(space: gym.Space[Any], num_envs: int, *, clips: bool = False) -> ActionCheck:
    """Return what turns a caller's actions into a fresh array that is valid for every env.

    The check raises `ValueError` for a wrong shape and for a value out of range (the message names
    the env, the action and the range), and `TypeError` for a wrong kind of number. Its second
    argument names the envs that the actions are for, `None` for all. If it `clips`, numbers out of
    a Box's range are brought to its bounds; NaN is refused all the same.
    """
    if clips and not isinstance(space, gym.spaces.Box):
        raise UnsupportedError(f"clip_actions: the actions are of {space}, not of a Box")
    if isinstance(space, gym.spaces.Discrete):
        return DiscreteCheck(space, num_envs)
    if isinstance(space, gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        return ArrayCheck(space, num_envs, clips=clips)
    raise UnsupportedError(f"actions of {space} are no arrays")


def as_array(actions: Any) -> np.ndarray:
    """Return `actions` as an array; ragged ones are a `ValueError`."""
    try:
        return np.asarray(actions)
    except ValueError:
        message = f"actions must have the same shape for each env, not {actions!r}"
        raise ValueError(message) from None


def _expect_shape(actions: np.ndarray, shape: tuple[int, ...]) -> None:
    if actions.shape != shape:
        raise ValueError(
            f"actions have shape {list(actions.shape)}; {shape[0]} envs take {list(shape)}"
        )


class DiscreteCheck:
    """Check for one integer per env; the result has the space's dtype and `[num_envs]`."""

    def __init__(self, space: gym.spaces.Discrete, num_envs: int) -> None:
        self._shape, self._dtype = (num_envs,), space.dtype
        self._first = int(space.start)
        self._last = self._first + int(space.n) - 1

    def __call__(self, actions: Any, env_ids: Sequence[int] | None = None) -> np.ndarray:
        """Return `actions` as a fresh array of the space's dtype."""
        given = as_array(actions)
        shape = self._shape if env_ids is None else (len(env_ids),)
        if given.shape != shape:
            _expect_shape(given, shape)
        if given.dtype.kind not in "iu":
            raise TypeError(f"actions must be integers, not {given.dtype}")
        # A list's min and max: within a step, with the caches full of frames, numpy's cost 20 µs.
        values = given.tolist()
        if min(values) < self._first or max(values) > self._last:
            valid = range(self._first, self._last + 1)
            index = next(index for index, value in enumerate(values) if value not in valid)
            raise ValueError(
                f"action {values[index]} of env {_env(env_ids, index)} is outside of the valid"
                f" range {self._first} to {self._last}"
            )
        return given.astype(self._dtype)


class ArrayCheck:
    """Check for an array per env; the result has the space's dtype and `[num_envs, ...]`."""

    def __init__(self, space: gym.Space[Any], num_envs: int, *, clips: bool) -> None:
        self._space, self._dtype, self._clips = space, dtype_of(space), clips
        self._shape = (num_envs, *(space.shape or ()))
        self._low, self._high = _bounds(space)
        # NumPy takes bools for integers; they are two values, which numbers of choices are not.
        self._bools = not isinstance(space, gym.spaces.MultiDiscrete)

    def __call__(self, actions: Any, env_ids: Sequence[int] | None = None) -> np.ndarray:
        """Return `actions` as a fresh array of the space's dtype."""
        given = as_array(actions)
        count = self._shape[0] if env_ids is None else len(env_ids)
        _expect_shape(given, (count, *self._shape[1:]))
        fits_kind = np.can_cast(given.dtype, self._dtype, "same_kind")
        if not fits_kind or (given.dtype == bool and not self._bools):
            kind = "integers" if self._dtype.kind in "iu" else self._dtype
            raise TypeError(f"actions must be {kind}, not {given.dtype}")
        if self._clips:
            given = np.clip(given, self._low, self._high)
        checked = given.astype(self._dtype, order="C")  # as backends hand it on
        # An integer is judged as it was given, for a smaller type might not hold it.
        judged = given if given.dtype.kind in "iu" else checked
        fits = (judged >= self._low) & (judged <= self._high)  # NaN does not
        if not fits.all():
            index = int(np.argmin(fits.reshape(count, -1).all(axis=1)))
            env = _env(env_ids, index)
            raise ValueError(f"action {given[index]} of env {env} is outside of {self._space}")
        return checked


def _bounds(space: gym.Space[Any]) -> tuple[Any, Any]:
    """Return the least and the greatest action of a space of arrays."""
    if isinstance(space, gym.spaces.Box):
        return space.low, space.high
    if isinstance(space, gym.spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    return 0, 1


def _env(env_ids: Sequence[int] | None, index: int) -> int:
    return index if env_ids is None else env_ids[index]
