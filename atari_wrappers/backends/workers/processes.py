"""The host's hold on one worker process: its pipes, its end, and what can be learnt of it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import resource_tracker

from atari_wrappers.backends.workers.failures import ending, process_state
from atari_wrappers.backends.workers.memory import Memfd
from atari_wrappers.backends.workers.messages import Inbox
from atari_wrappers.backends.workers.worker import Plan, SharedFd, run

# Seconds for a killed process to be gone, and for one that has closed its pipes to say how it went.
_END_SECONDS = 1.0
# Seconds for a process that runs to write where it is.
_TRACE_SECONDS = 0.5
# How often a process that is to end is looked at: one that is stopped would never.
_LOOK_SECONDS = 0.2
_LARGEST_TRACE = 1 << 16


class WorkerProcess:
    """A process with a block of envs, started at once.

    Args:
        plan: What it is to do; the pipes in it are set here.
        context: `"spawn"` or `"forkserver"`.

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
        since: When, on the group's clock, it was last heard of, or given work while it had none.
        is_lost: Whether it ended, or was ended.
        is_released: Whether nothing is left of it.
    """

    def __init__(self, plan: Plan, context: str) -> None:
        self.number, self.indices = plan.number, plan.indices
        self.block = frozenset(plan.indices)
        self.awaiting: frozenset[int] = frozenset()
        self.making = self.block
        self.asked: str | None = None
        self.since = 0.0
        self.is_lost = self.is_released = False
        self.inbox = Inbox()
        self.outbox = bytearray()
        theirs, self.commands = os.pipe()
        self.reports, theirs_too = os.pipe()
        self._trace = Memfd("atari-worker-trace")
        try:
            plan = replace(
                plan,
                commands=SharedFd(theirs),
                reports=SharedFd(theirs_too),
                trace=SharedFd(self._trace.fd),
            )
            self._process = multiprocessing.get_context(context).Process(
                target=run, args=(plan,), name=f"atari-worker-{plan.number}"
            )
            with _without_interrupts():
                self._process.start()
        except BaseException:
            self.close_pipes()
            raise
        finally:
            os.close(theirs)
            os.close(theirs_too)
        self.pid: int = self._process.pid
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
        return not self._process.is_alive()

    def end(self) -> str:
        """Make sure that a process that closed its pipe is gone; say how it ended."""
        self._process.join(_END_SECONDS)
        how = "closed its pipe" if self._process.is_alive() else ending(self._process.exitcode)
        self.kill()
        return how

    def kill(self) -> None:
        """End it, whatever it does; SIGTERM would not reach a stopped process."""
        self.is_lost = True
        if self._process.is_alive():
            self._process.kill()
            self._process.join(_END_SECONDS)

    def is_stopped(self) -> bool:
        """Whether a signal or a debugger keeps it from running."""
        return (process_state(self.pid) or "").startswith("stopped")

    def locate(self) -> tuple[str | None, str | None]:
        """Return the state of a process that does not answer, and where its Python code is."""
        state = process_state(self.pid)
        if state is not None and not self.is_stopped():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGUSR1)
            self._await_trace()
        return state, self.trace()

    def _await_trace(self) -> None:
        deadline, size = time.monotonic() + _TRACE_SECONDS, 0
        while time.monotonic() < deadline:
            last, size = size, os.fstat(self._trace.fd).st_size
            if size > 0 and size == last:
                return
            time.sleep(0.02)

    def trace(self) -> str | None:
        """Return the traceback that its fault handler wrote, if it did."""
        text = os.pread(self._trace.fd, _LARGEST_TRACE, 0).decode(errors="replace")
        return text.partition("\n\nExtension modules:")[0].strip() or None

    def release(self) -> None:
        """Free what the host holds of a process that is gone."""
        self.is_released = True
        self.close_pipes()
        self._trace.close()
        if not self._process.is_alive():
            self._process.close()

    def let_go(self) -> None:
        """Give back in a forked child what it has of the parent's worker."""
        self.is_released = True
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
        while not self.is_lost and self._process.is_alive() and not self.is_stopped():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self._process.join(min(left, _LOOK_SECONDS))


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
def _without_interrupts() -> Iterator[None]:
    """Keep a Ctrl-C from a process that starts, until it ignores them itself."""
    resource_tracker.ensure_running()  # or its own start, within, would lift the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
