"""What workers report, noted on the ticket of their batch, and why envs failed.

Nothing here talks to a process: `dispatcher` sends and hears, and notes it here.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.base import EnvReset, Ticket
from atari_wrappers.backends.restarts import BEING_MADE, EnvFailure, Restarts, describe
from atari_wrappers.backends.workers.group import Ending
from atari_wrappers.backends.workers.memory import BatchMemory
from atari_wrappers.backends.workers.messages import Failure, Frame
from atari_wrappers.backends.workers.processes import WorkerProcess

_NOTHING: frozenset[int] = frozenset()


class PendingWork:
    """The state of each env's work.

    Work is a step or a reset. It is on the ticket when the batch was asked for it, sent off unless
    the env has failed, done when the worker has written the env's row, and ready when the host
    knows.

    Attributes:
        memory: Where workers note what they have done; set once its size is known.
    """

    memory: BatchMemory

    def __init__(self, ticket: Ticket, restarts: Restarts, mode: AutoresetMode) -> None:
        self._ticket, self._failed, self._mode = ticket, restarts.failed, mode

    def is_unfinished(self, index: int) -> bool:
        """Whether an env has begun what it has not finished."""
        return index in self._ticket.asked and not self.memory.done[index]

    def blocked(self) -> list[int]:
        """Return the failed envs with work that only a restarted env can finish."""
        return [index for index in self._failed if self.is_unfinished(index)]

    def note_done(self, worker: WorkerProcess) -> None:
        """Note that a worker has done all it was given."""
        # Of a block that is whole no env has failed or was restarted meanwhile.
        is_whole = worker.awaiting is worker.block
        self._ticket.ready.extend(worker.indices if is_whole else sorted(worker.awaiting))
        worker.awaiting = _NOTHING

    def note_ready(self, worker: WorkerProcess, index: int) -> None:
        """Note that an env has done what it was given."""
        self._ticket.ready.append(index)
        worker.awaiting -= {index}

    def note_failure(self, worker: WorkerProcess, message: Frame) -> None:
        """Note that an env raised."""
        index = message.env
        failure: Failure = pickle.loads(message.payload)
        doing = BEING_MADE if index in worker.making else self._doing(index)
        self._failed[index] = failure.of_env(index, str(worker), doing)
        worker.awaiting -= {index}
        worker.making -= {index}

    def note_ending(self, worker: WorkerProcess, ending: Ending) -> None:
        """Note that a process is gone, and its envs with it; what they had finished is kept."""
        unfinished: list[int] = []
        for index in worker.indices:
            if index in worker.awaiting:
                (unfinished if self.is_unfinished(index) else self._ticket.ready).append(index)
        if worker.making:
            doing, at = BEING_MADE, f"env {min(worker.making)} was "
        elif unfinished:
            last = int(self.memory.busy[worker.number])
            index = last if last in unfinished else unfinished[0]
            doing, at = self._doing(index), f"env {index} was in "
        elif worker.asked:
            doing, at = worker.asked, "it was in "
        else:
            doing, at = "waiting for work", "it was "
        envs = "envs" if len(worker.indices) > 1 else "env"
        numbers = ", ".join(map(str, worker.indices))
        text = f"{worker} ({envs} {numbers}) {ending.text} while {at}{doing}"
        self._failed |= dict.fromkeys(worker.indices, EnvFailure(text, doing, ending.traceback))
        worker.awaiting = worker.making = _NOTHING
        worker.asked = None

    def _doing(self, index: int) -> str:
        asked, action = self._ticket.asked.get(index), self.memory.actions[index]
        return describe(asked, action, self.memory.rows, index, self._mode)


def split_resets(indices: Iterable[int], asked: dict[int, Any]) -> tuple[list[int], list[Any]]:
    """Return which envs are to step, and what the others' resets are: requests by options."""
    steps: list[int] = []
    by_options: dict[bytes, list[tuple[int, int | None]]] = {}
    for index in indices:
        if isinstance(asked[index], EnvReset):
            seed, options = asked[index]
            by_options.setdefault(options, []).append((index, seed))
        else:
            steps.append(index)
    return steps, [(requests, options) for options, requests in by_options.items()]
