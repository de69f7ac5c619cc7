"""What goes wrong: each is Gymnasium's error for the case, and a builtin one."""

from __future__ import annotations

from gymnasium import error


class ClosedError(error.ClosedEnvironmentError, RuntimeError):
    """The environment was used after `close`."""


class ResetNeededError(error.ResetNeeded, RuntimeError):
    """A step came before the first reset, or after the end of an episode."""


class PendingStepError(error.AlreadyPendingCallError, RuntimeError):
    """A call came before the results of the last step were received."""


class NoPendingStepError(error.NoAsyncCallError, RuntimeError):
    """`recv` was called without a `send` before it."""


class UnsupportedError(ValueError):
    """The environment cannot do what was asked."""
