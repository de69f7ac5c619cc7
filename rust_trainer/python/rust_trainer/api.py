"""`train` and `evaluate`: the program's commands as functions, with a callback for each update."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rust_trainer import _extension
from rust_trainer.errors import TrainerError, UsageError
from rust_trainer.progress import Progress
from rust_trainer.settings import Settings

_SIGNALLED = 128


@dataclass(frozen=True, kw_only=True)
class Update:
    """An update of a run.

    Attributes:
        step: Agent steps so far, over all environments.
        total_steps: Those of the whole run.
        games: True games that have ended.
        scalars: The row of `updates.csv`: losses, times, `raw_return_mean_100`; `None` for what is
            not known yet.
    """

    step: int
    total_steps: int
    games: int
    scalars: dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What became of a run.

    Attributes:
        is_finished: All steps are done; otherwise the callback stopped it.
        folder: The run's folder: checkpoints, tables, the learning curve.
        step: Agent steps that were learned from.
        updates: How many.
        seconds: Of training.
        games: How many the next two are of: the last 100, if as many ended.
        mean_return: Their mean raw return; `None` where no game ended.
        mean_length: In self-play their mean length in agent steps.
        best: The best evaluation, where the run was evaluated: `mean`, `std`, `step` and more.
    """

    is_finished: bool
    folder: Path
    step: int
    updates: int
    seconds: float
    games: int
    mean_return: float | None
    mean_length: float | None
    best: dict[str, float] | None


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Whole games that a policy has played.

    Attributes:
        returns: Raw returns in the order in which the games ended.
        lengths: Of the games in agent steps.
        mean: Mean return.
        std: Standard deviation of the returns, of the population.
        step: Agent steps that the policy has learned from.
    """

    returns: list[float]
    lengths: list[int]
    mean: float
    std: float
    step: int


Callback = Callable[[Update], bool | None]


def train(
    settings: Settings | None = None,
    *,
    resume: str | os.PathLike[str] | None = None,
    callback: Callback | None = None,
    progress: bool = True,
) -> TrainResult:
    """Train an agent: the same run, bit for bit, as that of the program with these settings.

    Python's lock is free while it learns; other threads go on, and may train, too. Ctrl-C stops it
    as it stops the program: a checkpoint is written, then `KeyboardInterrupt` is raised. A second
    Ctrl-C ends the process at once.

    Args:
        settings: Which run; the defaults where a setting is left out. With `resume` those that may
            change: how far and where.
        resume: A run's folder, with which to go on from its newest checkpoint.
        callback: Called after each update. Where it returns `False`, or what else is false but
            `None`, the run stops with a checkpoint; what it raises is raised here then.
        progress: Show a bar, by tqdm where that is installed, and what the program says.

    Returns:
        How it ended.

    Raises:
        UsageError: (a `ValueError`) A setting that cannot work, a folder that is in use.
        TrainerError: The run failed; the message says what is kept of it, and how to go on.
        ImportError: The compiled module is missing, or what it needs.
    """
    arguments = ["train", *(settings or Settings()).arguments()]
    if resume is not None:
        arguments.append(f"--resume={os.fspath(resume)}")
    shown = Progress(is_shown=progress)
    stopped = False
    ended: dict[str, Any] = {}

    def hear(event: dict[str, Any]) -> bool:
        nonlocal stopped
        match event.pop("event"):
            case "update":
                update = Update(**event)
                shown.update(update.step, update.total_steps, update.scalars)
                answer = None if callback is None else callback(update)
                if answer is not None and not answer:  # NumPy's false is no `False`
                    stopped = True
                    return False
            case "end":
                ended.update(event)
            case "line":
                shown.line(event["text"])
        return True

    try:
        status = _run(arguments, hear)
    finally:
        shown.close()
    if status and not stopped:
        text = f"stopped; go on by train(resume={ended['folder']!r})" if ended else "stopped"
        _raise_signal(status - _SIGNALLED, text)
    if not ended:
        raise TrainerError("stopped before there was anything to save")
    ended["folder"] = Path(ended["folder"])
    return TrainResult(**ended)


def evaluate(
    run: str | os.PathLike[str],
    episodes: int = 10,
    *,
    best: bool = False,
    greedy: bool = False,
    seed: int = 0,
    num_envs: int = 8,
    device: str = "auto",
    precision: str | None = None,
    video_dir: str | os.PathLike[str] | None = None,
) -> Evaluation:
    """Let a trained agent play whole games, as the program's `eval` does.

    Args:
        run: A run's folder, whose newest checkpoint is taken, or a checkpoint.
        episodes: True games.
        best: Take the checkpoint that did best in evaluations during training.
        greedy: Take the best action instead of drawing from the policy.
        seed: Of the games and of the policy's draws.
        num_envs: Environments played at once.
        device: Where the network runs: `auto`, `cpu`, `cuda` or `cuda:N`.
        precision: Number format, `fp32`, `bf16` or `auto`; the run's where it is None.
        video_dir: Folder for the games as mp4.

    Returns:
        Their returns and lengths.

    Raises:
        Exception: As `train`.
    """
    arguments = ["eval", f"--episodes={episodes}", f"--seed={seed}"]
    arguments += [f"--num-envs={num_envs}", f"--device={device}"]
    arguments += ["--best"] * best + ["--greedy"] * greedy
    if precision is not None:
        arguments += [f"--precision={precision}"]
    if video_dir is not None:
        arguments.append(f"--video-dir={os.fspath(video_dir)}")
    heard = _Played()
    status = _run([*arguments, "--", os.fspath(run)], heard)
    if status:
        _raise_signal(status - _SIGNALLED, "stopped")
    said = heard.evaluation
    return Evaluation(
        returns=heard.returns,
        lengths=heard.lengths,
        mean=said["mean"],
        std=said["std"],
        step=said["step"],
    )


@dataclass
class _Played:
    """Keeps what an evaluation says."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    evaluation: dict[str, Any] = field(default_factory=dict)

    def __call__(self, event: dict[str, Any]) -> bool:
        if event["event"] == "game":
            self.returns.append(event["raw_return"])
            self.lengths.append(event["length"])
        elif event["event"] == "evaluation":
            self.evaluation = event["scalars"]
        return True


def _run(arguments: list[str], hear: Callable[[dict[str, Any]], bool]) -> int:
    """Run a command, whose events `hear` gets; returns its status: 0, or 128 and a signal."""
    extension = _extension()
    import torch

    errors: list[dict[str, Any]] = []

    def heard(text: str) -> bool:
        event = json.loads(text)
        if event["event"] == "error":
            errors.append(event)
            return True
        if event["event"] == "warning":
            warnings.warn(event["text"], stacklevel=4)
            return True
        return hear(event)

    threads = torch.get_num_threads()
    try:
        status: int = extension.run(["rust_trainer", *arguments], heard)
    finally:
        torch.set_num_threads(threads)  # the trainer has threads of its own, of one each
    if errors:
        said = errors[-1]
        error = (UsageError if said["is_usage"] else TrainerError)(said["text"])
        error.details = said["details"]
        if said["details"]:
            error.add_note(said["details"])
        raise error
    return status


def _raise_signal(number: int, text: str) -> None:
    """Do what the signal that has stopped a command does in Python."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt(text)
    signal.raise_signal(number)
