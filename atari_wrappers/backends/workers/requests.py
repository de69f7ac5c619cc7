"""What is asked of envs in worker processes beside steps: attributes, calls, states."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

from atari_wrappers.backends.python_envs import PythonEnvsBackend
from atari_wrappers.backends.workers.failures import EnvFailure, worker_error
from atari_wrappers.backends.workers.group import WorkerGroup
from atari_wrappers.backends.workers.ledger import Ledger
from atari_wrappers.backends.workers.messages import Failure, Kind, dumps, frame
from atari_wrappers.backends.workers.remote import RemoteEnv
from atari_wrappers.errors import ClosedError
from atari_wrappers.settings import Settings


class WorkerRequests(PythonEnvsBackend):
    """The part of `AsyncBackend` that asks.

    An answer or an error travels by pickle. What an env raises is raised here, from a `WorkerError`
    with its traceback, or as that error where it cannot be pickled; no env is lost by it.
    """

    _group: WorkerGroup | None
    _ledger: Ledger
    _worker_of: list[int]
    _closed: bool

    def __init__(self, num_envs: int, settings: Settings) -> None:
        super().__init__(num_envs, settings)
        self._answers: dict[int, bytes | Failure] = {}

    def call(
        self, indices: Sequence[int], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """Get or call an attribute of each env, all workers at once."""
        arguments = dumps((name, args, kwargs), f"arguments of `{name}`")
        return self._ask("call", f"a call of `{name}`", dict.fromkeys(indices, arguments))

    def set_attr(self, indices: Sequence[int], name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each env, where it is found."""
        what = f"a value of `{name}`"
        pairs = zip(indices, values, strict=True)
        requests = {index: dumps((name, value), what) for index, value in pairs}
        self._ask("set_attr", f"setting `{name}`", requests)

    def save(self, indices: Sequence[int]) -> list[bytes]:
        """Return the state of each env."""
        return self._ask("save", "saving its state", dict.fromkeys(indices, pickle.dumps(())))

    def load_states(self, indices: Sequence[int], states: Sequence[bytes]) -> None:
        """Bring envs into saved states."""
        pairs = zip(indices, states, strict=True)
        requests = {index: dumps((state,), "a state") for index, state in pairs}
        self._ask("load", "restoring a state", requests)

    def attribute(self, index: int, name: str) -> Any:
        """Return an attribute of an env; for a method, what calls it."""
        arguments = {index: pickle.dumps((name,))}
        [(is_method, value)] = self._ask("attribute", f"reading `{name}`", arguments)
        return partial(RemoteEnv(self, index).call, name) if is_method else value

    def sub_environments(self) -> list[Any]:
        """Return a `RemoteEnv` for each env."""
        return [RemoteEnv(self, index) for index in self._all]

    def _ask(self, what: str, doing: str, requests: dict[int, bytes]) -> list[Any]:
        """Have envs answer, and return the answers in the order of `requests`."""
        self._expect_open()
        self._ledger.refuse_lost(requests)
        self._answers.clear()
        asked = [self._group.workers[n] for n in {self._worker_of[index] for index in requests}]
        for worker in asked:
            share = {index: requests[index] for index in requests if index in worker.block}
            payload = pickle.dumps((what, share))
            self._group.send(worker, frame(Kind.ASK, buffer=self._buffer, payload=payload))
            worker.asked = doing
        while any(worker.asked for worker in asked):
            self._collect(None)
        self._ledger.refuse_lost(requests)
        return [self._value(index, doing) for index in requests]

    def _value(self, index: int, doing: str) -> Any:
        """Return an answer, or raise what the env raised: it took no step, and nothing is lost."""
        answer = self._answers[index]
        if not isinstance(answer, Failure):
            return pickle.loads(answer)
        worker = self._group.workers[self._worker_of[index]]
        loss = EnvFailure.of_failure(answer, index, str(worker), doing)
        error = worker_error([loss], [index], "")
        if not isinstance(loss.cause, Exception):  # a SystemExit is not to end the host
            raise error
        raise loss.cause from error

    @abstractmethod
    def _collect(self, seconds: float | None) -> bool:
        """Take in what workers say; return whether there was anything."""

    def _expect_open(self) -> None:
        if self._closed:
            raise ClosedError("the batch of these worker processes was closed")
