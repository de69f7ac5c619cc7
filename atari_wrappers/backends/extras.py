"""What envs say in their infos beyond the record, gathered as gymnasium's vector envs do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def gathered(infos: Mapping[int, dict[str, Any]], count: int) -> dict[str, Any]:
    """Return what was said, by place, as arrays of `count` with masks `_name` of who said it.

    As with gymnasium's `VectorEnv._add_info`, numbers become an array of numbers, arrays of one
    shape and type an array with a first axis more, dicts a dict of such arrays, and anything else
    an array of objects. What differs from env to env, which gymnasium rounds or fails at, becomes
    an array of numbers that holds all of them, or one of objects.
    """
    result: dict[str, Any] = {}
    for name in dict.fromkeys(name for info in infos.values() for name in info):
        values = {place: info[name] for place, info in infos.items() if name in info}
        mask = np.zeros(count, np.bool_)
        mask[list(values)] = True
        if name == "final_obs":
            result[name] = _filled(values, np.full(count, None, object))
        elif all(isinstance(value, dict) for value in values.values()):
            result[name] = gathered(values, count)
        else:
            result[name] = _filled(values, _room(values.values(), count))
        result[f"_{name}"] = mask
    return result


def _room(values: Iterable[Any], count: int) -> np.ndarray:
    """Return an array for these values of `count` envs: zeros, or objects where they differ."""
    kinds = {_kind(value) for value in values}
    types = [kind[0] for kind in kinds if kind is not None]
    shapes = {kind[1] for kind in kinds if kind is not None}
    is_alike = len(kinds) == 1 or all(np.issubdtype(each, np.number) for each in types)
    if None in kinds or len(shapes) > 1 or not is_alike:
        return np.full(count, None, object)
    return np.zeros((count, *shapes.pop()), np.result_type(*types))


def _kind(value: Any) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """Return type and shape of a number or an array; `None` of anything else."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape
    if type(value) is int and not -(2**63) <= value < 2**63:
        return None
    if type(value) in (int, float, bool) or isinstance(value, np.number):
        return np.dtype(type(value)), ()
    return None


def _filled(values: Mapping[int, Any], array: np.ndarray) -> np.ndarray:
    for place, value in values.items():
        array[place] = value
    return array
