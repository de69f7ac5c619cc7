"""The trainer in a folder of its own, for each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from program import MODULE, PROGRAM, Trainer


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    """The program `rust_trainer`."""
    return Trainer(tmp_path, PROGRAM)


@pytest.fixture(params=["program", "module"])
def either_trainer(request: pytest.FixtureRequest, tmp_path: Path) -> Trainer:
    """The program `rust_trainer`, and `python -m rust_trainer`."""
    return Trainer(tmp_path, PROGRAM if request.param == "program" else MODULE)


@pytest.fixture
def trained(trainer: Trainer) -> Callable[..., Path]:
    """Train for a moment and return the run's folder."""

    def train(*arguments: object) -> Path:
        trainer.run("train", "--run-name", "run", *arguments)
        return trainer.folder / "runs/run"

    return train
