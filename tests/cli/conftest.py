"""The trainer in a folder of its own, for each test."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import signal
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from program import MODULE, PROGRAM, Trainer
from project import Project


@pytest.fixture(scope="session", autouse=True)
def _signals_reach_children() -> Iterator[None]:
    """Have the trainer hear signals that are ignored here, as `nohup` and a shell's `&` leave them.

    A process hands on what it ignores to its children, but not what a handler does nothing about.
    """
    numbers = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
    ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    """The program `rust_trainer`."""
    return Trainer(tmp_path, PROGRAM)


@pytest.fixture(params=["program", "module"])
def either_trainer(request: pytest.FixtureRequest, tmp_path: Path) -> Trainer:
    """The program `rust_trainer`, and `python -m rust_trainer`."""
    return Trainer(tmp_path, PROGRAM if request.param == "program" else MODULE)


@pytest.fixture(scope="session")
def train_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Train for a moment and return the run's folder, which is nobody's own: for `trained`.

    Of the processes of one pytest the first that asks for a run trains it, and others wait for it.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    @functools.cache
    def train(*arguments: object) -> Path:
        words = " ".join(map(str, arguments))
        run = shared / f"trained-{zlib.crc32(words.encode()):08x}"
        with run.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not run.exists():
                trainer = Trainer(tmp_path_factory.mktemp("trained"), PROGRAM)
                trainer.run("train", "--run-name", "run", *arguments)
                (trainer.folder / "runs/run").rename(run)
        return run

    return train


@pytest.fixture
def trained(trainer: Trainer, train_once: Callable[..., Path]) -> Callable[..., Path]:
    """Have a run that was trained for a moment, once for all tests that ask for the same."""

    def copy(*arguments: object) -> Path:
        return shutil.copytree(train_once(*arguments), trainer.folder / "runs/run")

    return copy


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def built(project: Project) -> Project:
    """The project with all set up."""
    project.run()
    project.called()
    return project
