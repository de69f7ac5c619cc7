"""How long a batch is open, and one thread at a time in it."""

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
    """How long a backend is open: until its owner closes it, it fails, or the process forks.

    Errors call it by a name.
    """

    closed: bool

    def __init__(self, backend: Backend, name: str) -> None:
        self.closed = False
        self._backend, self._name, self._owner = backend, name, os.getpid()
        self._failure: BaseException | None = None
        forks.watch(self)

    def after_fork(self) -> None:
        """Leave the batch to the process that made it, unless its envs are Python objects here."""
        if not self.closed and self._backend.after_fork():
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
            self._failure = error
            try:
                self.close(is_busy=True)
            finally:  # what closing may raise is not what went wrong
                raise error

    def close(self, *, is_busy: bool) -> None:
        """Free everything; a second call does nothing."""
        if not self.closed:
            self.closed = True
            self._backend.close(terminate=is_busy)


class Access:
    """A `with` block in which one thread uses an open batch, from a call's first check to its end.

    One during another thread's is refused and changes nothing; a signal handler may have one within
    another. After an interrupt such as Ctrl-C the next one brings the backend to rest first.
    """

    def __init__(self, lifetime: Lifetime, order: CallOrder, name: str) -> None:
        self._lifetime, self._order, self._name = lifetime, order, name
        self.lock: threading.RLock = threading.RLock()
        forks.watch(self)

    def after_fork(self) -> None:
        """Let anyone in: whoever was is not in this process."""
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        if not self.lock.acquire(blocking=False):
            raise PendingStepError(
                f"another thread is in a call of {self._name}, which serves one thread at a time"
            )
        if self._lifetime.closed or self._order.is_interrupted:
            try:
                self._lifetime.expect_open()
                self._order.recover()
            except BaseException:
                self.lock.release()
                raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, Exception):
            self._order.note_interrupt(error)
        self.lock.release()
