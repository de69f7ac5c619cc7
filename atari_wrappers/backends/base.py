"""What a backend is: what it can serve, its account of what is in flight, and its methods."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import gymnasium as gym
import numpy as np

from atari_wrappers.request import BatchRequest

Info = dict[str, Any]
Indices = Sequence[int] | None  # of envs; all of them if `None`
Seeds = Sequence[int | None]
Out = np.ndarray | None  # where a caller wants observations
StepResult = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]


class EnvReset(NamedTuple):
    """What an env is asked that is to restart; any other is asked a step."""

    seed: int | None
    options: Any


class InFlight(Protocol):
    """What of a `Ticket` others ask; `native` has the core's, under the same names."""

    @property
    def kind(self) -> Literal["step", "reset"] | None:
        """As of `Ticket`."""
        ...

    @property
    def out(self) -> np.ndarray | None:
        """As of `Ticket`."""
        ...

    @property
    def count(self) -> int:
        """How many envs are in flight."""
        ...

    def busy(self, indices: Sequence[int], /) -> list[int]:
        """Return those of the envs named that are in flight."""
        ...


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
        """Take off the first `count` that are ready, and return which.

        They are in the order in which they were begun if nothing else is in flight, and else in
        that in which they were ready. `None` stands for all envs, in their own order.
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


class Backend(Protocol):
    """Runs a batch of envs and speaks in the terms of `VecEnv`, whose docs define them.

    `VecEnv` has checked actions, seeds, indices and the order of calls before a backend sees them.
    A `WorkerError` leaves a backend usable: the envs named in it wait for `restart`, the others
    keep what they have ready. After any other exception it is closed.

    Args:
        request: The batch that is to be made; nothing in it is an obstacle.

    Attributes:
        name: What the `backend` setting calls it.
        runs_in_process: Whether envs run in this process; `auto` takes no other backend, as worker
            processes ask for a `__main__` guard in scripts.
        own_settings: Settings that it reads and not every backend does.
        shows_raw_frames: Whether videos are of what the emulator shows; else of observations.
        has_python_envs: Whether there are Python envs to call, to save and to look into.
        shares_python_envs: Whether `sub_environments` returns these envs themselves.
        takes_reset_options: Whether `reset` hands options to the envs.
    """

    name: ClassVar[str]
    runs_in_process: ClassVar[bool]
    own_settings: ClassVar[tuple[str, ...]]
    shows_raw_frames: ClassVar[bool]
    has_python_envs: ClassVar[bool]
    shares_python_envs: ClassVar[bool]
    takes_reset_options: ClassVar[bool]
    single_observation_space: gym.Space[Any]
    single_action_space: gym.Space[Any]

    def __init__(self, request: BatchRequest) -> None: ...

    @property
    def ticket(self) -> InFlight:
        """What is in flight: `reset` and `send` write it, `recv` takes off it."""
        ...

    @property
    def failed(self) -> Collection[int]:
        """Envs that wait for `restart`."""
        return ()

    @property
    def worker_pids(self) -> Sequence[int]:
        """The ids of its worker processes, in the order of their envs."""
        return ()

    @staticmethod
    def obstacles(request: BatchRequest) -> Iterator[str]:
        """Say what keeps this backend from serving: each setting, its value and what it could be.

        What no backend can serve is refused before (`request.request_env`).
        """
        ...

    def reset(self, indices: Indices, seeds: Seeds | None, options: Info, out: Out) -> None:
        """Begin to restart the envs named (`None`: all), each with a seed if there are any.

        `out` is as for `send`.
        """
        ...

    def send(self, actions: np.ndarray, indices: Indices, out: Out) -> None:
        """Begin a step of the envs named (`None`: all), `actions` and `indices` in pairs.

        Obs are to be in `out` when they are received, `None` for where the envs in flight have
        theirs, or an array of the backend's.
        """
        ...

    def recv(
        self, count: int, out: Out, timeout: float | None, *, every: bool = False
    ) -> StepResult:
        """Wait for the first `count` of the envs begun with.

        Obs are in `out` where that was not said when they were begun. With `every` the results have
        a row for each env of the batch; those that were not begun show what they showed last.

        The results of all envs are in their order; those of some in the order in which these were
        begun if nothing else is in flight, and else in that in which they were ready.

        Raises:
            TimeoutError: They were not ready within `timeout` seconds; nothing is lost.
            WorkerError: An env failed, or its process did.
        """
        ...

    def restart(self, indices: Indices) -> list[int]:
        """Restart failed envs (`None`: all that failed) and return which."""
        del indices
        return []  # as where envs do not fail one by one

    def recover(self) -> None:
        """Bring to rest, after an interrupt anywhere in a call, what is in flight, and forget it.

        A reset of all envs comes next.
        """
        ...

    def frames(self, indices: Sequence[int]) -> list[np.ndarray]:
        """Return what each env shows: uint8 RGB `[height, width, 3]`."""
        ...

    def after_fork(self) -> bool:
        """In a forked child: let go of the envs if they are the parent's, and return whether."""
        ...

    def close(self, *, terminate: bool) -> None:
        """Free everything; with `terminate`, without waiting for the envs to agree."""
        ...

    # What follows is only asked of a backend that has Python envs.

    def call(
        self, indices: Sequence[int], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """Return, for each env, its attribute `name`, called if that is a method."""
        ...

    def set_attr(self, indices: Sequence[int], name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each env."""
        ...

    def save(self, indices: Sequence[int]) -> list[bytes]:
        """Return the whole state of each env."""
        ...

    def load(self, indices: Sequence[int], states: Sequence[bytes]) -> StepResult:
        """Bring each env, and its row, into a state that was saved, or none if one is refused.

        Returns:
            The last results of every env.
        """
        ...

    def sub_environments(self, access: AbstractContextManager[None]) -> list[Any]:
        """Return what stands for each env; one that asks another process does so in `access`."""
        ...
