"""Evaluation during training, as its users meet it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from program import CARTPOLE, CARTPOLE_RUN, INVADERS, Trainer, read_checkpoint
from run_files import rows


def test_eval_plays_the_games_of_the_best_evaluation_again(trainer: Trainer) -> None:
    """Same policy, games and draws: `eval` and training share the code that plays."""
    arguments = ["--eval-every", 512, "--eval-episodes", 5, "--eval-num-envs", 3]
    out, err = trainer.run(
        "train", "--run-name", "run", *arguments, *CARTPOLE, "--total-steps", 2048, "--seed", 7
    )
    run = trainer.folder / "runs/run"
    found = rows(run / "evaluations.csv")
    assert [int(row["step"]) for row in found] == [512, 1024, 1536, 2048]
    assert err.count("evaluation at agent step") == 4
    best = max(found, key=lambda row: float(row["mean"]))
    assert f"best evaluation: {float(best['mean']):.1f}" in out
    assert "eval 'runs/run' --best" in out

    again = ["--episodes", 5, "--num-envs", 3, "--seed", 7 + 2**29]
    out, _ = trainer.run("eval", "runs/run", "--best", *again)
    assert f"at agent step {best['step']}," in out
    mean, deviation = re.search(r"mean ([\d.]+) ± ([\d.]+)", out).groups()
    assert float(mean) == pytest.approx(float(best["mean"]), abs=0.005)
    assert float(deviation) == pytest.approx(float(best["std"]), abs=0.005)


def test_games_of_atari_are_evaluated_whole_and_the_run_does_not_notice(trainer: Trainer) -> None:
    size = ["--total-steps", 32, "--max-episode-frames", 400, "--seed", 2, *INVADERS]
    evaluation = ["--eval-every", 16, "--eval-episodes", 2, "--eval-greedy", "true"]
    trainer.run("train", "--run-name", "run", *evaluation, *size)
    trainer.run("train", "--run-name", "plain", *size)
    name = "checkpoints/step-000000000032.safetensors"
    [watched, plain] = [
        read_checkpoint(trainer.folder / "runs" / run / name)[1] for run in ("run", "plain")
    ]
    assert watched == plain
    found = rows(trainer.folder / "runs/run/evaluations.csv")
    for row in found:
        assert float(row["length"]) > 80, "cut by the limit alone: 400 frames"
        least, mean, most = (float(row[name]) for name in ("min", "mean", "max"))
        assert least % 5 == most % 5 == 0, "raw points, not clipped"
        assert mean == (least + most) / 2
    assert max(float(row["max"]) for row in found) >= 5


def test_best_is_refused_where_there_is_none(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*CARTPOLE_RUN)
    checkpoint = "runs/run/checkpoints/step-000000001024.safetensors"
    cases = (
        ("runs/run", "eval_every"),
        ("runs/none", "does not exist"),
        (checkpoint, "--best takes a run's folder"),
    )
    said = trainer.run_all(*(["eval", path, "--best"] for path, _ in cases))
    for (path, words), (status, _, err) in zip(cases, said, strict=True):
        assert status == 1, err
        assert words in err
        assert path in err
        assert err.count("\n") == 1
