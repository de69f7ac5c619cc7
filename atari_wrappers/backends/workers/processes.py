"""The host's hold on one worker process: its pipes, its end, and what can be learnt of it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import forkserver, process, resource_tracker
from multiprocessing.context import ForkServerProcess, SpawnProcess
from pathlib import Path

from atari_wrappers.backends.workers.memory import Memfd, SharedFd
from atari_wrappers.backends.workers.messages import Inbox
from atari_wrappers.backends.workers.worker import RUN_SIGNALS, WorkerArguments, run
from atari_wrappers.settings import Context

# Seconds for a killed process to be gone, and for one that has closed its pipes to say how it went.
_END_SECONDS = 1.0
# Seconds for a process that runs to write where it is.
_TRACE_SECONDS = 0.5
# How often a process that is to end is looked at: one that is stopped would never.
_LOOK_SECONDS = 0.2
_LARGEST_TRACE = 1 << 16
_NAME = "atari-worker"
# With this status a worker leaves that was about to start workers itself, as it imported a script
# that does so outside of a guard.
_UNGUARDED_STATUS = 78
UNGUARDED = 'ended, as the main module starts workers outside of `if __name__ == "__main__":`,'
_ENDED = "ended"
_STATES = {
    "R": "running",
    "S": "asleep",
    "D": "waiting for a device",
    "T": "stopped",
    "t": "stopped by a debugger",
    "Z": _ENDED,
    "X": _ENDED,
}


class WorkerProcess:
    """A process with a block of envs, started at once.

    Attributes:
        number: Its place among the workers.
        indices: Its envs.
        block: The same as a set.
        commands, reports: The host's ends of its pipes; they do not block.
        inbox: What it said, in part.
        outbox: What the pipe had no room for.
        awaiting: Envs whose work it was given and has not reported.
        making: Envs that it was told to make and has not.
        asked: What it was called for and has not answered.
        since: When, on the group's clock, it last got on, or was given work while it had none.
        progress: What `BatchMemory.progress` last said of it.
        is_gone: Whether it ended, or was ended.
        is_released: Whether nothing is left of it.
    """

    commands: int
    reports: int
    pid: int
    is_gone: bool
    is_released: bool

    def __init__(self, arguments: WorkerArguments, context: Context) -> None:
        self.number: int = arguments.number
        self.indices: range = arguments.indices
        self.block: frozenset[int] = frozenset(self.indices)
        self.awaiting: frozenset[int] = frozenset()
        self.making: frozenset[int] = self.block
        self.asked: str | None = None
        self.since: float = 0.0
        self.progress: tuple[int, int] = (0, 0)
        self.is_gone = self.is_released = False
        # What all children of a fork server that is gone are said to have ended with.
        self._no_status = 255 if context == "forkserver" else None
        self.inbox: Inbox = Inbox()
        self.outbox: bytearray = bytearray()
        theirs, self.commands = os.pipe()
        self.reports, theirs_too = os.pipe()
        self._trace = Memfd("atari-worker-trace")
        try:
            arguments = replace(
                arguments,
                commands=SharedFd(theirs),
                reports=SharedFd(theirs_too),
                trace=SharedFd(self._trace.fd),
            )
            started_by = SpawnProcess if context == "spawn" else ForkServerProcess
            self._process = started_by(target=run, args=(arguments,), name=f"{_NAME}-{self.number}")
            with _signals_blocked(context):
                self._process.start()
        except BaseException as error:
            self.close_pipes()
            is_worker = multiprocessing.current_process().name.startswith(_NAME)
            if is_worker and "bootstrapping" in str(error):
                os._exit(_UNGUARDED_STATUS)  # the host says what is wrong
            raise
        finally:
            os.close(theirs)
            os.close(theirs_too)
        assert self._process.pid is not None, "it was started"
        self.pid = self._process.pid
        os.set_blocking(self.commands, False)
        os.set_blocking(self.reports, False)

    @property
    def is_busy(self) -> bool:
        """Whether it owes an answer."""
        return bool(self.awaiting or self.making or self.asked)

    def __str__(self) -> str:
        """Name it for a message."""
        return f"worker {self.number}, process {self.pid}"

    def has_ended(self) -> bool:
        """Whether the process is gone, though something may still hold its pipe."""
        if self._process.is_alive():
            return False
        is_told = self._process.exitcode != self._no_status
        return is_told or _process_state(self.pid) in (None, _ENDED)

    def end(self) -> str:
        """Make sure that a process that closed its pipe is gone; say how it ended."""
        self._await_end(time.monotonic() + _END_SECONDS)
        how = "closed its pipe"
        if self.has_ended():
            status = self._process.exitcode
            how = _ending(None if status == self._no_status else status)
        self.kill()
        return how

    def kill(self) -> None:
        """End it, whatever it does; no other signal would."""
        self.is_gone = True
        if not self.has_ended():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._await_end(time.monotonic() + _END_SECONDS)

    def _await_end(self, deadline: float) -> None:
        while not self.has_ended() and (left := deadline - time.monotonic()) > 0:
            if self._process.is_alive():
                self._process.join(min(left, _LOOK_SECONDS))
            else:
                time.sleep(min(left, 0.01))

    def is_stopped(self) -> bool:
        """Whether a signal or a debugger keeps it from running."""
        return (_process_state(self.pid) or "").startswith("stopped")

    def locate(self) -> tuple[str | None, str | None]:
        """Return the state of a process that does not answer, and where its Python code is."""
        state = _process_state(self.pid)
        if state is not None and not self.is_stopped():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGUSR1)
            deadline, size, unchanged = time.monotonic() + _TRACE_SECONDS, 0, 0
            while time.monotonic() < deadline and unchanged < 5:  # it is written in parts
                time.sleep(0.02)
                last, size = size, os.fstat(self._trace.fd).st_size
                unchanged = unchanged + 1 if size == last > 0 else 0
        return state, self.trace()

    def trace(self) -> str | None:
        """Return the traceback that its fault handler wrote, if it did."""
        text = os.pread(self._trace.fd, _LARGEST_TRACE, 0).decode(errors="replace")
        return text.partition("\n\nExtension modules:")[0].strip() or None

    def release(self) -> None:
        """Free what the host holds of a process that is gone."""
        self.is_released = True
        self.close_pipes()
        self._trace.close()
        if self.has_ended():
            self._process.close()

    def let_go(self) -> None:
        """Give back in a forked child what it has of the parent's worker."""
        self.is_released = True
        # At exit Python joins them, as only parents can.
        process._children.discard(self._process)  # type: ignore[attr-defined]
        self.close_pipes()
        self._trace.close()

    def close_pipes(self) -> None:
        """Let it see the end of its pipes, which is how it is told to end."""
        for name in ("commands", "reports"):
            fd = getattr(self, name)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)

    def wait_for_end(self, deadline: float) -> None:
        """Wait until it ends by itself, as long as it can."""
        while not (self.is_gone or self.has_ended() or self.is_stopped()):
            now = time.monotonic()
            if now >= deadline:
                return
            self._await_end(min(deadline, now + _LOOK_SECONDS))


def end_workers(workers: Sequence[WorkerProcess], seconds: float) -> None:
    """End processes: told to, given `seconds` in all to close their envs, and then made to.

    Stopped ones are given no time. It takes `seconds` and, where a process cannot be killed (the
    kernel waits for a device), one second more for each.
    """
    workers = [worker for worker in workers if not worker.is_released]
    for worker in workers:
        worker.close_pipes()
    deadline = time.monotonic() + seconds
    try:
        for worker in workers:
            worker.wait_for_end(deadline)
    finally:  # a second Ctrl-C must not leave any
        for worker in workers:
            worker.kill()
            worker.release()


@contextlib.contextmanager
def _signals_blocked(context: str) -> Iterator[None]:
    """Keep what the run is told from a process that starts, until it sees to that itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        # It ignores the other two, and lifts their mask here.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_SETMASK, before | {signal.SIGINT})
        if context == "forkserver":  # whose children, others too, could not be terminated else
            forkserver.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, RUN_SIGNALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(exit_code: int | None) -> str:
    """Say how a process ended."""
    if exit_code is None:
        return "ended"
    if exit_code == _UNGUARDED_STATUS:
        return UNGUARDED
    if exit_code >= 0:
        return f"exited with status {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"


def _process_state(pid: int) -> str | None:
    """Return the kernel's word for a process, such as `stopped`; `None` if nothing is left."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return _STATES.get(stat.rpartition(")")[2].split()[0])
