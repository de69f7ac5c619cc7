"""The worker processes of a batch as a whole: started, sent to, listened to, watched and ended."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from multiprocessing.util import Finalize
from typing import NamedTuple

from atari_wrappers.backends.workers.memory import BatchMemory
from atari_wrappers.backends.workers.messages import CHUNK, DONE, Frame, Kind
from atari_wrappers.backends.workers.processes import WorkerProcess, end_workers
from atari_wrappers.backends.workers.worker import WorkerArguments
from atari_wrappers.settings import Settings

# Seconds for workers to close their envs before they are killed: asked to, or in the middle of
# something; with a second to kill them this bounds `close`.
CLOSE_SECONDS = 4.0
GIVE_UP_SECONDS = 1.0
# How often silent processes are looked at, in seconds.
_LOOK_SECONDS = 1.0
_DONE_FRAME = Frame(Kind.DONE, 0, 0, b"")


class Ending(NamedTuple):
    """How a worker went."""

    text: str
    traceback: str | None


Event = tuple[WorkerProcess, Frame | Ending]


class WorkerGroup:
    """A process for each of some blocks of envs.

    The time that workers have to answer runs on a clock that goes only while the host looks, so
    that a host that was stopped or suspended does not take its workers for hung.

    Attributes:
        workers: The processes; one that is gone stays in its place until `replace`.
        memory: What shows the progress of workers, once there is any.
        is_torn: Whether what is sent or heard is not noted yet: an interrupt now would lose it.
    """

    memory: BatchMemory | None = None
    is_torn = False

    def __init__(self, arguments: Sequence[WorkerArguments], settings: Settings) -> None:
        self._arguments, self._settings = arguments, settings
        self._slice = min(_LOOK_SECONDS, settings.worker_timeout / 4, settings.start_timeout / 4)
        self._poll = select.poll()
        self._by_fd: dict[int, WorkerProcess] = {}
        self._clock = self._next_look = 0.0
        self._seen = time.monotonic()
        self.workers: list[WorkerProcess] = []
        # Runs when this object is dropped, and at exit before multiprocessing waits for processes.
        self._finalizer = Finalize(
            self, end_workers, (self.workers, GIVE_UP_SECONDS), exitpriority=100
        )
        try:
            for each in arguments:
                self.workers.append(WorkerProcess(each, settings.context))
                self._watch(self.workers[-1])
        except BaseException:
            self.close(GIVE_UP_SECONDS)
            raise

    def replace(self, worker: WorkerProcess) -> WorkerProcess:
        """Start a process in place of one that is gone."""
        new = WorkerProcess(self._arguments[worker.number], self._settings.context)
        worker.release()
        self.workers[worker.number] = new
        self._watch(new)
        return new

    def send(self, worker: WorkerProcess, data: bytes) -> None:
        """Send a frame; one that the pipe has no room for goes on during `collect`.

        A worker that is gone does not hear it; `collect` tells of its end.
        """
        if not worker.is_busy:
            worker.since = self._clock
        if worker.is_gone:
            return
        waits = bool(worker.outbox)
        worker.outbox += data
        if not waits and not _flush(worker):
            self._by_fd[worker.commands] = worker
            self._poll.register(worker.commands, select.POLLOUT)

    def collect(self, seconds: float | None) -> list[Event]:
        """Wait until something happens, for `seconds` or a little while, and return it."""
        wait = self._slice if seconds is None else min(seconds, self._slice)
        ready = self._poll.poll(max(wait, 0.0) * 1000)
        self.is_torn = True  # until `Dispatcher.collect` has noted it
        now = time.monotonic()
        self._clock += min(now - self._seen, self._slice)
        self._seen = now
        events: list[Event] = []
        for fd, _ in ready:
            worker = self._by_fd.get(fd)
            if worker is None:
                continue  # gone by an event before this one
            if fd != worker.commands:
                self._read(worker, events)
            elif _flush(worker):
                del self._by_fd[fd]
                self._poll.unregister(fd)
        if self._clock >= self._next_look:
            self._next_look = self._clock + self._slice
            self._look(events)
        return events

    def kill(self, worker: WorkerProcess) -> None:
        """End a process whose envs are to be restarted."""
        for fd in (worker.commands, worker.reports):
            if self._by_fd.pop(fd, None) is not None:
                self._poll.unregister(fd)
        worker.close_pipes()
        worker.kill()

    def close(self, seconds: float) -> None:
        """End all processes within `seconds`, and a second for those that have to be killed."""
        self._finalizer.cancel()
        workers, self.workers[:] = list(self.workers), []
        self._by_fd.clear()
        end_workers(workers, seconds)

    def _watch(self, worker: WorkerProcess) -> None:
        worker.since = self._clock
        self._by_fd[worker.reports] = worker
        self._poll.register(worker.reports, select.POLLIN)

    def _read(self, worker: WorkerProcess, events: list[Event]) -> None:
        try:
            data = os.read(worker.reports, CHUNK)
        except BlockingIOError:
            return
        worker.since = self._clock
        if data == DONE and not worker.inbox:
            events.append((worker, _DONE_FRAME))
        elif data:
            events.extend((worker, message) for message in worker.inbox.feed(data))
        else:
            self._drop(worker, worker.end(), None, events)

    def _look(self, events: list[Event]) -> None:
        """Find workers that ended unnoticed, as a process of an env holds the pipe, or hang."""
        for worker in self.workers:
            if worker.is_gone:
                continue
            if self.memory is not None:
                progress = self.memory.progress(worker.number, worker.indices)
                if progress != worker.progress:
                    worker.progress, worker.since = progress, self._clock
            if worker.has_ended():
                self._read(worker, events)
                if not worker.is_gone:
                    self._drop(worker, worker.end(), None, events)
            elif worker.is_busy and self._clock - worker.since > self._limit(worker):
                state, trace = worker.locate()
                text = f"has not answered for {self._limit(worker):g} s"
                self._drop(worker, f"{text} ({state}) and was killed", trace, events)

    def _limit(self, worker: WorkerProcess) -> float:
        settings = self._settings
        return settings.start_timeout if worker.making else settings.worker_timeout

    def _drop(
        self, worker: WorkerProcess, text: str, trace: str | None, events: list[Event]
    ) -> None:
        self.kill(worker)
        events.append((worker, Ending(text, trace or worker.trace())))


def _flush(worker: WorkerProcess) -> bool:
    """Write what a worker's pipe has room for; return whether nothing is left."""
    try:
        del worker.outbox[: os.write(worker.commands, worker.outbox)]
    except BlockingIOError:
        pass
    except BrokenPipeError:
        worker.outbox.clear()
    return not worker.outbox
