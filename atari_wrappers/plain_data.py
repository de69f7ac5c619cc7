"""States as bytes: values and arrays, nothing that runs when it is read.

A file of them is a first line that says so, a digest of the rest, a line of JSON, and the arrays'
memory. What was damaged, or is of another kind or version, is told before anything is used.
"""

from __future__ import annotations

import hashlib
import json
from math import inf
from typing import Any

import numpy as np

_MAGIC = b"atari_wrappers state\n"
_DIGEST_BYTES = 32
_ARRAY, _BYTES = "__array__", "__bytes__"


def pack(kind: str, version: int, values: dict[str, Any]) -> bytes:
    """Return values as bytes.

    Args:
        kind: What they are a state of.
        version: Of what the values mean.
        values: Numbers, strings, `None`, bytes, numpy arrays, and lists and dicts of these.
    """
    blobs: list[bytes] = []
    header = json.dumps(
        {"kind": kind, "version": version, "values": _without_blobs(values, blobs)}
    ).encode()
    body = b"".join((header, b"\n", *blobs))
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(kind: str, version: int, data: bytes) -> dict[str, Any]:
    """Return what was packed; lists for tuples, and arrays that can be written to.

    Raises:
        ValueError: It is something else, damaged, or of another kind or version.
    """
    if not isinstance(data, bytes) or not data.startswith(_MAGIC):
        raise ValueError(f"this is no state of {_a(kind)}, but {_excerpt(data)}")
    start = len(_MAGIC) + _DIGEST_BYTES
    body = memoryview(data)[start:]
    if hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise ValueError(f"this state of {_a(kind)} is damaged: its {len(data)} bytes have changed")
    header, _, _ = data[start:].partition(b"\n")
    packed = json.loads(header)
    if not isinstance(packed, dict) or not isinstance(packed.get("values"), dict):
        raise ValueError(f"this is no state of {_a(kind)}: it has no values")
    for name, expected in (("kind", kind), ("version", version)):
        found = packed.get(name)
        if found != expected:
            raise ValueError(
                f"this is no state of {_a(kind)}: {name}={found!r} instead of {expected!r}"
            )
    try:
        return _with_blobs(packed["values"], body[len(header) + 1 :])
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"this state of {_a(kind)} has an array that is none: {error}") from error


def differences(theirs: Any, ours: dict[str, Any]) -> str:
    """Say in which of our values another's differ, such as `mode=1 instead of 0`; `""` in none."""
    if not isinstance(theirs, dict):
        return f"{theirs!r} instead of {ours!r}"
    return ", ".join(
        f"{name}={theirs.get(name)!r} instead of {value!r}"
        for name, value in ours.items()
        if theirs.get(name) != value
    )


def check_alike(name: str, theirs: Any, ours: Any) -> None:
    """Refuse values whose names, types, or array's dtypes and shapes are not those of ours.

    Args:
        name: What the message calls them, such as `rules`.
        theirs: The values to check, those in lists and dicts too.
        ours: Such values; `...` for any.

    Raises:
        ValueError: They are others.
    """
    if ours is ...:
        return
    found, expected = _form(theirs), _form(ours)
    if found != expected:
        raise ValueError(f"{name} is {found} instead of {expected}")
    if isinstance(ours, dict | list):
        for key in ours if isinstance(ours, dict) else range(len(ours)):
            check_alike(f"{name}.{key}", theirs[key], ours[key])


def check_range(name: str, value: float, low: float, high: float = inf) -> None:
    """Refuse a number out of range.

    Raises:
        ValueError: It is none from `low` to `high`.
    """
    if not low <= value <= high:
        raise ValueError(f"{name} must lie in [{low}, {high}], not {value}")


def _form(value: Any) -> str:
    """Say of what form a value is, without its numbers."""
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype} {list(value.shape)}"
    if isinstance(value, dict):
        return f"a dict of {', '.join(sorted(map(str, value)))}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return _a(type(value.item() if isinstance(value, np.generic) else value).__name__)


def _excerpt(data: Any) -> str:
    return f"{data[:20]!r}..." if isinstance(data, bytes) else _a(type(data).__name__)


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _without_blobs(value: Any, blobs: list[bytes]) -> Any:
    """Return `value` for JSON: of each array what tells where among `blobs` it went."""
    if isinstance(value, dict):
        return {name: _without_blobs(item, blobs) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_blobs(item, blobs) for item in value]
    if not isinstance(value, bytes | np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    offset = sum(map(len, blobs))
    if isinstance(value, bytes):
        blobs.append(value)
        return {_BYTES: [offset, len(value)]}
    if value.dtype.kind not in "biuf":
        raise TypeError(f"an array of {value.dtype} is no plain data")
    blobs.append(value.tobytes())
    return {_ARRAY: [offset, value.dtype.str, list(value.shape)]}


def _with_blobs(value: Any, blobs: memoryview) -> Any:
    if isinstance(value, list):
        return [_with_blobs(item, blobs) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_BYTES}:
        offset, size = value[_BYTES]
        return bytes(blobs[offset : offset + size])
    if value.keys() == {_ARRAY}:
        offset, dtype, shape = value[_ARRAY]
        count = int(np.prod(shape))
        return np.frombuffer(blobs, dtype, count, offset).reshape(shape).copy()
    return {name: _with_blobs(item, blobs) for name, item in value.items()}
