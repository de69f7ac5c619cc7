"""How long a batch is open, and whose turn it is there: what closes it, and what leaves it open."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from atari_wrappers import forks
from atari_wrappers.backends import Backend
from atari_wrappers.errors import ClosedError, PendingStepError, UnsupportedError, WorkerError
from atari_wrappers.vector.order import CallOrder

_T = TypeVar("_T")


class Lifetime:
    """An open backend; every call of a batch has its turn there, from its first check to its end.

    A turn is a `with` block. A backend serves one thread at a time: a turn during another thread's
    is refused and changes nothing, and `close` waits for it. A signal handler may close the batch
    within a turn.

    An interrupt within a turn, such as Ctrl-C, closes nothing: the next turn brings the backend to
    rest and forgets what was in flight, and the order of calls asks for a reset of all envs.

    Args:
        backend: A backend that was just started.
        order: What knows the order of calls.
        name: What errors call the batch.

    Attributes:
        backend: It.
        order: Likewise.
        closed: Whether the batch was closed, by its owner or by a failure.
    """

    def __init__(self, backend: Backend, order: CallOrder, name: str) -> None:
        self.backend, self.order = backend, order
        self.closed = False
        self._name, self._owner = name, os.getpid()
        self._failure: BaseException | None = None
        self._is_interrupted = False
        self._turn = threading.RLock()
        forks.watch(self)

    def __enter__(self) -> None:
        """Keep other threads out of the backend, which is open and, after an interrupt, at rest."""
        if not self._turn.acquire(blocking=False):
            raise PendingStepError(
                f"another thread is in a call of {self._name}, which serves one thread at a time"
            )
        if self.closed or self._is_interrupted:
            try:
                self.expect_open()
                self.backend.recover()
                self._is_interrupted = False
            except BaseException:
                self._turn.release()
                raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let other threads in."""
        if error is not None and not isinstance(error, Exception):
            self._is_interrupted = True
            self.order.note_interrupt(error)
        self._turn.release()

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

    def do(self, call: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
        """Have the backend move envs; the batch is closed if it fails and these are out of step."""
        try:
            return call(*args, **kwargs)
        except (TimeoutError, UnsupportedError, WorkerError):
            raise  # nothing was begun, or what was can be received later
        except Exception as error:
            self._failure, self.closed = error, True
            try:
                self.backend.close(terminate=True)
            finally:  # what closing may raise is not what went wrong
                raise error

    def close(self) -> None:
        """Free everything; a second call does nothing. A pending step is given up."""
        with self._turn:
            if not self.closed:
                self.closed = True
                is_busy = self._is_interrupted or self.backend.ticket.kind is not None
                self.backend.close(terminate=is_busy)
