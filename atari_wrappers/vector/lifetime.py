"""How long a batch is open: what closes it, what leaves it open, and how failed envs come back."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from atari_wrappers import forks
from atari_wrappers.backends import Backend
from atari_wrappers.backends.base import Reset, StepResult
from atari_wrappers.errors import ClosedError, PendingStepError, UnsupportedError, WorkerError
from atari_wrappers.vector.checks import checked_indices
from atari_wrappers.vector.pending import PendingCalls

_T = TypeVar("_T")


class Lifetime:
    """An open backend, and what is in flight there; every call of it goes through here.

    A backend serves one thread at a time: a call during another thread's is refused and changes
    nothing, and `close` waits for it. A signal handler may close the batch within a call.

    Args:
        backend: A backend that was just started.
        pending: What knows the order of calls.
        name: What errors call the batch.

    Attributes:
        backend: It.
        pending: Likewise.
        closed: Whether the batch was closed, by its owner or by a failure.
    """

    def __init__(self, backend: Backend, pending: PendingCalls, name: str) -> None:
        self.backend, self.pending = backend, pending
        self.closed = False
        self._name, self._owner = name, os.getpid()
        self._failure: BaseException | None = None
        self._turn = threading.RLock()
        forks.watch(self)

    def after_fork(self) -> None:
        """Leave the batch to the process that made it, unless its envs are Python objects here."""
        self._turn = threading.RLock()  # whoever had it is not in this process
        if not self.closed and self.backend.after_fork():
            self.closed = True
            self._failure = ClosedError(f"a fork: only process {self._owner} can use it")

    def expect_open(self) -> None:
        """Refuse what a closed batch cannot do."""
        if self.closed:
            reason = "" if self._failure is None else f" after {self._failure!r}"
            raise ClosedError(f"{self._name} was closed{reason}") from self._failure

    def take_turn(self) -> None:
        """Keep other threads out of the backend, until `end_turn`."""
        if not self._turn.acquire(blocking=False):
            raise PendingStepError(
                f"another thread is in a call of {self._name}, which serves one thread at a time"
            )

    def end_turn(self) -> None:
        """Let other threads in."""
        self._turn.release()

    def reset(self, reset: Reset) -> None:
        """Begin to restart envs; the batch is closed if that fails."""
        with _ClosingOnFailure(self):
            self.backend.reset(reset)
            self.pending.begin("reset", reset.indices, has_out=reset.out is not None)

    def send(
        self, actions: np.ndarray, indices: Sequence[int] | None, out: np.ndarray | None
    ) -> None:
        """Begin a step of the envs named (`None`: all); the batch is closed if that fails."""
        with _ClosingOnFailure(self):
            self.backend.send(actions, indices, out)
            self.pending.begin("step", indices, has_out=out is not None)

    def recv(
        self, count: int, out: np.ndarray | None, timeout: float | None, *, every: bool = False
    ) -> StepResult:
        """Wait for envs that were begun with, as `Backend.recv` does."""
        with _ClosingOnFailure(self):
            result = self.backend.recv(count, out, timeout, every=every)
            self.pending.end(count, result[4]["env_id"], result[2], result[3])
            return result

    def ask(self, call: Callable[..., _T], *args: Any) -> _T:
        """Call what moves no env: it may fail and leave the batch open, unless interrupted."""
        self.take_turn()
        try:
            return call(*args)
        except Exception:
            raise
        except BaseException as error:
            self.fail(error)
        finally:
            self.end_turn()

    def idle_indices(self, call: str, indices: Any) -> list[int]:
        """Return `indices` as a list, if the batch is open and none of its envs is in flight."""
        self.expect_open()
        self.pending.check_idle(call)
        return checked_indices(indices, self.pending.num_envs, from_end=True)

    def restart(self, indices: Any) -> list[int]:
        """Make failed envs anew (`None`: all that failed) and return which."""
        self.expect_open()
        chosen = None if indices is None else checked_indices(indices, self.pending.num_envs)
        with _ClosingOnFailure(self):
            return self.backend.restart(chosen)

    def close(self) -> None:
        """Free everything; a second call does nothing. A pending step is given up."""
        with self._turn:
            if not self.closed:
                self.closed = True
                self.backend.close(terminate=self.pending.kind is not None)

    def fail(self, error: BaseException) -> NoReturn:
        """Close the batch because of an error, and raise that."""
        self._failure = error
        self.closed = True
        try:
            self.backend.close(terminate=True)
        finally:  # what closing may raise is not what went wrong
            raise error


class _ClosingOnFailure:
    """Has a turn at a batch, which it closes after what leaves its rows out of step.

    A call and the note of it are in one such block: an interrupt between the two is such a thing.
    """

    def __init__(self, lifetime: Lifetime) -> None:
        self._lifetime = lifetime

    def __enter__(self) -> None:
        self._lifetime.take_turn()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        try:
            if error is None or isinstance(error, TimeoutError | UnsupportedError):
                return
            pending = self._lifetime.pending
            if isinstance(error, WorkerError):
                pending.has_failed = pending.kind is not None
            else:
                self._lifetime.fail(error)
        finally:
            self._lifetime.end_turn()
