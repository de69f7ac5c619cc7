"""What the host and its workers say to each other over pipes, as bytes.

A frame is a head of fixed size and a payload. A step of a whole block of envs is a bare head each
way: its actions and results lie in shared memory (`memory`).
"""

from __future__ import annotations

import contextlib
import enum
import os
import pickle
import struct
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from atari_wrappers.backends.restarts import EnvFailure, summary
from atari_wrappers.errors import UnsupportedError

# Kind, buffer of observations, env, bytes of the payload.
_HEAD = struct.Struct("<HHIQ")


class Kind(enum.IntEnum):
    """What a frame says; the first are the host's, the others a worker's."""

    ATTACH = 1  # the shared memory has its size: `(space, action_space, seeds)`
    STEP = 2  # step every env of the worker, and answer with one DONE
    STEP_EACH = 3  # step the envs of the payload (int32), a READY for each
    RESET = 4  # reset envs, a READY for each: `([(env, seed), ...], pickled options)`
    REPLACE = 5  # restart an env: its seed
    ASK = 6  # `(method of EnvRunner, {env: pickled arguments})`, which brings an ANSWER

    MADE = 11  # an env was made: its spaces, if they are other ones than those told before
    DONE = 12  # what STEP asked for: `{env: pickled extras}`, if there are any
    READY = 13  # an env's row is written: its extras, if there are any
    FAILED = 14  # an env raised: a `Failure`
    ANSWER = 15  # `{env: pickled value, or a Failure}`


class Frame(NamedTuple):
    """One message."""

    kind: int
    buffer: int
    env: int
    payload: bytes


def frame(kind: Kind, *, env: int = 0, buffer: int = 0, payload: bytes = b"") -> bytes:
    """Return a frame's bytes."""
    return _HEAD.pack(kind, buffer, env, len(payload)) + payload


# Bytes that a pipe is read by.
CHUNK = 1 << 16
# What a worker answers to nearly every step.
DONE = frame(Kind.DONE)


def write_all(fd: int, data: bytes) -> None:
    """Write to a pipe that blocks; it is a `BrokenPipeError` that the other side is gone."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


class Inbox:
    """Frames out of the pieces in which a pipe delivers them."""

    def __init__(self) -> None:
        self._data = bytearray()

    def __len__(self) -> int:
        return len(self._data)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take a piece and give the frames that it completes."""
        self._data += data
        while len(self._data) >= _HEAD.size:
            kind, buffer, env, size = _HEAD.unpack_from(self._data)
            end = _HEAD.size + size
            if len(self._data) < end:
                return
            payload = bytes(self._data[_HEAD.size : end])
            del self._data[:end]
            yield Frame(kind, buffer, env, payload)


def dumps(value: Any, what: str) -> bytes:
    """Pickle what goes to another process; if that cannot be, an `UnsupportedError` names it."""
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise UnsupportedError(f"{what} cannot be sent to another process: {error}") from error


@dataclass(frozen=True, slots=True)
class Failure:
    """What an env raised, in a form that every pipe can carry.

    Attributes:
        summary: The error's type and message.
        traceback: Where in the worker it was raised.
        pickled: The error itself, `None` if it cannot be pickled.
    """

    summary: str
    traceback: str
    pickled: bytes | None

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Describe an error."""
        try:
            pickled = pickle.dumps(error)
            pickle.loads(pickled)  # an error whose constructor takes more than a message cannot
        except Exception:
            pickled = None
        lines = traceback.format_exception(error)
        return cls(summary(error), "".join(lines).rstrip(), pickled)

    def of_env(self, index: int, worker: str, doing: str) -> EnvFailure:
        """Tell which env raised, and the error itself if this process can make it again."""
        cause = None
        with contextlib.suppress(Exception):
            cause = None if self.pickled is None else pickle.loads(self.pickled)
        text = f"env {index} raised {self.summary} in {doing} ({worker})"
        return EnvFailure(text, doing, self.traceback, cause)
