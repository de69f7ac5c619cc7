"""A run that was stopped or killed, at any moment, and that went on is the run that never was."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from pathlib import Path

import pytest
from program import INVADERS, Trainer, read_checkpoint
from run_files import untimed_rows

ENV_ID = "SpaceInvadersNoFrameskip-v4"
# A limit ends games often, and a lost life ends episodes within them.
GAMES = ["--num-envs", 2, "--max-episode-frames", 160, "--sticky-actions", 0.25]
VARIANTS = {
    "ppo": ["--num-steps", 8, "--num-minibatches", 2, "--update-epochs", 1],
    "a2c": [],
    "dqn": [
        *("--steps-per-update", 40, "--learning-starts", 100, "--replay-capacity", 500),
        *("--train-frequency", 16, "--batch-size", 8),
    ],
    "pqn": ["--num-steps", 8, "--num-minibatches", 2, "--update-epochs", 1],
}


def start(trainer: Trainer, *arguments: object) -> subprocess.Popen[str]:
    """Start and wait until it trains."""
    process = trainer.start(*arguments)
    while not process.stdout.readline().startswith("run folder"):
        assert process.poll() is None, process.communicate()
    return process


Stop = tuple[float, signal.Signals]


def train_with_stops(trainer: Trainer, stops: list[Stop], arguments: list[object]) -> list[str]:
    """Train `runs/run`, sent each of these signals after its seconds, if it is not done by then.

    Returns what was said on stderr by each process.
    """
    said, stopped = [], 0
    for number, (until, signal_number) in enumerate([*stops, (None, None)]):
        process = start(trainer, *(arguments if number == 0 else ["train", "--resume", "runs/run"]))
        try:
            _, err = process.communicate(timeout=until)
        except subprocess.TimeoutExpired:
            process.send_signal(signal_number)
            _, err = process.communicate(timeout=120)
        said.append(err)
        ends = (0,) if until is None else (0, 130, -signal.SIGKILL)
        assert process.returncode in ends, err
        stopped += process.returncode != 0
    assert stopped > 0 or not stops, "it was over before it could be stopped"
    return said


def newest(run: Path) -> tuple[dict, str, bytes, list[bytes]]:
    """Return what a run's newest checkpoint holds: progress, values, tensors and envs, replay."""
    path = max(run.glob("checkpoints/step-????????????.safetensors"))
    metadata, tensors = read_checkpoint(path)
    counters = json.loads(metadata["counters"])
    progress = {name: counters[name] for name in ("step", "update")}
    replays = [beside.read_bytes() for beside in path.parent.glob(f"{path.stem}.replay.*")]
    return progress, metadata["algorithm"], tensors, replays


# On `native`, with a checkpoint now and then, the program is killed, too.
STOPS = {
    "pqn": [signal.SIGINT] * 2,
    "a2c": [signal.SIGINT],
    "ppo": [signal.SIGKILL, signal.SIGINT],
    "dqn": [signal.SIGINT, signal.SIGKILL],
}


# Each algorithm and each backend: who saves the games knows nothing of who learns.
@pytest.mark.parametrize(
    ("algorithm", "backend"),
    [("pqn", "sync"), ("a2c", "async"), ("ppo", "native"), ("dqn", "native")],
)
def test_stops_change_nothing(trainer: Trainer, algorithm: str, backend: str) -> None:
    steps = 1600 if backend == "native" else 800
    arguments = ["train", "--algorithm", algorithm, "--env-id", ENV_ID, "--total-steps", steps]
    arguments += ["--backend", backend, "--torch-threads", 1, *GAMES, *VARIANTS[algorithm]]
    arguments += ["--checkpoint-every", 200] if backend == "native" else []
    whole, broken = (trainer.folder / "runs" / name for name in ("whole", "run"))
    train_with_stops(trainer, [], [*arguments, "--run-name", "whole"])
    moments = random.Random(f"{algorithm} on {backend}")
    stops = [(moments.uniform(0.0, 0.6), number) for number in STOPS[algorithm]]
    said = train_with_stops(trainer, stops, [*arguments, "--run-name", "run"])
    assert not any("anew" in text for text in said)
    for table in ("updates.csv", "episodes.csv"):
        assert len(untimed_rows(whole / table)) > 10, table
        assert untimed_rows(whole / table) == untimed_rows(broken / table), table
    assert newest(whole) == newest(broken)
    assert len(newest(whole)[-1]) == (algorithm == "dqn")


def test_what_may_change_bits_is_said_in_a_line_each(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    trainer.run("train", "--run-name", "run", "--total-steps", 32, "--backend", "native", *INVADERS)
    _, err = trainer.run("train", "--resume", "runs/run", "--total-steps", 32)
    assert "was" not in err
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    _, err = trainer.run("train", "--resume", "runs/run", "--total-steps", 48)
    [of_libtorch, of_length] = [line for line in err.splitlines() if " was " in line]
    assert "ATEN_CPU_CAPABILITY was not set and is avx2 now: " in of_libtorch
    assert "total_steps was 32 and is 48 now: the learning rate jumps" in of_length


def test_games_that_cannot_be_saved_start_anew_and_the_run_says_so(trainer: Trainer) -> None:
    game = ["--run-name", "run", "--total-steps", 32, "--backend", "ale", *INVADERS]
    trainer.run("train", *game)
    _, err = trainer.run("train", "--resume", "runs/run", "--total-steps", 48)
    assert 'the games start over: save_state: backend "ale" cannot reach into its envs' in err
