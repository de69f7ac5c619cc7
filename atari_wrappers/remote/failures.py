"""Exceptions as messages, and back: what a server's batch raises, its client raises, too."""

from __future__ import annotations

from atari_wrappers.errors import (
    ClosedError,
    NoPendingStepError,
    PendingStepError,
    ResetNeededError,
    StepTimeoutError,
    UnsupportedError,
    WorkerError,
)
from atari_wrappers.remote.batches_pb2 import Failure


class RemoteEnvError(RuntimeError):
    """An env on the server raised an exception that is none of this package's."""


_KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        *(ClosedError, NoPendingStepError, PendingStepError, ResetNeededError, StepTimeoutError),
        *(UnsupportedError, ValueError, TypeError),
    )
}


def to_failure(error: Exception) -> Failure:
    """Return an exception as a message."""
    if isinstance(error, WorkerError):
        return Failure(
            kind="WorkerError",
            message=str(error),
            env_ids=error.env_indices,
            reason=error.reason,
            doing=error.doing,
            traceback=error.remote_traceback or "",
        )
    for kind in type(error).__mro__:
        if kind.__name__ in _KINDS:
            return Failure(kind=kind.__name__, message=str(error))
    return Failure(kind="RemoteEnvError", message=f"{type(error).__name__}: {error}")


def from_failure(failure: Failure) -> Exception:
    """Return the exception."""
    if failure.kind == "WorkerError":
        error = WorkerError(failure.message, list(failure.env_ids), failure.doing)
        error.reason, error.remote_traceback = failure.reason, failure.traceback or None
        return error
    return _KINDS.get(failure.kind, RemoteEnvError)(failure.message)
