"""The exceptions of this package, and how it warns.

Each exception is a builtin one, and also gymnasium's if it has one for the case: callers may catch
either.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from collections.abc import Sequence
from types import FrameType

from gymnasium import error


class UnknownEnvError(error.UnregisteredEnv, ValueError):
    """No environment is registered under this id; the message keeps gymnasium's suggestion."""


class MissingRomError(FileNotFoundError):
    """The game's ROM is missing; the message says where it was looked for, and what to do."""


class UnsupportedError(ValueError):
    """The backend, env or library cannot do what was asked; the message names what can."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """The backend has no attribute of this name; `hasattr` is then false."""


class NotAnEnvError(TypeError):
    """A callable that should make or wrap an env returned something else."""


class ClosedError(error.ClosedEnvironmentError, RuntimeError):
    """The environment was used after `close`, or after the failure that closed it."""


class ResetNeededError(error.ResetNeeded, RuntimeError):
    """A call came before the first `reset` of all envs, or stepped an env that has ended."""


class PendingStepError(error.AlreadyPendingCallError, RuntimeError):
    """A call came before the results of the last step or reset were received."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "step")


class NoPendingStepError(error.NoAsyncCallError, RuntimeError):
    """`recv` was called without a `send` before it, or `reset_wait` without a `reset_async`."""

    def __init__(self, message: str, name: str = "step") -> None:
        super().__init__(message, name)


class StepTimeoutError(multiprocessing.TimeoutError, TimeoutError):
    """A step or reset was not ready in time; it continues, and you can wait for it again."""


class WorkerError(RuntimeError):
    """An env failed, or its process died or hangs.

    The batch stays open and keeps the results of the other envs: `restart_workers` restarts the
    failed ones, and `recv` (`reset_wait` after a reset) then returns the whole result.

    Attributes:
        reason: What went wrong, without the remedy and the traceback.
        env_indices: The envs that failed.
        doing: What they were doing, such as `step 17 with action 3`.
        remote_traceback: Where in the worker it happened, if that is known.
    """

    def __init__(
        self,
        message: str,
        env_indices: Sequence[int] = (),
        doing: str = "",
        remote_traceback: str | None = None,
        remedy: str = "",
    ) -> None:
        traceback = "" if remote_traceback is None else f"\n\n{remote_traceback}"
        super().__init__(f"{message}{remedy}{traceback}")
        self.reason = message
        self.env_indices: list[int] = list(env_indices)
        self.doing = doing
        self.remote_traceback = remote_traceback


class ServerError(ConnectionError):
    """A server cannot be reached, refuses this client, or went away; the message says which.

    Attributes:
        is_absent: Whether nobody listens at the address.
    """

    is_absent: bool = False


def warn(message: str) -> None:
    """Warn at the line from which this package was called."""
    frame: FrameType | None = sys._getframe(0)
    depth = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("atari_wrappers"):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, stacklevel=depth)
