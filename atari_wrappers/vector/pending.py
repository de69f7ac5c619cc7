"""The order of calls: which envs of a batch are in flight, and with what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atari_wrappers.errors import NoPendingStepError, PendingStepError, ResetNeededError


class PendingCalls:
    """Knows what was begun and not yet received.

    Attributes:
        kind: `"step"` or `"reset"`; `None` when nothing is in flight.
        count: How many envs are.
        turn: Whose actions the next step takes: the envs received last; `None` for all.
        was_reset: Whether a reset of all envs was begun once.
        has_failed: Whether an env of what is in flight has failed.
        has_out: Whether it was said where the next results go.

    Args:
        num_envs: Envs in the batch.
        batch_size: Envs per `recv`.
        resets_by_hand: Whether ended envs wait for a reset.
    """

    def __init__(self, num_envs: int, batch_size: int, *, resets_by_hand: bool) -> None:
        self.kind: str | None = None
        self.count = 0
        self.turn: list[int] | None = None
        self.was_reset = self.has_failed = self.has_out = False
        self.num_envs = num_envs
        self._batch_size, self._resets_by_hand = batch_size, resets_by_hand
        self._begun = 0
        self._busy = np.zeros(num_envs, bool)
        self._ended = np.zeros(num_envs, bool)

    def check_idle(self, call: str) -> None:
        """Refuse a call that needs all envs on the ground."""
        if self.kind is not None:
            way = "reset_wait" if self.kind == "reset" else "recv"
            if self.has_failed:
                way = f"restart_workers, as an env has failed, then {way}"
            elif self.count < self._batch_size < self.num_envs:
                way = f"send for {self._batch_size - self.count} more envs, then {way}"
            raise PendingStepError(f"{call}: a {self.kind} is pending; call {way} first")

    def check_was_reset(self, call: str) -> None:
        """Refuse a call before the first reset."""
        if not self.was_reset:
            raise ResetNeededError(f"{call}: call reset first")

    def check_step(self, env_ids: Sequence[int] | None, call: str) -> None:
        """Refuse a step of envs that are in flight, were never reset, or wait for a reset."""
        self.check_was_reset(call)
        if env_ids is None:
            self.check_idle(call)
        elif self.kind is not None and self._busy[env_ids].any():
            busy = [index for index in env_ids if self._busy[index]]
            raise PendingStepError(f"{call}: envs {busy} are in flight; receive them first")
        if self._resets_by_hand:
            chosen = np.arange(self.num_envs) if env_ids is None else np.asarray(env_ids)
            ended = chosen[self._ended[chosen]].tolist()
            if ended:
                raise ResetNeededError(
                    f"{call}: envs {ended} need a reset, as their episodes have ended;"
                    " reset has a `mask`"
                )

    def begin(self, kind: str, env_ids: Sequence[int] | None, *, has_out: bool) -> None:
        """Note that envs (`None`: all) were sent off."""
        self.kind = kind
        self.has_out = self.has_out or has_out
        if env_ids is None:
            self.count = self._begun = self.num_envs
            self._busy.fill(True)
            self.was_reset = True
        else:
            self.count += len(env_ids)
            self._begun = self.count
            self._busy[env_ids] = True

    def check_recv(self, call: str) -> int:
        """Return how many envs a receiving call has to wait for; refuse what would never come."""
        if self.count == 0:
            raise NoPendingStepError(f"{call}: nothing was sent", "step")
        is_whole = self._batch_size == self.num_envs
        if self.kind == "reset" and (is_whole or self.has_out):
            raise NoPendingStepError(f"{call}: a reset is pending; call reset_wait", "step")
        if is_whole:
            return self.count
        if self.count < self._batch_size:
            raise NoPendingStepError(
                f"{call}: {self.count} envs are in flight, a batch takes {self._batch_size}; send"
                " for others first, named by env_id",
                "step",
            )
        return self._batch_size

    def rows_after(self, sent: int | None, call: str) -> int:
        """Return how many rows the next results have, once `sent` (`None`: all) are in flight too.

        They are only known, and `out` can only be given, with the last of the envs.
        """
        count = self.num_envs if sent is None else self.count + sent
        if self._batch_size < self.num_envs and count < self._batch_size:
            raise ValueError(
                f"{call}: give `out` with the envs that complete a batch of {self._batch_size},"
                f" not with {count}"
            )
        return count if self._batch_size == self.num_envs else self._batch_size

    def check_out(self, call: str, *, is_given: bool) -> None:
        """Refuse another `out` than the one that waits for results, and other rows than it has."""
        if self.has_out and (is_given or self._batch_size == self.num_envs):
            raise PendingStepError(f"{call}: results are to fill the `out` given before; call recv")

    def check_reset_wait(self) -> int:
        """Return how many envs a reset is to wait for."""
        if self.kind != "reset" or self.count < self._begun:
            raise NoPendingStepError(
                "reset_wait: no reset is pending, or recv has taken of it", "reset"
            )
        return self.count

    def end(
        self, count: int, env_ids: np.ndarray, terminated: np.ndarray, truncated: np.ndarray
    ) -> None:
        """Note that `count` envs were received, the rows of their results, and what had ended."""
        self.count -= count
        self.has_failed = self.has_out = False
        if self._resets_by_hand:  # else nobody asks
            self._ended[env_ids] = terminated | truncated
        if len(env_ids) < self.num_envs:
            self._busy[env_ids] = False
            self.turn = env_ids.tolist()
        else:
            self._busy.fill(False)
            self.turn = None
        if self.count == 0:
            self.kind = None
