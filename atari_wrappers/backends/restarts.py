"""Envs that fail and are restarted, as `sync` and `async` both do it and tell of it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.base import EnvReset
from atari_wrappers.backends.results import ResultArrays
from atari_wrappers.checks import SEED_END
from atari_wrappers.errors import WorkerError
from atari_wrappers.settings import Settings

LOGGER = logging.getLogger("atari_wrappers")
BEING_MADE = "being made"
_REMEDY = "; restart_workers() restarts what failed"
# Tracebacks in one message; envs often fail alike.
_MAX_TRACEBACKS = 3


@dataclass(frozen=True, slots=True, eq=False)
class EnvFailure:
    """One event that cost envs.

    Attributes:
        text: What happened, as a sentence without its stop.
        doing: What the env at fault was doing.
        traceback: Where in a worker process, if that is known.
        cause: What the env raised, if it did and this process can make it again.
    """

    text: str
    doing: str
    traceback: str | None = None
    cause: BaseException | None = None


class Restarts:
    """Why envs of a batch failed, and how they are restarted.

    The same run restarts envs with the same seeds, and without one where there was none.

    Attributes:
        failed: Envs that wait for a restart, and why.
        retried: Those that were restarted automatically and have not done their step yet.
    """

    def __init__(self, num_envs: int, settings: Settings) -> None:
        self.failed: dict[int, EnvFailure] = {}
        self.retried: set[int] = set()
        self._by_themselves = settings.on_worker_failure == "restart"
        self._seeds: list[int | None] = [None] * num_envs
        self._restarts = [0] * num_envs

    def note_seed(self, index: int, seed: int | None) -> None:
        """Remember what an env was seeded with."""
        if seed is not None:
            self._seeds[index] = seed

    def new_seed(self, index: int) -> int | None:
        """Return the seed of an env that is restarted."""
        self._restarts[index] += 1
        seed = self._seeds[index]
        if seed is None:
            return None
        sequence = np.random.SeedSequence((seed, self._restarts[index]))
        return int(sequence.generate_state(1)[0]) % SEED_END

    def error(self, remedy: str = _REMEDY) -> WorkerError:
        """Return the error that names all envs that failed, and tells why."""
        indices = sorted(self.failed)
        return worker_error([self.failed[index] for index in indices], indices, remedy)

    def refuse_failed(self, indices: Iterable[int]) -> None:
        """Refuse what needs an env that has failed."""
        if any(index in self.failed for index in indices):
            raise self.error()

    def retry_or_raise(self, indices: Collection[int]) -> None:
        """Log that failed envs are restarted, once for each step, where that is set; else raise."""
        error = self.error()
        if not self._by_themselves or self.retried.intersection(indices):
            raise error
        cause = error.__cause__
        is_traced = cause is not None and cause.__traceback__ is not None
        trace = "" if error.remote_traceback is None else f"\n\n{error.remote_traceback}"
        exc_info = cause if is_traced else None
        LOGGER.warning("restarted: %s%s", error.reason, trace, exc_info=exc_info)
        self.retried.update(indices)


def worker_error(
    failures: Sequence[EnvFailure], indices: Sequence[int], remedy: str = ""
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


def describe(asked: Any, action: Any, rows: ResultArrays, index: int, mode: AutoresetMode) -> str:
    """Say what an env is doing that was asked to, by the row that its last step left."""
    if isinstance(asked, EnvReset):
        return "a reset" if asked.seed is None else f"a reset with seed {asked.seed}"
    has_ended = rows.terminated[index] or rows.truncated[index]
    if has_ended and mode == AutoresetMode.NEXT_STEP:
        return "the reset after its episode's end"
    is_new = rows.game_terminated[index] or rows.game_truncated[index]
    step = 1 if is_new else int(rows.episode_length[index]) + 1
    return f"step {step} of its game with action {action}"


def summary(error: BaseException) -> str:
    """Return an error's type and message."""
    name = type(error).__qualname__
    try:
        return f"{name}: {error}" if str(error) else name
    except Exception:
        return name  # an error may fail to say what it is
