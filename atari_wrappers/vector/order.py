"""The order of calls: which may come now, by what is in flight and what came before.

An interrupt within a call, such as Ctrl-C, closes nothing: the backend is brought to rest, what was
in flight is forgotten, and a reset of all envs comes next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atari_wrappers.backends import Backend
from atari_wrappers.errors import NoPendingStepError, PendingStepError, ResetNeededError


class CallOrder:
    """Refuses calls out of order.

    With `resets_by_hand` ended envs wait for a reset.

    Attributes:
        turn: Whose actions the next step takes: the envs received last; `None` for all.
        was_reset: Whether a reset of all envs was begun, and no interrupt came since.
        is_interrupted: Whether the backend is yet to be brought to rest.
    """

    was_reset: bool
    is_interrupted: bool

    def __init__(
        self, backend: Backend, num_envs: int, batch_size: int, *, resets_by_hand: bool
    ) -> None:
        self.turn: list[int] | None = None
        self.was_reset = self.is_interrupted = False
        self._backend, self._ticket = backend, backend.ticket
        self._num_envs, self._batch_size = num_envs, batch_size
        self._is_whole = batch_size == num_envs
        self._resets_by_hand = resets_by_hand
        self._ended = np.zeros(num_envs, bool)
        self._interrupt: BaseException | None = None

    def check_idle(self, call: str) -> None:
        """Refuse a call that needs all envs on the ground."""
        kind, count = self._ticket.kind, self._ticket.count
        if kind is None:
            return
        way = "reset_wait" if kind == "reset" else "recv"
        if self._backend.failed:
            way = f"restart_workers, as an env has failed, then {way}"
        elif count < self._batch_size < self._num_envs:
            way = f"send for {self._batch_size - count} more envs, then {way}"
        other = "" if self._is_whole else ", or drop_pending"
        raise PendingStepError(f"{call}: a {kind} is pending; call {way} first{other}")

    def check_was_reset(self, call: str, need: str = "call reset first") -> None:
        """Refuse a call before the first reset, and before the first after an interrupt."""
        if not self.was_reset:
            why = "" if self._interrupt is None else f", as {self._interrupt!r} cut a call short"
            raise ResetNeededError(f"{call}: {need}{why}")

    def check_step(self, env_ids: Sequence[int] | None, call: str) -> None:
        """Refuse a step of envs that are in flight, were never reset, or wait for a reset."""
        self.check_was_reset(call)
        if env_ids is None:
            self.check_idle(call)
        elif self._ticket.kind is not None and (busy := self._ticket.busy(env_ids)):
            raise PendingStepError(f"{call}: envs {busy} are in flight; receive them first")
        if self._resets_by_hand:
            chosen = np.arange(self._num_envs) if env_ids is None else np.asarray(env_ids)
            ended = chosen[self._ended[chosen]].tolist()
            if ended:
                raise ResetNeededError(
                    f"{call}: envs {ended} need a reset, as their episodes have ended;"
                    " reset has a `mask`"
                )

    def check_out(self, call: str, *, is_given: bool) -> None:
        """Refuse another `out` than the one that waits for results, and other rows than it has."""
        if (is_given or self._is_whole) and self._ticket.out is not None:
            raise PendingStepError(f"{call}: results are to fill the `out` given before; call recv")

    def rows_after(self, sent: int | None, call: str) -> int:
        """Return how many rows the next results have, once `sent` (`None`: all) are in flight too.

        They are only known, and `out` can only be given, with the last of the envs.
        """
        count = self._count_with(sent)
        if self._is_whole:
            return count
        if count < self._batch_size:
            raise ValueError(
                f"{call}: give `out` with the envs that complete a batch of {self._batch_size},"
                f" not with {count}"
            )
        return self._batch_size

    def _count_with(self, sent: int | None) -> int:
        """Return how many envs are in flight once `sent` (`None`: all) are, too."""
        return self._num_envs if sent is None else self._ticket.count + sent

    def check_completes(self, sent: int | None, call: str) -> None:
        """Refuse a call that sends and receives where `sent` (`None`: all) complete no batch."""
        if not self._is_whole:
            self._check_count(self._count_with(sent), call)

    def _check_count(self, count: int, call: str) -> None:
        """Refuse to receive while too few envs for a batch are in flight."""
        if count < self._batch_size:
            raise NoPendingStepError(
                f"{call}: {count} envs are in flight, a batch takes {self._batch_size}; send"
                " for others first, named by env_id",
                "step",
            )

    def check_recv(self, call: str) -> int:
        """Return how many envs a receiving call has to wait for; refuse what would never come."""
        kind, count = self._ticket.kind, self._ticket.count
        if kind is None:
            raise NoPendingStepError(f"{call}: nothing was sent", "step")
        if kind == "reset" and (self._is_whole or self._ticket.out is not None):
            raise NoPendingStepError(f"{call}: a reset is pending; call reset_wait", "step")
        if self._is_whole:
            return count
        self._check_count(count, call)
        return self._batch_size

    def check_reset_wait(self) -> int:
        """Return how many envs a reset is to wait for."""
        if self._ticket.kind != "reset":
            raise NoPendingStepError(
                "reset_wait: no reset is pending, or recv has taken of it", "reset"
            )
        return self._ticket.count

    def note_received(
        self, env_ids: np.ndarray, terminated: np.ndarray, truncated: np.ndarray
    ) -> None:
        """Note whose results were received, and what had ended."""
        if self._resets_by_hand:  # else nobody asks
            self._ended[env_ids] = terminated | truncated
        self.turn = env_ids.tolist() if len(env_ids) < self._num_envs else None

    def note_interrupt(self, error: BaseException) -> None:
        """Note that an interrupt left envs anywhere."""
        self._interrupt, self.is_interrupted = error, True
        self.was_reset, self.turn = False, None

    def recover(self) -> None:
        """Bring the backend to rest after an interrupt, and forget what was in flight."""
        self._backend.recover()
        self.is_interrupted = False
