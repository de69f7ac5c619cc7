"""The exceptions of this package.

Each is at once gymnasium's exception for the case, where it has one, and the builtin that a caller
who knows no gymnasium would catch.
"""

from __future__ import annotations

from gymnasium import error


class UnknownEnvError(error.UnregisteredEnv, ValueError):
    """No environment is registered under this id; the message keeps gymnasium's suggestion."""


class UnsupportedError(ValueError):
    """The backend cannot do what was asked; the message names the one that can."""


class ClosedError(error.ClosedEnvironmentError, RuntimeError):
    """The environment was used after `close`, or after the failure that closed it."""


class ResetNeededError(error.ResetNeeded, RuntimeError):
    """A step was asked for before the first `reset`, or of an ended env that resets by hand."""


class PendingStepError(error.AlreadyPendingCallError, RuntimeError):
    """`send` or `reset` was called while an earlier `send` still waits for its `recv`."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "step")


class NoPendingStepError(error.NoAsyncCallError, RuntimeError):
    """`recv` was called without a `send` before it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "step")


class WorkerError(RuntimeError):
    """An env's worker process died, or raised what cannot be carried between processes."""
