"""`AsyncBackend`: envs in worker processes, begun, awaited, asked, and restarted when they fail."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from atari_wrappers.backends.base import EnvReset, Indices, Info, Out, Seeds
from atari_wrappers.backends.python_envs import PythonEnvsBackend
from atari_wrappers.backends.workers.dispatcher import Dispatcher
from atari_wrappers.backends.workers.memory import SharedBuffers
from atari_wrappers.backends.workers.messages import dumps
from atari_wrappers.backends.workers.remote import RemoteEnv
from atari_wrappers.errors import StepTimeoutError, WorkerError
from atari_wrappers.request import BatchRequest


class AsyncBackend(PythonEnvsBackend):
    """Envs in blocks of neighbours, a block per worker process.

    Raises:
        WorkerError: An env or a process failed at its start.
        UnknownEnvError: The workers do not know the id.
        UnsupportedError: The env's observations are no arrays, the settings do not fit it, or what
            makes it cannot be sent to workers.
    """

    name = "async"
    runs_in_process = shares_python_envs = False
    own_settings: ClassVar[tuple[str, ...]] = (
        "num_workers",
        "context",
        "worker_timeout",
        "start_timeout",
        "on_worker_failure",
    )

    def __init__(self, request: BatchRequest) -> None:
        super().__init__(request)
        batch_size = request.settings.batch_size or request.num_envs
        self._is_whole = batch_size == request.num_envs
        self._all_steps = dict.fromkeys(self._all)
        self._buffers = SharedBuffers(request.num_envs, request.settings)
        count = self._buffers.count
        self._dispatcher = Dispatcher(request, self.ticket, self.restarts, count)
        try:
            self._take_spaces(self._dispatcher.spaces)
            self._memory = self._dispatcher.attach()
            self.rows, self.extras = self._memory.rows, self._dispatcher.extras
            self._buffers.attach(self.rows.obs, self.single_observation_space)
        except BaseException:
            self.close(terminate=True)
            raise

    @property
    def worker_pids(self) -> list[int]:
        return self._dispatcher.worker_pids

    @property
    def buffer(self) -> int:
        """The shared array of observations that the envs write to."""
        return self._buffers.current

    def begin_reset(self, indices: Sequence[int], seeds: Seeds, options: Info) -> dict[int, Any]:
        """Send each worker the resets of its envs."""
        pickled = dumps(options, "reset options")
        self._buffers.turn(indices)
        self._show_others(indices)
        asked = {index: EnvReset(seed, pickled) for index, seed in zip(indices, seeds, strict=True)}
        self._dispatcher.begin(asked, self.buffer)
        return asked

    def begin_step(self, actions: np.ndarray, indices: Indices) -> dict[int, Any]:
        """Write the actions, and tell the workers."""
        if self.ticket.kind is None:
            self._buffers.turn(indices)
        self._memory.actions[slice(None) if indices is None else list(indices)] = actions
        asked = self._all_steps if indices is None else dict.fromkeys(indices)
        in_blocks = indices is None and self._is_whole
        self._dispatcher.begin(asked, self.buffer, in_blocks=in_blocks)
        return asked

    def wait(self, count: int, timeout: float | None) -> None:
        dispatcher, ticket, restarts = self._dispatcher, self.ticket, self.restarts
        deadline = None if timeout is None else time.monotonic() + timeout
        while len(ticket.ready) < count:
            if restarts.failed and dispatcher.work.blocked():
                dispatcher.gather()
                restarts.retry_or_raise(dispatcher.work.blocked())
                dispatcher.begin_restart(None)
                continue
            left = None if deadline is None else deadline - time.monotonic()
            if not dispatcher.collect(left) and left is not None and left <= 0:
                raise StepTimeoutError(
                    f"{len(ticket.ready)} of {count} envs were ready within {timeout:g} s; they go"
                    " on, and can be received later"
                )
        if restarts.retried:
            restarts.retried.difference_update(ticket.ready[:count])

    def recover(self) -> None:
        """Wait for what the workers are doing; restart them if that is not known."""
        self._dispatcher.recover()

    def observations(self, indices: Indices, out: Out) -> np.ndarray:
        return self._buffers.hand_out(indices, out)

    def restart(self, indices: Indices) -> list[int]:
        """Restart failed envs, and their processes if those are gone."""
        return self._dispatcher.restart(indices)

    def ask(
        self, method: str, doing: str, requests: dict[int, tuple[Any, ...]], sent: str = "a state"
    ) -> list[Any]:
        """Have the envs of all workers answer at once."""
        pickled = {index: dumps(arguments, sent) for index, arguments in requests.items()}
        return self._dispatcher.ask(method, doing, pickled)

    def keep_lent(self, indices: Sequence[int]) -> None:
        self._buffers.turn(())
        self._show_others(indices)

    def _show_others(self, indices: Sequence[int]) -> None:
        """Have envs that take no part write what they observed: the caller may have changed it.

        Of one that has failed, what was lent is all there is.
        """
        others = sorted({*self._all} - {*indices} - {*self.failed})
        if others and self._buffers.count > 1:
            with contextlib.suppress(WorkerError):  # whoever needs that env is told
                self.ask(
                    "share_obs", "showing its observation", dict.fromkeys(others, (self.buffer,))
                )

    def sub_environments(self, access: contextlib.AbstractContextManager[None]) -> list[Any]:
        """Return a `RemoteEnv` for each env."""
        return [RemoteEnv(self, index, access) for index in self._all]

    def after_fork(self) -> bool:
        """Leave the workers to the parent."""
        self._dispatcher.after_fork()
        return True

    def close(self, *, terminate: bool) -> None:
        """End the workers: within 5 s, or 2 s with `terminate`, whatever they are doing."""
        self._dispatcher.close(terminate=terminate)
