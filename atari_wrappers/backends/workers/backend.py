"""`AsyncBackend`: envs in worker processes, begun, awaited, asked, and made anew when they fail."""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from atari_wrappers.backends.python_envs import PythonEnvsBackend
from atari_wrappers.backends.restarts import log_restart
from atari_wrappers.backends.ticket import EnvReset
from atari_wrappers.backends.workers.buffers import SharedBuffers
from atari_wrappers.backends.workers.dispatcher import Dispatcher
from atari_wrappers.backends.workers.messages import dumps
from atari_wrappers.backends.workers.remote import RemoteEnv
from atari_wrappers.errors import StepTimeoutError, WorkerError
from atari_wrappers.request import BatchRequest


class AsyncBackend(PythonEnvsBackend):
    """Envs in blocks of neighbours, a block per worker process.

    Args:
        request: The batch that is to be made.

    Raises:
        WorkerError: An env or a process failed at its start.
        UnknownEnvError: The workers do not know the id.
        UnsupportedError: The env's observations are no arrays, or the settings do not fit it.
    """

    name = "async"
    runs_in_process = shares_python_envs = False
    own_settings = (
        "num_workers",
        "context",
        "worker_timeout",
        "start_timeout",
        "on_worker_failure",
    )

    def __init__(self, request: BatchRequest) -> None:
        super().__init__(request.num_envs, request.settings)
        batch_size = request.settings.batch_size or request.num_envs
        self._is_whole = batch_size == request.num_envs
        self._all_steps = dict.fromkeys(self._all)
        self._retried: set[int] = set()
        self._buffers = SharedBuffers(request.num_envs, request.settings)
        self._dispatcher = Dispatcher(request, self.ticket, self._buffers.count)
        try:
            spaces = self._dispatcher.spaces
            self.single_observation_space, self.single_action_space = spaces[0]
            self.expect_arrays(request.env_id.name)
            for index in sorted(spaces):
                self.expect_same_spaces(request, index, *spaces[index])
            self.rows, self.extras = self._dispatcher.share_rows(), self._dispatcher.extras
            self._buffers.attach(self.rows.obs, self.single_observation_space)
        except BaseException:
            self.close(terminate=True)
            raise

    @property
    def worker_pids(self) -> list[int]:
        """The processes' ids, in the order of their envs."""
        return self._dispatcher.worker_pids

    @property
    def failed(self) -> Collection[int]:
        """Envs that wait for `restart`."""
        return self._dispatcher.work.failed

    def begin_reset(
        self, indices: Sequence[int], seeds: Sequence[int | None], options: dict[str, Any]
    ) -> dict[int, Any]:
        """Send each worker the resets of its envs."""
        pickled = dumps(options, "reset options")
        self._buffers.turn(indices)
        self._show_others(indices)
        asked = {index: EnvReset(seed, pickled) for index, seed in zip(indices, seeds, strict=True)}
        self._dispatcher.begin(asked, self._buffers.current)
        return asked

    def begin_step(self, actions: np.ndarray, indices: Sequence[int] | None) -> dict[int, Any]:
        """Write the actions, and tell the workers."""
        if self.ticket.kind is None:
            self._buffers.turn(indices)
        memory = self._dispatcher.work.memory
        memory.actions[slice(None) if indices is None else list(indices)] = actions
        asked = self._all_steps if indices is None else dict.fromkeys(indices)
        in_blocks = indices is None and self._is_whole
        self._dispatcher.begin(asked, self._buffers.current, in_blocks=in_blocks)
        return asked

    def wait(self, count: int, timeout: float | None) -> None:
        """Have `count` envs ready."""
        work, ticket = self._dispatcher.work, self.ticket
        deadline = None if timeout is None else time.monotonic() + timeout
        while len(ticket.ready) < count:
            if work.failed and work.blocked():
                self._restart_or_raise()
                continue
            left = None if deadline is None else deadline - time.monotonic()
            if not self._dispatcher.collect(left) and left is not None and left <= 0:
                raise StepTimeoutError(
                    f"{len(ticket.ready)} of {count} envs were ready within {timeout:g} s; they go"
                    " on, and can be received later"
                )
        if self._retried:
            self._retried.difference_update(ticket.ready[:count])

    def _restart_or_raise(self) -> None:
        """Begin to make failed envs anew where that is set, once for each step; else raise."""
        self._dispatcher.gather()
        work = self._dispatcher.work
        blocked = work.blocked()
        if self.settings.on_worker_failure == "raise" or self._retried.intersection(blocked):
            raise work.error()
        log_restart(work.error())
        self._retried.update(blocked)
        self._dispatcher.begin_restart(None)

    def recover(self) -> None:
        """Wait for what the workers are doing; make them anew if that is not known."""
        self._dispatcher.recover()

    def observations(self, indices: Sequence[int] | None, out: np.ndarray | None) -> np.ndarray:
        """Return what envs (`None`: all) observed last, in `out` if that is given."""
        return self._buffers.hand_out(indices, out)

    def restart(self, indices: Sequence[int] | None) -> list[int]:
        """Make failed envs anew, with their processes if those are gone."""
        return self._dispatcher.restart(indices)

    def call(
        self, indices: Sequence[int], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """Get or call an attribute of each env, all workers at once."""
        arguments = dumps((name, args, kwargs), f"arguments of `{name}`")
        return self._ask("call", f"a call of `{name}`", dict.fromkeys(indices, arguments))

    def set_attr(self, indices: Sequence[int], name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each env, where it is found; a new one on the env itself."""
        what = f"a value of `{name}`"
        pairs = zip(indices, values, strict=True)
        requests = {index: dumps((name, value), what) for index, value in pairs}
        self._ask("set_attr", f"setting `{name}`", requests)

    def save(self, indices: Sequence[int]) -> list[bytes]:
        """Return the state of each env."""
        return self._ask("save", "saving its state", dict.fromkeys(indices, pickle.dumps(())))

    def check_states(self, indices: Sequence[int], states: Sequence[bytes]) -> None:
        """Refuse states that are not of these envs."""
        self._ask("check_state", "checking a state", _each_a_state(indices, states))

    def load_states(self, indices: Sequence[int], states: Sequence[bytes]) -> None:
        """Bring envs into saved states; what was lent stays as it is."""
        self._buffers.turn(())
        self._show_others(indices)
        self._ask("load", "restoring a state", _each_a_state(indices, states))

    def _show_others(self, indices: Sequence[int]) -> None:
        """Have envs that take no part write what they observed: the caller may have changed it.

        Of one that has failed, what was lent is all there is.
        """
        others = sorted({*self._all} - {*indices} - {*self._dispatcher.work.failed})
        if others and self._buffers.count > 1:
            with contextlib.suppress(WorkerError):  # whoever needs that env is told
                self._ask(
                    "show", "showing its observation", dict.fromkeys(others, pickle.dumps(()))
                )

    def attribute(self, index: int, name: str) -> Any:
        """Return an attribute of an env; for a method, what calls it."""
        arguments = {index: pickle.dumps((name,))}
        [(is_method, value)] = self._ask("attribute", f"reading `{name}`", arguments)
        return partial(RemoteEnv(self, index).call, name) if is_method else value

    def sub_environments(self) -> list[Any]:
        """Return a `RemoteEnv` for each env."""
        return [RemoteEnv(self, index) for index in self._all]

    def _ask(self, what: str, doing: str, requests: dict[int, bytes]) -> list[Any]:
        return self._dispatcher.ask(what, doing, requests, self._buffers.current)

    def after_fork(self) -> bool:
        """Leave the workers to the parent."""
        self._dispatcher.after_fork()
        return True

    def close(self, *, terminate: bool) -> None:
        """End the workers: within 5 s, or 2 s with `terminate`, whatever they are doing."""
        self._dispatcher.close(terminate=terminate)


def _each_a_state(indices: Sequence[int], states: Sequence[bytes]) -> dict[int, bytes]:
    pairs = zip(indices, states, strict=True)
    return {index: dumps((state,), "a state") for index, state in pairs}
