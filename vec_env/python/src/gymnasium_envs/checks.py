"""Spaces out of what a batch says of itself, and checks of what users say."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from .errors import UnsupportedError

Array = np.ndarray[Any, np.dtype[Any]]
MAX_SEED = 2**63 - 1


def obs_space(about: dict[str, Any]) -> spaces.Box:
    """Return the space of one environment's observations."""
    shape, dtype = tuple(about["obs_shape"]), np.dtype(about["obs_dtype"])
    low: Any
    high: Any
    low, high = (0, 255) if dtype == np.uint8 else (-np.inf, np.inf)
    if about["obs_bounds"] is not None:
        low, high = (np.array(end).astype(dtype).reshape(shape) for end in about["obs_bounds"])
    return spaces.Box(low, high, shape, dtype.type)


def action_space(about: dict[str, Any]) -> spaces.Space[Any]:
    """Return the space of one environment's actions."""
    if "discrete" in about:
        return spaces.Discrete(about["discrete"])
    if "multi_discrete" in about:
        return spaces.MultiDiscrete(about["multi_discrete"])
    shape, *ends = about["box"]
    low, high = (np.array(end, np.float32).reshape(shape) for end in ends)
    return spaces.Box(low, high, tuple(shape), np.float32)


def check_render_mode(
    mode: str | None, modes: Sequence[str], draw: Callable[[], Array | None]
) -> None:
    """Refuse modes that there are not, and pictures of what cannot be drawn."""
    if mode not in (None, *modes):
        raise UnsupportedError(f"render_mode must be one of {modes}, not {mode!r}")
    if mode is not None and draw() is None:
        raise UnsupportedError(f"render_mode={mode!r}: the environment draws no pictures")


def check_options(options: dict[str, Any] | None) -> None:
    """Refuse options of a reset."""
    if options:
        raise UnsupportedError(f"options: the environment knows none of {', '.join(options)}")


def count(name: str, value: Any, least: int) -> int:
    """Return a whole number that is large enough."""
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number


def checked_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """Return a seed, or none, for each environment."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, Sequence | np.ndarray):
        if len(seed) != num_envs:
            raise ValueError(f"{len(seed)} seeds for {num_envs} envs")
        given = [None if each is None else operator.index(each) for each in seed]
    else:
        first = operator.index(seed)
        given = list(range(first, first + num_envs))
    for each in given:
        if each is not None and not 0 <= each <= MAX_SEED:
            raise ValueError(f"seed must be 0 to {MAX_SEED}, not {each}")
    return given


def checked_mask(mask: Any, num_envs: int) -> Array | None:
    """Return a mask of environments, if one was given."""
    if mask is None:
        return None
    if not isinstance(mask, np.ndarray) or mask.dtype != bool:
        raise TypeError(f"reset_mask must be an array of bool, not {mask!r}")
    if mask.shape != (num_envs,) or not mask.any():
        raise ValueError(f"reset_mask must be [{num_envs}] with at least one True, not {mask!r}")
    return mask
