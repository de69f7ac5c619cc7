"""Values of settings checked: each error names the setting, the value and what it may be."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is none of some words.

    Raises:
        ValueError: It is another one.
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is no bool.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")


def checked_integer(name: str, value: Any) -> int:
    """Return an integer as an `int`.

    Raises:
        TypeError: It is none.
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} must be an integer, not {value!r}")


def check_count(name: str, value: Any, minimum: int) -> int:
    """Return a number of things as an `int`.

    Raises:
        ValueError: It is below `minimum`.
        TypeError: It is no integer.
    """
    count = checked_integer(name, value)
    if count < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {count}")
    return count


def check_number(name: str, value: Any, low: float, high: float) -> None:
    """Refuse what is no number from `low` to `high`, both included.

    Raises:
        ValueError: It lies outside.
        TypeError: It is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must lie in [{low}, {high}], not {value}")
