"""Environments of a user's own, in a module of the current folder, and their faults."""

from __future__ import annotations

import re
import signal
import subprocess
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import PROGRAM, Trainer
from waiting import wait_until

# A start is given up after a minute: one that hangs waits while the others of these tests run.
pytestmark = pytest.mark.xdist_group("own_envs")

MODULE = """
    import time
    from pathlib import Path

    import gymnasium as gym
    import numpy as np


    class My(gym.Env):
        # A word in the file `trouble` says what goes wrong from now on.
        observation_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
        action_space = gym.spaces.Discrete(2)
        count = 0

        def __init__(self):
            self.number = My.count
            My.count += 1
            self.make("make")

        def make(self, when):
            trouble = Path("trouble")
            if not trouble.exists() or self.number != 1:
                return None
            words = trouble.read_text().split()
            if words[0] != when:
                return None
            if words[1] == "timeout":
                raise TimeoutError("no simulator answers")
            if words[1] == "raise":
                raise ArithmeticError("the script says so")
            if words[1] == "hang":
                Path("hangs").touch()
                time.sleep(10_000)
            return float(words[1])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.left = 20
            return np.zeros(3, np.float32), {}

        def step(self, action):
            self.left -= 1
            obs = np.full(3, self.left / 20, np.float32)
            shown, given = self.make("observe"), self.make("reward")
            self.make("step")
            obs[1] = obs[1] if shown is None else shown
            reward = 1.0 if given is None else given
            return obs, reward, self.left == 0, False, {7: "lucky"}

        def close(self):
            self.make("close")


    gym.register("My-v0", My)
"""
SMALL = ["--num-envs", 4, "--num-steps", 16, "--checkpoint-every", 512, "--torch-threads", 1]


@pytest.fixture
def mine(trainer: Trainer) -> Trainer:
    """The trainer in a folder with a module of envs."""
    (trainer.folder / "my_envs.py").write_text(textwrap.dedent(MODULE))
    return trainer


@pytest.fixture(scope="module", autouse=True)
def hanging_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A training of which an environment hangs as it is made, started before all tests here."""
    trainer = Trainer(tmp_path_factory.mktemp("hanging"), PROGRAM)
    (trainer.folder / "my_envs.py").write_text(textwrap.dedent(MODULE))
    make_trouble(trainer, "make", "hang")
    limit = ["--env-threads", 1, "--env-timeout", 2]
    with trainer.start("train", *arguments("async"), *limit) as process:
        yield process
        process.kill()


def arguments(backend: str) -> list[object]:
    return ["--env-id", "my_envs:My-v0", "--run-name", "run", "--backend", backend, *SMALL]


def make_trouble(trainer: Trainer, *words: str) -> None:
    (trainer.folder / "new").write_text(" ".join(words))
    (trainer.folder / "new").rename(trainer.folder / "trouble")


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_a_module_of_the_current_folder_is_found(mine: Trainer, backend: str) -> None:
    out, _ = mine.run("train", "--total-steps", 512, *arguments(backend))
    assert "mean raw return of the last" in out
    out, _ = mine.run("eval", "runs/run", "--episodes", 2)
    assert "mean 20.00" in out


def test_packages_come_before_modules_of_the_current_folder(mine: Trainer) -> None:
    (mine.folder / "numpy.py").write_text("raise ImportError('no numpy')")
    mine.run("train", "--total-steps", 128, *arguments("sync"))


def test_a_module_that_is_not_there_is_named(trainer: Trainer) -> None:
    _, err = trainer.run("train", *arguments("sync"), status=1)
    assert "module `my_envs` cannot be imported (No module named 'my_envs')" in err
    assert err.count("\n") == 1


def test_a_path_that_is_not_read_is_named(
    mine: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(mine.folder))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    _, err = Trainer(elsewhere, mine.command).run("train", *arguments("sync"), status=1)
    assert "PYTHONPATH is not read" in err
    assert "start in the module's folder" in err


@pytest.mark.parametrize(
    ("backend", "when", "number", "words"),
    [
        ("sync", "reward", "nan", "gave the reward NaN"),
        ("sync", "observe", "inf", "showed inf at place 1 of an observation"),
        ("async", "reward", "inf", "gave the reward inf"),
        ("async", "observe", "nan", "showed NaN at place 1 of an observation"),
    ],
)
def test_numbers_that_are_none_name_who_gave_them(
    mine: Trainer, backend: str, when: str, number: str, words: str
) -> None:
    make_trouble(mine, when, number)
    out, err = mine.run("train", *arguments(backend), "--env-threads", 1, status=1)
    assert f"error: environment 1 of `my_envs:My-v0` {words}" in err, out
    assert "diverged" not in err
    assert "Traceback" not in err


def test_a_timeout_of_its_own_is_told_in_its_words(mine: Trainer) -> None:
    make_trouble(mine, "make", "timeout")
    _, err = mine.run("train", *arguments("sync"), status=1)
    assert "no simulator answers" in err


def test_a_finished_run_is_done_though_an_environment_fails_to_close(mine: Trainer) -> None:
    make_trouble(mine, "close", "raise")
    out, err = mine.run("train", "--total-steps", 512, *arguments("sync"))
    assert "the environments do not close: ArithmeticError: the script says so" in err + out
    assert "learning curve: " in out
    assert "done: 512 agent steps" in out


def test_a_finished_run_ends_though_an_environment_hangs_as_it_closes(mine: Trainer) -> None:
    make_trouble(mine, "close", "hang")
    began = time.monotonic()
    out, err = mine.run("train", "--total-steps", 512, *arguments("sync"))
    assert "the environments did not close within 10 s" in err + out
    assert "done: 512 agent steps" in out
    assert time.monotonic() - began < 60


def test_the_first_ctrl_c_ends_a_run_whose_environment_hangs_in_a_step(mine: Trainer) -> None:
    process = mine.start("train", *arguments("sync"))
    wait_until(mine.checkpoints)
    make_trouble(mine, "step", "hang")
    wait_until((mine.folder / "hangs").exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    step = re.search(r"stopped at agent step (\d+)", out)[1]
    assert "Traceback" not in err
    (mine.folder / "trouble").unlink()
    out, _ = mine.run("train", "--resume", "runs/run", "--total-steps", step)
    assert "going on from agent step" in out


def test_ctrl_c_ends_a_start_that_hangs(mine: Trainer) -> None:
    make_trouble(mine, "make", "hang")
    process = mine.start("train", *arguments("async"), "--env-threads", 1)
    wait_until((mine.folder / "hangs").exists)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert not (mine.folder / "runs").exists()


def test_a_start_that_hangs_says_so(hanging_start: subprocess.Popen[str]) -> None:
    out, err = hanging_start.communicate(timeout=120)
    assert hanging_start.returncode == 1, out + err
    [line] = [line for line in err.splitlines() if line.startswith("error:")]
    assert "has not answered for 60 s" in line
    assert "while env 1 was being made" in line
