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
    """

    def __init__(self, num_envs: int, batch_size: int) -> None:
        self.kind: str | None = None
        self.count = 0
        self.turn: list[int] | None = None
        self.was_reset = self.has_failed = False
        self._num_envs, self._batch_size = num_envs, batch_size
        self._begun = 0
        self._busy = np.zeros(num_envs, bool)

    def check_idle(self, call: str) -> None:
        """Refuse a call that needs all envs on the ground."""
        if self.kind is not None:
            way = "reset_wait" if self.kind == "reset" else "recv"
            if self.has_failed:
                way = f"restart_workers, as an env has failed, then {way}"
            elif self.count < self._batch_size < self._num_envs:
                way = f"send for {self._batch_size - self.count} more envs, then {way}"
            raise PendingStepError(f"{call}: a {self.kind} is pending; call {way} first")

    def check_was_reset(self, call: str) -> None:
        """Refuse a call before the first reset."""
        if not self.was_reset:
            raise ResetNeededError(f"{call}: call reset first")

    def check_step(self, env_ids: Sequence[int] | None) -> None:
        """Refuse a step of envs that are in flight, or were never reset."""
        self.check_was_reset("send")
        if env_ids is None:
            self.check_idle("send")
        elif self.kind is not None and self._busy[env_ids].any():
            busy = [index for index in env_ids if self._busy[index]]
            raise PendingStepError(f"send: envs {busy} are in flight; receive them first")

    def begin(self, kind: str, env_ids: Sequence[int] | None) -> None:
        """Note that envs (`None`: all) were sent off."""
        self.kind = kind
        if env_ids is None:
            self.count = self._begun = self._num_envs
            self._busy.fill(True)
            self.was_reset = True
        else:
            self.count += len(env_ids)
            self._begun = self.count
            self._busy[env_ids] = True

    def check_recv(self) -> int:
        """Return how many envs `recv` has to wait for, after refusing what would never come."""
        if self.count == 0:
            raise NoPendingStepError("recv: nothing was sent")
        if self._batch_size == self._num_envs:
            if self.kind == "reset":
                raise NoPendingStepError("recv: a reset is pending; call reset_wait")
            return self.count
        if self.count < self._batch_size:
            raise NoPendingStepError(
                f"recv: {self.count} envs are in flight, a batch takes {self._batch_size}; send"
                " for others first, named by env_id"
            )
        return self._batch_size

    def next_count(self, sent: int) -> int:
        """Return how many envs the next `recv` gives, once `sent` more are in flight."""
        count = self.count + sent
        return count if self._batch_size == self._num_envs else min(count, self._batch_size)

    def check_reset_wait(self) -> int:
        """Return how many envs a reset is to wait for."""
        if self.kind != "reset" or self.count < self._begun:
            raise NoPendingStepError("reset_wait: no reset is pending, or recv has taken of it")
        return self.count

    def end(self, env_ids: np.ndarray) -> None:
        """Note that envs were received."""
        self.count -= len(env_ids)
        self.has_failed = False
        if len(env_ids) < self._num_envs:
            self._busy[env_ids] = False
            self.turn = env_ids.tolist()
        else:
            self._busy.fill(False)
            self.turn = None
        if self.count == 0:
            self.kind = None
