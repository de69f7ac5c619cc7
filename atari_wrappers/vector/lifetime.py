"""How long a batch is open: what closes it, what leaves it open, and how failed envs come back."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn, Self, TypeVar

from atari_wrappers.backends import Backend
from atari_wrappers.errors import ClosedError, UnsupportedError, WorkerError
from atari_wrappers.vector import forks
from atari_wrappers.vector.checks import checked_indices
from atari_wrappers.vector.pending import PendingCalls

_T = TypeVar("_T")


class Lifetime:
    """Methods of `VecEnv` that open, restart and close; all calls of its backend go through it.

    Attributes:
        closed: Whether the batch was closed, by its owner or by a failure.
    """

    num_envs: int
    closed: bool
    _backend: Backend
    _pending: PendingCalls
    _failure: BaseException | None = None

    def _open(self) -> None:
        """Begin with an open batch."""
        self.closed = False
        self._owner = os.getpid()
        forks.watch(self)

    def after_fork(self) -> None:
        """Leave the batch to the process that made it, unless its envs are Python objects here."""
        if not self.closed and self._backend.after_fork():
            self.closed = True
            self._failure = ClosedError(f"a fork: only process {self._owner} can use it")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise TypeError(
            f"{self} cannot be copied or pickled; make another one and bring it to the same state"
            " by save_state and restore_state"
        )

    @property
    def worker_pids(self) -> list[int]:
        """Ids of `async`'s worker processes, in the order of their envs; other backends have none.

        Raises:
            ClosedError: The batch was closed.
        """
        self._expect_open()
        return list(self._backend.worker_pids)

    def restart_workers(self, indices: Any = None) -> list[int]:
        """Make envs that failed anew, those named or all; `recv` then completes their step.

        Returns:
            Which envs were made anew. Envs that share a dead process go together.

        Raises:
            ClosedError: The batch was closed.
            WorkerError: It failed again.
        """
        self._expect_open()
        chosen = None if indices is None else checked_indices(indices, self.num_envs)
        return self._guard(self._backend.restart, chosen)

    def close(self, **kwargs: Any) -> None:
        """Free everything; a second call does nothing. A pending step is given up."""
        del kwargs
        if not self.closed:
            self.closed = True
            self._backend.close(terminate=self._pending.kind is not None)

    def __enter__(self) -> Self:
        """Return the batch, which is closed at the end of the `with` block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the batch."""
        self.close()

    def _expect_open(self) -> None:
        if self.closed:
            reason = "" if self._failure is None else f" after {self._failure!r}"
            raise ClosedError(f"{self} was closed{reason}") from self._failure

    def _guard(self, call: Callable[..., _T], *args: Any) -> _T:
        """Close the batch after what leaves its rows out of step."""
        try:
            return call(*args)
        except WorkerError:
            self._pending.has_failed = self._pending.kind is not None
            raise
        except (TimeoutError, UnsupportedError):
            raise
        except BaseException as error:
            self._fail(error)

    def _ask(self, call: Callable[..., _T], *args: Any) -> _T:
        """Call what steps no env: it may fail and leave the batch open, unless interrupted."""
        try:
            return call(*args)
        except Exception:
            raise
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> NoReturn:
        self._failure = error
        self.closed = True
        try:
            self._backend.close(terminate=True)
        finally:  # what closing may raise is not what went wrong
            raise error
