"""Values checked: each error names what it is, the value and what it may be.

It is a `TypeError` where the type is another, and else a `ValueError`.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Sequence
from math import inf
from typing import Any, Literal, get_args, get_origin

import gymnasium as gym
import numpy as np

# ALE's vector env takes 32-bit seeds. One bound for all backends, so that a seed is never valid
# on one of them only.
SEED_END = 2**31 - 1


def dtype_of(space: gym.Space[Any]) -> np.dtype[Any]:
    """Return the dtype of a space of arrays."""
    if space.dtype is None:
        raise TypeError(f"{space} has no dtype")
    return space.dtype


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is none of some words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def checked_integer(name: str, value: Any) -> int:
    """Return an integer as an `int`."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} must be an integer, not {value!r}")


def checked_seed(value: Any, whose: str = "") -> int | None:
    """Return a seed of one env, if there is one."""
    if value is None:
        return None
    seed = checked_integer("seed", value)
    if not 0 <= seed < SEED_END:
        raise ValueError(f"seed {seed}{whose} lies outside of [0, {SEED_END})")
    return seed


def check_count(name: str, value: Any, minimum: int) -> int:
    """Return a number of things, at least `minimum`, as an `int`."""
    count = checked_integer(name, value)
    if count < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {count}")
    return count


def checked_number(name: str, value: Any, low: float, high: float = inf) -> float:
    """Return a number from `low` to `high`, both included, as one of Python's."""
    check_number(name, value, low, high)
    return value if isinstance(value, int) else float(value)


def check_number(name: str, value: Any, low: float, high: float = inf) -> None:
    """Refuse what is no number from `low` to `high`, both included."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    number: Any = value  # reals can be compared, though their type does not say so
    if not low <= number <= high:
        raise ValueError(f"{name} must lie in [{low}, {high}], not {value}")


def checked_by_type(name: str, value: Any, kind: Any, minimum: int = 0) -> Any:
    """Return a value in the form that its type has.

    That is a `Literal`, `bool`, `int` of a minimum, or `float`, which is a share from 0 to 1.
    """
    if kind is int:
        return check_count(name, value, minimum)
    if kind is float:
        return checked_number(name, value, 0.0, 1.0)
    if get_origin(kind) is Literal:
        check_choice(name, value, get_args(kind))
        return value
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)
