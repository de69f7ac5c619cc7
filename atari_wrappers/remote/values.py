"""Arrays, infos and spaces as messages, and back; what comes from outside is checked on the way."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.remote.batches_pb2 import (
    Array,
    Box,
    Dict,
    Discrete,
    Entry,
    List,
    MultiBinary,
    Nothing,
    Space,
    Value,
)

# Booleans, integers, floats, complex numbers, bytes and text: no objects, and no structures.
_KINDS = frozenset("biufcSU")
# Told the name of what is no plain data, and why.
LeftOut = Callable[[str, str], None]


def to_array(array: Any) -> Array:
    """Return an array, or a number of numpy's, as a message."""
    array = np.asarray(array)
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"an array of {array.dtype} is no plain data")
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return Array(dtype=little.dtype.str, shape=array.shape, data=little.tobytes())


def of_type(numbers: ArrayLike, dtype: np.dtype[Any]) -> np.ndarray:
    """Return numbers as an array of a type; floats may be rounded.

    Raises:
        ValueError: They are none, or the type does not have them.
    """
    given = np.asarray(numbers)
    kinds = "biuf" if dtype.kind == "b" else "iuf"
    if given.dtype.kind not in kinds:
        raise ValueError(f"an array of {given.dtype} is none of {dtype}")
    with np.errstate(invalid="ignore", over="ignore"):
        array = given.astype(dtype)
    lost = np.isinf(array) & np.isfinite(given) if dtype.kind == "f" else array != given
    if lost.any():
        raise ValueError(f"{dtype} does not have {given[lost].flat[0]}")
    return array


def from_array(message: Array) -> np.ndarray:
    """Return a fresh array.

    Raises:
        ValueError: The message is none of an array.
    """
    try:
        dtype = np.dtype(message.dtype)
    except (TypeError, ValueError, SyntaxError):
        raise ValueError(f"no array has the dtype {message.dtype[:40]!r}") from None
    shape, size = tuple(message.shape), len(message.data)
    if dtype.kind not in _KINDS or dtype.itemsize == 0 or dtype.subdtype or len(shape) > 32:
        raise ValueError(f"an array of {dtype} is no plain data")
    if prod(shape) * dtype.itemsize != size:
        raise ValueError(f"an array of {dtype} {list(shape)} does not have {size} bytes")
    if not size:
        return np.zeros(shape, dtype)
    return np.frombuffer(message.data, dtype).reshape(shape).copy()


def to_value(value: Any, left_out: LeftOut | None = None, name: str = "") -> Value:
    """Return plain data as a message.

    That is numbers, text, bytes, `None`, arrays, lists and dicts. An array of objects, as infos of
    several envs have, is plain if all of them are; with `left_out` one of them is enough, and
    others are `None`.

    Args:
        value: The data.
        left_out: As of `to_dict`.
        name: What it is told of the data.
    """
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype == object:
            return Value(objects=_to_objects(np.asarray(value), left_out, name))
        return Value(array=to_array(value))
    if isinstance(value, dict):
        return Value(dict=to_dict(value, left_out))
    if isinstance(value, list | tuple):
        return Value(list=List(values=[to_value(each, left_out, name) for each in value]))
    for kind, convert in _CONVERSIONS:
        if isinstance(value, kind):
            return convert(value)
    raise TypeError(f"a {type(value).__name__} is no plain data")


def _to_objects(array: np.ndarray, left_out: LeftOut | None, name: str) -> List:
    rows, refusal = [], None
    for row in array.reshape(-1):
        try:
            rows.append(to_value(row, left_out, name))
        except (TypeError, ValueError) as error:
            if left_out is None:
                raise
            rows.append(to_value(None))
            refusal = error
    if refusal is not None and left_out is not None:
        if all(row.WhichOneof("kind") == "nothing" for row in rows):
            raise refusal
        left_out(name, str(refusal))
    return List(values=rows)


def from_value(message: Value) -> Any:
    """Return plain data; lists for tuples."""
    kind = message.WhichOneof("kind")
    if kind is None or kind == "nothing":
        return None
    content = getattr(message, kind)
    if kind == "array":
        array = from_array(content)
        return array if array.ndim else array[()]
    if kind == "dict":
        return from_dict(content)
    if kind == "list":
        return [from_value(each) for each in content.values]
    if kind == "objects":
        objects = np.empty(len(content.values), object)
        for row, each in enumerate(content.values):
            objects[row] = from_value(each)
        return objects
    return content


def to_dict(values: dict[str, Any], left_out: LeftOut | None = None) -> Dict:
    """Return a dict of plain data as a message.

    Args:
        values: By name.
        left_out: Told the name of what is no plain data, here or in dicts within, and why; that is
            left out, with its mask, if it is of an info. Without this it is a `TypeError`.
    """
    entries, masks = [], set()
    for name, value in values.items():
        try:
            entries.append(Entry(name=name, value=to_value(value, left_out, name)))
        except (TypeError, ValueError) as error:
            if left_out is None:
                raise TypeError(f"{name}: {error}") from error
            left_out(str(name), str(error))
            masks.add(f"_{name}")
    return Dict(entries=[entry for entry in entries if entry.name not in masks])


def from_dict(message: Dict) -> dict[str, Any]:
    """Return a dict of plain data."""
    return {entry.name: from_value(entry.value) for entry in message.entries}


_CONVERSIONS: list[tuple[Any, Callable[[Any], Value]]] = [
    (bool, lambda value: Value(flag=value)),
    (int, lambda value: Value(integer=value)),
    (float, lambda value: Value(number=value)),
    (str, lambda value: Value(text=value)),
    (bytes, lambda value: Value(blob=value)),
    (type(None), lambda _: Value(nothing=Nothing())),
]


def to_space(space: gym.Space[Any]) -> Space:
    """Return a space of arrays as a message.

    Raises:
        UnsupportedError: It is another kind of space.
    """
    spaces = gym.spaces
    if isinstance(space, spaces.Discrete):
        dtype = np.dtype(space.dtype).str
        return Space(discrete=Discrete(n=int(space.n), start=int(space.start), dtype=dtype))
    if isinstance(space, spaces.Box):
        return Space(box=Box(low=to_array(space.low), high=to_array(space.high)))
    if isinstance(space, spaces.MultiDiscrete) and not np.any(space.start):
        return Space(multi_discrete=to_array(space.nvec))
    if isinstance(space, spaces.MultiBinary):
        return Space(multi_binary=MultiBinary(shape=space.shape))
    raise UnsupportedError(f"{space} cannot be served: it is no Box, Discrete or Multi...")


def from_space(message: Space) -> gym.Space[Any]:
    """Return a space."""
    kind = message.WhichOneof("kind")
    if kind == "discrete":
        discrete = message.discrete
        start, dtype = int(discrete.start), np.dtype(discrete.dtype).type
        return gym.spaces.Discrete(int(discrete.n), start=start, dtype=dtype)
    if kind == "box":
        low, high = from_array(message.box.low), from_array(message.box.high)
        return gym.spaces.Box(low, high, dtype=low.dtype.type)
    if kind == "multi_discrete":
        counts = from_array(message.multi_discrete)
        return gym.spaces.MultiDiscrete(counts, dtype=counts.dtype.type)
    if kind == "multi_binary":
        shape = tuple(message.multi_binary.shape)
        return gym.spaces.MultiBinary(shape[0] if len(shape) == 1 else shape)
    raise ValueError("the server's space is of a kind that this version does not know")
