"""The exceptions of this package, and how it warns.

Each exception is at once gymnasium's for the case, where it has one, and the builtin that a caller
who knows no gymnasium would catch.
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
    """The game's ROM is not there; the message says where it was looked for, and what to do."""


class UnsupportedError(ValueError):
    """The backend, env or library cannot do what was asked; the message names what can."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """The backend has nothing under this name, which `hasattr` is to find out without an error."""


class NotAnEnvError(TypeError):
    """What was to make or to wrap an env returned something else."""


class ClosedError(error.ClosedEnvironmentError, RuntimeError):
    """The environment was used after `close`, or after the failure that closed it."""


class ResetNeededError(error.ResetNeeded, RuntimeError):
    """A call came before the first `reset` of all envs, or a step of an env that has ended."""


class PendingStepError(error.AlreadyPendingCallError, RuntimeError):
    """A call came that must wait until the step or reset begun before it was received."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "step")


class NoPendingStepError(error.NoAsyncCallError, RuntimeError):
    """`recv` was called without a `send` before it, or `reset_wait` without a `reset_async`."""

    def __init__(self, message: str, name: str = "step") -> None:
        super().__init__(message, name)


class StepTimeoutError(multiprocessing.TimeoutError, TimeoutError):
    """What was waited for was not ready in time; it goes on, and can be waited for again."""


class WorkerError(RuntimeError):
    """An env failed, or the process that runs it died or hangs.

    The batch stays open, and what the other envs brought is kept: `restart_workers` makes the
    failed ones again, and `recv` (`reset_wait` after a reset) then gives the whole result.

    Attributes:
        reason: What went wrong, without what to do about it and without a traceback.
        env_indices: The envs that are lost.
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
        self.env_indices = list(env_indices)
        self.doing = doing
        self.remote_traceback = remote_traceback


def warn(message: str) -> None:
    """Warn at the line from which this package was called."""
    frame: FrameType | None = sys._getframe(0)
    depth = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("atari_wrappers"):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, stacklevel=depth)
