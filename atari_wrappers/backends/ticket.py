"""What is in flight. `native` has the core's account of it, under the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np


class EnvReset(NamedTuple):
    """What an env is asked that is to restart; any other is asked a step."""

    seed: int | None
    options: Any


class Ticket:
    """What a backend has begun and not given back; nobody else keeps account of it.

    Attributes:
        kind: What was begun and is waited for, `None` when nothing is in flight. What is left of a
            reset, once some of it was received, is received as of a step.
        out: Where the caller wants the next results, if that was said.
        asked: What each env in flight is to do, in the order in which they were begun.
        ready: Those that have done it, in the order in which they had.
    """

    kind: Literal["step", "reset"] | None
    out: np.ndarray | None
    asked: dict[int, Any]
    ready: list[int]

    def __init__(self, num_envs: int) -> None:
        self._num_envs = num_envs
        self.clear()

    def clear(self) -> None:
        """Have nothing in flight."""
        self.kind = self.out = None
        self.asked, self.ready = {}, []

    @property
    def count(self) -> int:
        """How many envs are in flight."""
        return len(self.asked)

    def busy(self, indices: Sequence[int]) -> list[int]:
        """Return those of the envs named that are in flight."""
        return [index for index in indices if index in self.asked]

    def begin(
        self, kind: Literal["step", "reset"], asked: dict[int, Any], out: np.ndarray | None
    ) -> None:
        """Put envs in flight, none of which is."""
        self.kind = kind
        self.asked = self.asked | asked if self.asked else asked
        if out is not None:
            self.out = out

    def receive(self, count: int) -> list[int] | None:
        """Take off the first `count` that are ready.

        Returns:
            Which: in the order in which they were begun if nothing else is in flight, and else in
            that in which they were ready. `None` for all envs, in their own order.
        """
        asked = self.asked
        if count == len(asked):
            self.clear()
            return None if count == self._num_envs else list(asked)
        received, self.ready = self.ready[:count], self.ready[count:]
        left = asked.keys() - received
        self.asked = {index: asked[index] for index in asked if index in left}
        self.kind, self.out = "step", None
        return received
