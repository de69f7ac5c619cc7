"""A run does not depend on who emulates its games: the same seed is the same run, bit for bit."""

from __future__ import annotations

from typing import Any

import pytest
from program import INVADERS, Trainer
from same_run import assert_same_run

# A limit ends games often, and a lost life ends episodes within them.
GAMES = ["--max-episode-frames", 160, "--sticky-actions", 0.25, "--total-steps", 320, "--seed", 3]


# ALE's own threads cannot follow `baselines` or two players; Python's rules can.
@pytest.mark.parametrize(
    ("oracle", "recipe"),
    [
        ("ale", ["--env-threads", 2]),
        ("sync", ["--recipe", "baselines", "--env-id", "BreakoutNoFrameskip-v4"]),
        ("sync", ["--num-players", 2, "--env-id", "PongNoFrameskip-v4"]),
    ],
)
def test_training_on_native_is_training_on_ale_py(
    oracle: str, recipe: list[Any], trainer: Trainer
) -> None:
    for backend in ("native", oracle):
        run = ["--run-name", backend, "--backend", backend, *INVADERS, *GAMES, *recipe]
        trainer.run("train", *run)
    runs = trainer.folder / "runs"
    done = assert_same_run(runs / "native", runs / oracle)
    assert int(done.split()[2]) > 5, done
