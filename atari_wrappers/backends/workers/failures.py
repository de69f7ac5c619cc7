"""Why an env failed, and the `WorkerError` that says so."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atari_wrappers.backends.workers.messages import Failure
from atari_wrappers.errors import WorkerError

# With this status a worker leaves that was about to start workers itself, as it imported a script
# that does so outside of a guard.
UNGUARDED_STATUS = 78
UNGUARDED = 'ended, as the main module starts workers outside of `if __name__ == "__main__":`,'
ENDED = "ended"
_STATES = {
    "R": "running",
    "S": "asleep",
    "D": "waiting for a device",
    "T": "stopped",
    "t": "stopped by a debugger",
    "Z": ENDED,
    "X": ENDED,
}
# Tracebacks in one message; envs often fail alike.
_MAX_TRACEBACKS = 3


@dataclass(frozen=True, slots=True, eq=False)
class EnvFailure:
    """One event that cost envs.

    Attributes:
        text: What happened, as a sentence without its stop.
        doing: What the env at fault was doing.
        traceback: Where, if that is known.
        cause: What the env raised, if it did and the host can make it again.
    """

    text: str
    doing: str
    traceback: str | None = None
    cause: BaseException | None = None

    @classmethod
    def of_failure(cls, failure: Failure, index: int, worker: str, doing: str) -> EnvFailure:
        """Tell that an env raised."""
        text = f"env {index} raised {failure.summary} in {doing} ({worker})"
        return cls(text, doing, failure.traceback, failure.cause())


def worker_error(
    failures: Sequence[EnvFailure], indices: Sequence[int], remedy: str
) -> WorkerError:
    """Return the error that reports events, each once, and the envs that they cost.

    Its `__cause__` is what the first env raised, if it did.
    """
    events = list(dict.fromkeys(failures))
    tracebacks = list(dict.fromkeys(event.traceback for event in events if event.traceback))
    error = WorkerError(
        "; ".join(event.text for event in events),
        indices,
        events[0].doing,
        "\n\n".join(tracebacks[:_MAX_TRACEBACKS]) or None,
        remedy,
    )
    error.__cause__ = next((event.cause for event in events if event.cause is not None), None)
    return error


def ending(exit_code: int | None) -> str:
    """Say how a process ended."""
    if exit_code is None:
        return "ended"
    if exit_code == UNGUARDED_STATUS:
        return UNGUARDED
    if exit_code >= 0:
        return f"exited with status {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"


def process_state(pid: int) -> str | None:
    """Return the kernel's word for a process, such as `stopped`; `None` if nothing is left."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return _STATES.get(stat.rpartition(")")[2].split()[0])
