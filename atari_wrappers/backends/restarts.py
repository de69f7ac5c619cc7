"""Envs that fail, as `sync` and `async` both tell of it, and the seeds of those made anew."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.results import ResultArrays
from atari_wrappers.errors import WorkerError
from atari_wrappers.vector.checks import SEED_END

_LOGGER = logging.getLogger("atari_wrappers")

REMEDY = "; restart_workers() makes what failed anew"
BEING_MADE = "being made"


def describe_reset(seed: int | None) -> str:
    """Say what an env that was told to reset is doing."""
    return "a reset" if seed is None else f"a reset with seed {seed}"


def describe_step(rows: ResultArrays, index: int, mode: AutoresetMode, action: Any) -> str:
    """Say what an env that was told to step is doing, by the row that its last step left."""
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


def log_restart(error: WorkerError) -> None:
    """Write to the log of this package why envs are made anew without the caller being told."""
    cause = error.__cause__
    is_traced = cause is not None and cause.__traceback__ is not None
    text = error.reason
    if error.remote_traceback is not None:
        text += f"\n\n{error.remote_traceback}"
    _LOGGER.warning("made anew: %s", text, exc_info=cause if is_traced else None)


def log_slow_start(index: int, worker: str, seconds: float, limit: float) -> None:
    """Write to the log which env is waited for while a batch is made, and for how long at most."""
    _LOGGER.warning(
        "env %d is not made after %g s (%s); start_timeout=%g s is what each env is given",
        *(index, seconds, worker, limit),
    )


class RestartSeeds:
    """Seeds for envs made anew: the same ones in the same run, and none where there was none."""

    def __init__(self, num_envs: int) -> None:
        self._seeds: list[int | None] = [None] * num_envs
        self._restarts = [0] * num_envs

    def note(self, index: int, seed: int | None) -> None:
        """Remember what an env was seeded with."""
        if seed is not None:
            self._seeds[index] = seed

    def of_restart(self, index: int) -> int | None:
        """Return the seed of an env that is made anew."""
        self._restarts[index] += 1
        if self._seeds[index] is None:
            return None
        sequence = np.random.SeedSequence((self._seeds[index], self._restarts[index]))
        return int(sequence.generate_state(1)[0]) % SEED_END
