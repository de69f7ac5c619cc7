"""`Dispatcher`: gives the envs of worker processes their work, and takes in what they report."""

from __future__ import annotations

import itertools
import math
import os
import pickle
import time
from collections.abc import Iterable, Sequence
from typing import Any

import cloudpickle
import gymnasium as gym
import numpy as np

from atari_wrappers.backends.base import EnvReset, Ticket
from atari_wrappers.backends.restarts import LOGGER, Restarts, worker_error
from atari_wrappers.backends.workers.group import (
    CLOSE_SECONDS,
    GIVE_UP_SECONDS,
    Ending,
    WorkerGroup,
)
from atari_wrappers.backends.workers.memory import BatchMemory, Memfd, SharedFd
from atari_wrappers.backends.workers.messages import Failure, Frame, Kind, frame
from atari_wrappers.backends.workers.pending_work import PendingWork, split_resets
from atari_wrappers.backends.workers.processes import UNGUARDED, WorkerProcess
from atari_wrappers.backends.workers.worker import WorkerArguments
from atari_wrappers.errors import ClosedError, NotAnEnvError, UnknownEnvError, UnsupportedError
from atari_wrappers.request import BatchRequest

# Seconds after a failure in which more of them are gathered for one report.
_GATHER_SECONDS = 0.25
# Seconds for all envs to be made, after which the log has a line.
_SLOW_SECONDS = 20.0
_SEE_STDERR = "; its traceback, if there was one, went to stderr"


class Dispatcher:
    """The processes of a batch, a block of neighbours among its envs in each.

    Attributes:
        work: How far the envs are with what is in flight.
        memory: What is shared with the workers; `attach` makes it.
        extras: By env, what its info has beyond the record.
        spaces: By env, its observation and its action space; of neighbours with the same spaces, in
            one worker, the first tells them.
    """

    memory: BatchMemory

    def __init__(
        self, request: BatchRequest, ticket: Ticket, restarts: Restarts, num_buffers: int
    ) -> None:
        settings = request.settings
        self.work: PendingWork = PendingWork(ticket, restarts, settings.autoreset_mode)
        self.extras: dict[int, dict[str, Any]] = {}
        self.spaces: dict[int, tuple[gym.Space[Any], gym.Space[Any]]] = {}
        self._ticket, self._restarts = ticket, restarts
        self._answers: dict[int, bytes | Failure] = {}
        self._buffer = 0
        self._closed = False
        self._memfd = Memfd("atari-batch")
        try:
            arguments = _divided(request, num_buffers, self._memfd.fd)
            self._sizes = arguments[0].sizes
            self._worker_of = [each.number for each in arguments for _ in each.indices]
            self._group = WorkerGroup(arguments, settings)
        except BaseException:
            self._memfd.close()
            raise
        try:
            self._await_envs(settings.start_timeout)
            if restarts.failed:
                self._raise_start_error()
        except BaseException:
            self.close(terminate=True)
            raise

    def _await_envs(self, start_timeout: float) -> None:
        """Wait until all envs are made or one has failed; if that takes long, say so in the log."""
        slow_at = time.monotonic() + _SLOW_SECONDS
        while not self._restarts.failed:
            making = [worker for worker in self._group.workers if worker.making]
            if not making:
                return
            self.collect(None)
            if time.monotonic() >= slow_at:
                slow_at = math.inf
                LOGGER.warning(
                    "env %d is not made after %g s (%s); start_timeout=%g s is what each env is"
                    " given",
                    *(min(making[0].making), _SLOW_SECONDS, making[0], start_timeout),
                )

    def _raise_start_error(self) -> None:
        self.gather()
        failures = self._restarts.failed.values()
        is_explained = any(each.traceback or UNGUARDED in each.text for each in failures)
        error = self._restarts.error("" if is_explained else _SEE_STDERR)
        cause = error.__cause__
        if isinstance(cause, UnknownEnvError):
            raise UnknownEnvError(
                f"{cause} (in a worker process, which knows what the main module registers when it"
                " is imported: register ids in a module and ask for `module:Name-v0`)"
            ) from None
        if isinstance(cause, UnsupportedError | NotAnEnvError):
            raise cause from None  # as on `sync`: where it was told says nothing more
        if isinstance(cause, OSError):
            raise cause from error
        raise error

    def attach(self) -> BatchMemory:
        """Give the memory that is shared with the workers its size, and return it."""
        space, action_space = self.spaces[0]
        self.memory = BatchMemory(self._memfd.fd, space, action_space, **self._sizes)
        self.work.memory = self._group.memory = self.memory
        for worker in self._group.workers:
            self._attach(worker, None)
        return self.memory

    def _attach(self, worker: WorkerProcess, seeds: dict[int, int | None] | None) -> None:
        payload = pickle.dumps((*self.spaces[0], seeds))
        self._group.send(worker, frame(Kind.ATTACH, payload=payload))

    @property
    def worker_pids(self) -> list[int]:
        return [worker.pid for worker in self._group.workers]

    # What is begun ------------------------------------------------------------------------------

    def begin(self, asked: dict[int, Any], buffer: int, *, in_blocks: bool = False) -> None:
        """Have envs do what they are asked, and write to `buffer`.

        With `in_blocks` all of them step and are received together.
        """
        group, done = self._group, self.memory.done
        group.is_torn = True
        self._buffer = buffer
        if in_blocks and not self._restarts.failed:
            done.fill(False)
            message = frame(Kind.STEP, buffer=buffer)
            for worker in group.workers:
                group.send(worker, message)
                worker.awaiting = worker.block
        else:
            done[list(asked)] = False
            for index, what in asked.items():
                if isinstance(what, EnvReset):
                    self._restarts.note_seed(index, what.seed)
            self._send_work(asked, asked)
        group.is_torn = False

    def _send_work(self, indices: Iterable[int], asked: dict[int, Any]) -> None:
        """Have envs do what they are asked, but for those that failed."""
        shares: dict[int, list[int]] = {}
        for index in indices:
            if index not in self._restarts.failed:
                shares.setdefault(self._worker_of[index], []).append(index)
        for number, share in shares.items():
            worker = self._group.workers[number]
            steps, resets = split_resets(share, asked)
            if steps:
                payload = np.array(steps, np.int32).tobytes()
                message = frame(Kind.STEP_EACH, buffer=self._buffer, payload=payload)
                self._group.send(worker, message)
            for request in resets:
                payload = pickle.dumps(request)
                message = frame(Kind.RESET, buffer=self._buffer, payload=payload)
                self._group.send(worker, message)
            worker.awaiting |= frozenset(share)

    # What comes back ----------------------------------------------------------------------------

    def collect(self, seconds: float | None) -> bool:
        """Take in what workers say; return whether there was anything."""
        events = self._group.collect(seconds)
        for worker, event in events:
            if isinstance(event, Ending):
                self.work.note_ending(worker, event)
            else:
                self._take(worker, event)
        self._group.is_torn = False
        return bool(events)

    def _take(self, worker: WorkerProcess, message: Frame) -> None:
        kind, _, index, payload = message
        if kind == Kind.DONE:
            self.work.note_done(worker)
            if payload:
                for each, pickled in pickle.loads(payload).items():
                    self.extras[each] = pickle.loads(pickled)
        elif kind == Kind.READY:
            self.work.note_ready(worker, index)
            if payload:
                self.extras[index] = pickle.loads(payload)
        elif kind == Kind.FAILED:
            self.work.note_failure(worker, message)
        elif kind == Kind.MADE:
            worker.making -= {index}
            if payload:
                self.spaces.setdefault(index, pickle.loads(payload))
            if self.work.is_unfinished(index) and index not in worker.awaiting:
                self._send_work([index], self._ticket.asked)  # what the env before it left undone
        else:
            worker.asked = None
            self._answers.update(pickle.loads(payload))

    def gather(self) -> None:
        """Hear for a moment of other failures: what costs one process often costs several."""
        deadline = time.monotonic() + _GATHER_SECONDS
        while any(worker.awaiting or worker.making for worker in self._group.workers):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self.collect(left)

    # Beside steps -------------------------------------------------------------------------------

    def ask(self, method: str, doing: str, requests: dict[int, bytes]) -> list[Any]:
        """Have a method of `EnvRunner` answer for envs, all workers at once.

        Arguments, answers (in the order of `requests`) and errors travel by pickle. What an env
        raises is raised here, from a `WorkerError` with its traceback, or as that error where it
        cannot be pickled; no env fails by it.
        """
        self._expect_open()
        self._restarts.refuse_failed(requests)
        self._answers.clear()
        asked = [self._group.workers[n] for n in {self._worker_of[index] for index in requests}]
        self._group.is_torn = True
        for worker in asked:
            share = {index: requests[index] for index in requests if index in worker.block}
            payload = pickle.dumps((method, share))
            self._group.send(worker, frame(Kind.ASK, payload=payload))
            worker.asked = doing
        self._group.is_torn = False
        while any(worker.asked for worker in asked):
            self.collect(None)
        self._restarts.refuse_failed(requests)
        return [self._answer(index, doing) for index in requests]

    def _answer(self, index: int, doing: str) -> Any:
        answer = self._answers[index]
        if not isinstance(answer, Failure):
            return pickle.loads(answer)
        worker = self._group.workers[self._worker_of[index]]
        failure = answer.of_env(index, str(worker), doing)
        error = worker_error([failure], [index])
        if not isinstance(failure.cause, Exception):  # a SystemExit is not to end the host
            raise error
        raise failure.cause from error

    def begin_restart(self, indices: Iterable[int] | None) -> set[int]:
        """Have failed envs (`None`: all of them) restarted, and their processes if those are gone.

        Each then does by itself what was left undone. Returned is which envs.
        """
        while self.collect(0):
            pass
        self._group.is_torn = True
        chosen = set(self._restarts.failed if indices is None else indices)
        gone = [worker for worker in self._group.workers if worker.is_gone]
        gone = [worker for worker in gone if worker.block & chosen]
        chosen.update(*(worker.block for worker in gone))
        seeds = {index: self._restarts.new_seed(index) for index in sorted(chosen)}
        for worker in gone:
            self._attach(self._group.replace(worker), seeds)
        for index in chosen:
            self._restarts.failed.pop(index, None)
            worker = self._group.workers[self._worker_of[index]]
            if index not in worker.making:  # as all envs of a new process are
                payload = pickle.dumps(seeds[index])
                self._group.send(worker, frame(Kind.REPLACE, env=index, payload=payload))
                worker.making |= {index}
        self._group.is_torn = False
        return chosen

    def restart(self, indices: Sequence[int] | None) -> list[int]:
        """Do `begin_restart`, and wait until the envs are made."""
        self._expect_open()
        chosen = self.begin_restart(indices)
        while any(worker.making & chosen for worker in self._group.workers):
            self.collect(None)
        self._restarts.refuse_failed(chosen)
        return sorted(chosen)

    def recover(self) -> None:
        """Bring the workers to rest after an interrupt, and forget what they did.

        Where it came between what a worker was sent or said and the note of that, they are ended
        and restarted.
        """
        group, ticket = self._group, self._ticket
        if group.is_torn:
            for worker in group.workers:
                group.kill(worker)
                self.work.note_ending(worker, Ending("was ended after an interrupt", None))
            ticket.clear()  # before the new ones do what is left of it
            self.restart(None)
        while any(worker.is_busy for worker in group.workers):
            self.collect(None)
        ticket.clear()
        self.extras.clear()

    def _expect_open(self) -> None:
        if self._closed:
            raise ClosedError("the batch of these worker processes was closed")

    def after_fork(self) -> None:
        """Close this process's pipes: workers are to see it when their host is gone."""
        self._closed = True
        self._memfd.close()
        for worker in self._group.workers:
            worker.let_go()

    def close(self, *, terminate: bool) -> None:
        """End the workers: within 5 s, or 2 s with `terminate`, whatever they are doing."""
        if self._closed:
            return
        self._closed = True
        self._group.close(GIVE_UP_SECONDS if terminate else CLOSE_SECONDS)
        self._memfd.close()


def _divided(request: BatchRequest, num_buffers: int, memory: int) -> list[WorkerArguments]:
    """Divide the envs of a batch among workers as evenly as can be."""
    settings, num_envs = request.settings, request.num_envs
    count = min(settings.num_workers or len(os.sched_getaffinity(0)), num_envs)
    bounds = [num_envs * number // count for number in range(count + 1)]
    try:
        pickled = cloudpickle.dumps(request)  # functions of the main module included
    except Exception as error:
        raise UnsupportedError(
            f'backend "async" sends what makes `{request.env_id.name}` to worker processes, and it'
            f' cannot be pickled ({error}); use backend="sync"'
        ) from error
    sizes = {
        "num_envs": num_envs,
        "num_workers": count,
        "num_players": settings.num_players,
        "num_buffers": num_buffers,
    }
    return [
        WorkerArguments(
            pickled, number, range(*ends), settings.autoreset_mode, sizes, SharedFd(memory)
        )
        for number, ends in enumerate(itertools.pairwise(bounds))
    ]
