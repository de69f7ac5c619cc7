"""States as bytes: values and arrays, nothing that runs when it is read.

A file of them is a first line that says so, a digest of the rest, a line of JSON, and the arrays'
memory. What was damaged, or is of another kind or version, is told before anything is used.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

_MAGIC = b"atari_wrappers state\n"
_DIGEST_BYTES = 32
_ARRAY, _BYTES = "__array__", "__bytes__"


def pack(kind: str, version: int, values: dict[str, Any]) -> bytes:
    """Return values as bytes: a state of some kind, by a version of what the values mean.

    They are numbers, strings, `None`, bytes, numpy arrays, and lists and dicts of these.
    """
    blobs: list[bytes] = []

    def put_aside(value: Any) -> Any:
        """Return what tells where among `blobs` a value went that JSON has no form for."""
        if isinstance(value, np.generic):
            return value.item()
        is_array = isinstance(value, np.ndarray)
        if not is_array and not isinstance(value, bytes):
            raise TypeError(f"a {type(value).__name__} is no plain data")
        if is_array and value.dtype.kind not in "biuf":
            raise TypeError(f"an array of {value.dtype} is no plain data")
        offset = sum(map(len, blobs))
        blobs.append(value.tobytes() if is_array else value)
        if is_array:
            return {_ARRAY: [offset, value.dtype.str, list(value.shape)]}
        return {_BYTES: [offset, len(value)]}

    content = {"kind": kind, "version": version, "values": values}
    body = b"".join((json.dumps(content, default=put_aside).encode(), b"\n", *blobs))
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(kind: str, version: int, data: bytes) -> dict[str, Any]:
    """Return what was packed; lists for tuples, and arrays that can be written to.

    Raises:
        ValueError: It is something else, damaged, or of another kind or version.
    """
    if not isinstance(data, bytes) or not data.startswith(_MAGIC):
        found = f"{data[:20]!r}..." if isinstance(data, bytes) else _a(type(data).__name__)
        raise ValueError(f"this is no state of {_a(kind)}, but {found}")
    start = len(_MAGIC) + _DIGEST_BYTES
    body = memoryview(data)[start:]
    if hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise ValueError(f"this state of {_a(kind)} is damaged: its {len(data)} bytes have changed")
    header, _, _ = data[start:].partition(b"\n")
    blobs = body[len(header) + 1 :]

    def take_back(value: dict[str, Any]) -> Any:
        if value.keys() == {_BYTES}:
            offset, size = value[_BYTES]
            return bytes(blobs[offset : offset + size])
        if value.keys() == {_ARRAY}:
            offset, dtype, shape = value[_ARRAY]
            return np.frombuffer(blobs, dtype, int(np.prod(shape)), offset).reshape(shape).copy()
        return value

    try:
        packed = json.loads(header, object_hook=take_back)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"this state of {_a(kind)} has an array that is none: {error}") from error
    if not isinstance(packed, dict) or not isinstance(packed.get("values"), dict):
        raise ValueError(f"this is no state of {_a(kind)}: it has no values")
    for name, expected in (("kind", kind), ("version", version)):
        theirs = packed.get(name)
        if theirs != expected:
            raise ValueError(
                f"this is no state of {_a(kind)}: {name}={theirs!r} instead of {expected!r}"
            )
    values: dict[str, Any] = packed["values"]
    return values


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

    Those in lists and dicts, too; `...` among ours stands for any. The error calls them `name`.
    """
    if ours is ...:
        return
    found, expected = _form(theirs), _form(ours)
    if found != expected:
        raise ValueError(f"{name} is {found} instead of {expected}")
    if isinstance(ours, dict | list):
        for key in ours if isinstance(ours, dict) else range(len(ours)):
            check_alike(f"{name}.{key}", theirs[key], ours[key])


def _form(value: Any) -> str:
    """Say of what form a value is, without its numbers."""
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype} {list(value.shape)}"
    if isinstance(value, dict):
        return f"a dict of {', '.join(sorted(map(str, value)))}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return _a(type(value.item() if isinstance(value, np.generic) else value).__name__)


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
