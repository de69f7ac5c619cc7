"""`AsyncBackend`: envs in worker processes, begun, awaited, and made anew when they fail."""

from __future__ import annotations

import itertools
import os
import pickle
import time
from collections.abc import Iterable, Sequence
from typing import Any

import cloudpickle
import numpy as np

from atari_wrappers.backends.restarts import RestartSeeds, log_restart
from atari_wrappers.backends.workers.group import (
    CLOSE_SECONDS,
    GIVE_UP_SECONDS,
    Ending,
    WorkerGroup,
)
from atari_wrappers.backends.workers.ledger import Ledger, split_resets
from atari_wrappers.backends.workers.memory import BatchMemory, Memfd
from atari_wrappers.backends.workers.messages import Frame, Kind, dumps, frame
from atari_wrappers.backends.workers.processes import WorkerProcess
from atari_wrappers.backends.workers.requests import WorkerRequests
from atari_wrappers.backends.workers.worker import Plan, SharedFd
from atari_wrappers.errors import UnknownEnvError, UnsupportedError
from atari_wrappers.request import BatchRequest

# Seconds after a failure in which more of them are gathered for one report.
_GATHER_SECONDS = 0.25
_START_REMEDY = (
    "; its traceback, if there was one, went to stderr. A script that makes worker processes does"
    ' so under `if __name__ == "__main__":`'
)


class AsyncBackend(WorkerRequests):
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

    def __init__(self, request: BatchRequest) -> None:
        num_envs, settings = request.num_envs, request.settings
        super().__init__(num_envs, settings)
        self._ledger = Ledger(num_envs, settings.autoreset_mode)
        self._seeds = RestartSeeds(num_envs)
        self._retried: set[int] = set()
        self._spaces: dict[int, bytes] = {}
        self._blocks = _blocks(num_envs, settings.num_workers)
        self._worker_of = [number for number, block in enumerate(self._blocks) for _ in block]
        self._closed = False
        self._memfd = Memfd("atari-batch")
        self._group: WorkerGroup | None = None
        try:
            self._start(request)
        except BaseException:
            self.close(terminate=True)
            raise

    def _start(self, request: BatchRequest) -> None:
        unset = SharedFd(-1)
        pickled = _pickled(request)
        plans = [
            Plan(
                request=pickled,
                settings=self.settings,
                number=number,
                num_workers=len(self._blocks),
                indices=block,
                num_envs=self.num_envs,
                num_buffers=self.num_buffers,
                commands=unset,
                reports=unset,
                memory=SharedFd(self._memfd.fd),
                trace=unset,
            )
            for number, block in enumerate(self._blocks)
        ]
        self._group = WorkerGroup(plans, self.settings.context, self.settings.worker_timeout)
        while not self._ledger.lost and any(worker.making for worker in self._group.workers):
            self._collect(None)
        if self._ledger.lost:
            self._raise_start_error()
        spaces = pickle.loads(self._spaces[0])
        self.single_observation_space, self.single_action_space = spaces
        self.expect_arrays(request.env_id.name)
        for index, pickled in self._spaces.items():
            self.expect_same_spaces(request, index, *pickle.loads(pickled))
        players, buffers = self.settings.num_players, self.num_buffers
        self._memory = BatchMemory(
            self._memfd.fd, self.num_envs, len(self._blocks), *spaces, players, buffers
        )
        self.rows, self._ledger.memory = self._memory.rows, self._memory
        for worker in self._group.workers:
            self._attach(worker, None)

    def _attach(self, worker: WorkerProcess, seeds: dict[int, int | None] | None) -> None:
        spaces = (self.single_observation_space, self.single_action_space)
        self._group.send(worker, frame(Kind.ATTACH, payload=pickle.dumps((*spaces, seeds))))

    def _raise_start_error(self) -> None:
        self._gather()
        raised = any(loss.traceback for loss in self._ledger.lost.values())
        error = self._ledger.error("" if raised else _START_REMEDY)
        cause = error.__cause__
        if isinstance(cause, UnknownEnvError):
            raise UnknownEnvError(
                f"{cause} (in a worker process, which knows what the main module registers when it"
                " is imported: register ids in a module and ask for `module:Name-v0`)"
            ) from error
        if isinstance(cause, UnsupportedError | OSError):
            raise cause from error
        raise error

    @property
    def worker_pids(self) -> list[int]:
        """The processes' ids, in the order of their envs."""
        return [worker.pid for worker in self._group.workers]

    # What is begun ------------------------------------------------------------------------------

    def begin_reset(
        self,
        indices: Sequence[int],
        seeds: Sequence[int | None],
        options: dict[str, Any],
        buffer: int,
    ) -> None:
        """Send each worker the resets of its envs."""
        pickled = dumps(options, "reset options")
        for index, seed in zip(indices, seeds, strict=True):
            self._seeds.note(index, seed)
        self._ledger.begin_resets(indices, seeds, pickled)
        self._send_work(indices, buffer)

    def begin_step(self, actions: np.ndarray, indices: Sequence[int] | None, buffer: int) -> None:
        """Write the actions, and tell the workers."""
        self._memory.actions[slice(None) if indices is None else list(indices)] = actions
        self._ledger.begin_steps(indices)
        if indices is not None or self._gathered or self._ledger.lost:
            self._send_work(self._all if indices is None else indices, buffer)
            return
        message = frame(Kind.STEP, buffer=buffer)
        for worker in self._group.workers:
            self._group.send(worker, message)
            worker.awaiting = worker.block

    def _send_work(self, indices: Iterable[int], buffer: int) -> None:
        """Have envs do what they were given, but for those that are lost."""
        shares: dict[int, list[int]] = {}
        for index in indices:
            if index not in self._ledger.lost:
                shares.setdefault(self._worker_of[index], []).append(index)
        for number, share in shares.items():
            worker = self._group.workers[number]
            steps, resets = split_resets(share, self._ledger.resets)
            if steps:
                payload = np.array(steps, np.int32).tobytes()
                self._group.send(worker, frame(Kind.STEP_EACH, buffer=buffer, payload=payload))
            for request in resets:
                payload = pickle.dumps(request)
                self._group.send(worker, frame(Kind.RESET, buffer=buffer, payload=payload))
            worker.awaiting |= frozenset(share)

    # What comes back ----------------------------------------------------------------------------

    def wait(self, count: int, timeout: float | None) -> Sequence[int]:
        """Return the first `count` envs that are ready."""
        ledger = self._ledger
        deadline = None if timeout is None else time.monotonic() + timeout
        while len(ledger.ready) < count:
            if ledger.lost and ledger.blocked():
                self._gather()
                self._recover()
                continue
            left = None if deadline is None else deadline - time.monotonic()
            if not self._collect(left) and left is not None and left <= 0:
                raise TimeoutError(
                    f"{len(ledger.ready)} of {count} envs were ready within {timeout:g} s; they go"
                    " on, and can be received later"
                )
        ready = ledger.take_ready(count)
        if self._retried:
            self._retried.difference_update(ready)
        return ready

    def _collect(self, seconds: float | None) -> bool:
        """Take in what workers say; return whether there was anything."""
        events = self._group.collect(seconds)
        for worker, event in events:
            if isinstance(event, Ending):
                self._ledger.note_ending(worker, event)
            else:
                self._take(worker, event)
        return bool(events)

    def _take(self, worker: WorkerProcess, message: Frame) -> None:
        kind, _, index, payload = message
        if kind == Kind.DONE:
            self._ledger.note_done(worker)
            if payload:
                for each, pickled in pickle.loads(payload).items():
                    self.extras[each] = pickle.loads(pickled)
        elif kind == Kind.READY:
            self._ledger.note_ready(worker, index)
            if payload:
                self.extras[index] = pickle.loads(payload)
        elif kind == Kind.FAILED:
            self._ledger.note_failure(worker, message)
        elif kind == Kind.MADE:
            worker.making -= {index}
            self._spaces[index] = payload
        else:
            worker.asked = None
            self._answers.update(pickle.loads(payload))

    # What is lost -------------------------------------------------------------------------------

    def _gather(self) -> None:
        """Hear for a moment of other failures: what costs one process often costs several."""
        deadline = time.monotonic() + _GATHER_SECONDS
        while any(worker.awaiting or worker.making for worker in self._group.workers):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self._collect(left)

    def _recover(self) -> None:
        """Make lost envs anew where that is set, once for each step; else raise."""
        blocked = set(self._ledger.blocked())
        if self.settings.on_worker_failure == "raise" or blocked & self._retried:
            raise self._ledger.error()
        log_restart(self._ledger.error())
        self._retried |= blocked
        self.restart(None)

    def restart(self, indices: Sequence[int] | None) -> list[int]:
        """Make failed envs anew, with their processes if those are gone."""
        self._expect_open()
        while self._collect(0):
            pass
        chosen = set(self._ledger.lost if indices is None else indices)
        numbers = {self._worker_of[index] for index in chosen}
        ended = [worker for worker in self._group.workers if worker.is_lost]
        ended = [worker for worker in ended if worker.number in numbers]
        chosen.update(*(worker.indices for worker in ended))
        seeds = {index: self._seeds.of_restart(index) for index in sorted(chosen)}
        for worker in ended:
            self._attach(self._group.replace(worker), seeds)
        for index in chosen:
            self._ledger.lost.pop(index, None)
            worker = self._group.workers[self._worker_of[index]]
            if index not in worker.making:  # as all envs of a new process are
                payload = pickle.dumps(seeds[index])
                self._group.send(worker, frame(Kind.REPLACE, env=index, payload=payload))
                worker.making |= {index}
        self._await_made(chosen)
        return sorted(chosen)

    def _await_made(self, chosen: set[int]) -> None:
        """Wait for envs to be made anew, and have them do what they left undone."""
        workers, ledger = self._group.workers, self._ledger
        while any(worker.making & chosen for worker in workers):
            self._collect(None)
        at_work = frozenset().union(*(worker.awaiting for worker in workers))
        undone = [index for index in sorted(chosen - at_work) if ledger.is_unfinished(index)]
        self._send_work(undone, self._buffer)
        ledger.refuse_lost(chosen)

    def after_fork(self) -> bool:
        """Close this process's pipes: workers are to see it when their host is gone."""
        self._closed = True
        self._memfd.close()
        if self._group is not None:
            for worker in self._group.workers:
                worker.let_go()
        return True

    def close(self, *, terminate: bool) -> None:
        """End the workers: within 5 s, or 2 s with `terminate`, whatever they are doing."""
        if self._closed:
            return
        self._closed = True
        if self._group is not None:
            self._group.close(GIVE_UP_SECONDS if terminate else CLOSE_SECONDS)
        self._memfd.close()


def _pickled(request: BatchRequest) -> bytes:
    """Return the request for worker processes, functions of the main module included."""
    try:
        return cloudpickle.dumps(request)
    except Exception as error:
        raise UnsupportedError(
            f'backend "async" sends what makes `{request.env_id.name}` to worker processes, and it'
            f' cannot be pickled ({error}); use backend="sync"'
        ) from error


def _blocks(num_envs: int, num_workers: int) -> list[range]:
    """Divide envs among workers (0: one per core) as evenly as can be."""
    count = min(num_workers or len(os.sched_getaffinity(0)), num_envs)
    bounds = [num_envs * number // count for number in range(count + 1)]
    return [range(first, end) for first, end in itertools.pairwise(bounds)]
