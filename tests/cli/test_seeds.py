"""`seeds`: several runs with one command, their statistics, and those that do not end."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from program import PROGRAM, Trainer
from run_files import column, rows
from waiting import wait_until

SHORT = ["ppo-cartpole", "--run-name", "all", "--total-steps", 2048]


def scores(folder: Path) -> dict[tuple[str, int], float]:
    results = rows(folder / "results.csv")
    return {(row["env_id"], int(row["seed"])): float(row["score"]) for row in results}


def threads(run: Path) -> list[str]:
    lines = (run / "settings.toml").read_text().splitlines()
    return [line for line in lines if "_threads = " in line]


def mean_of_last_games(run: Path) -> float:
    return float(np.mean(column(run / "episodes.csv", "raw_return")[-100:]))


def test_seeds_are_trained_side_by_side_and_summed_up(trainer: Trainer) -> None:
    ids = ["CartPole-v1", "Acrobot-v1"]
    out, err = trainer.run("seeds", *SHORT, "--seeds", "1-2", "--env-ids", ",".join(ids))
    folder = trainer.folder / "runs/all"
    found = scores(folder)
    assert set(found) == {(env_id, seed) for env_id in ids for seed in (1, 2)}
    assert "4 of 4 runs to do" in out
    assert "CartPole-v1 seed 2: done" in err
    for (env_id, seed), score in found.items():
        run = folder / f"{env_id}-seed{seed}"
        assert score == pytest.approx(mean_of_last_games(run))
        assert f"seed = {seed}\n" in (run / "settings.toml").read_text()
        assert (folder / f"curve-{env_id}.png").read_bytes().startswith(b"\x89PNG")
    results = json.loads((folder / "results.json").read_text())
    together = results["together"]
    assert together["scores"] == "raw returns"
    assert together["mean"]["value"] == pytest.approx(np.mean(list(found.values())))
    for env in results["envs"]:
        own = [score for (env_id, _), score in found.items() if env_id == env["env_id"]]
        # Two seeds have four resamples: the outer ones, a quarter each, are the interval's ends.
        interval = [env["mean"][name] for name in ("low", "value", "high")]
        assert interval == pytest.approx([min(own), np.mean(own), max(own)])
        assert f"{np.mean(own):.2f}" in out
    # The same seed alone gives the same run.
    trainer.run("train", *SHORT[:1], "--run-name", "alone", *SHORT[3:], "--seed", 2)
    assert mean_of_last_games(trainer.folder / "runs/alone") == found["CartPole-v1", 2]


def test_an_unknown_id_is_refused_before_the_first_run(trainer: Trainer) -> None:
    ids = "CartPole-v1,NoSuchGame-v1"
    _, err = trainer.run("seeds", *SHORT, "--seeds", 1, "--env-ids", ids, status=1)
    assert err.startswith("error: no environment `NoSuchGame-v1`")
    assert not (trainer.folder / "runs").exists()


BROKEN = """
import gymnasium as gym

def make():
    raise ValueError("nobody can make it")

gym.register("Broken-v0", make)
"""


def test_a_run_that_fails_does_not_keep_the_others(trainer: Trainer) -> None:
    (trainer.folder / "broken.py").write_text(BROKEN)
    ids = "broken:Broken-v0,CartPole-v1"
    out, err = trainer.run("seeds", *SHORT, "--seeds", 1, "--env-ids", ids, status=1)
    assert "broken:Broken-v0 seed 1 failed: error: " in err
    assert "nobody can make it" in err
    assert "1 of 2 runs failed; go on by: seeds --resume 'runs/all'" in err
    assert "1 of 2 runs are not in it" in out
    assert list(scores(trainer.folder / "runs/all")) == [("CartPole-v1", 1)]


def test_a_new_build_meanwhile_is_no_matter(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copy(PROGRAM[0], program)
    process = Trainer(trainer.folder, [str(program)]).start(
        "seeds", *SHORT, "--seeds", "1,2", "--jobs", 1
    )
    first = trainer.folder / "runs/all/CartPole-v1-seed1/settings.toml"
    wait_until(first.exists, seconds=60)
    program.unlink()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    assert len(scores(trainer.folder / "runs/all")) == 2


# So slow that no run ends before the other has begun, and yet short work.
SLOW = """
import time
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv

class Slow(CartPoleEnv):
    def step(self, action):
        time.sleep(0.002)
        return super().step(action)

gym.register("Slow-v0", Slow, max_episode_steps=500)
"""


def test_ctrl_c_stops_all_and_resuming_finishes_them(trainer: Trainer) -> None:
    (trainer.folder / "slow.py").write_text(SLOW)
    arguments = ["ppo-cartpole", "--env-ids", "slow:Slow-v0", "--run-name", "all"]
    arguments += ["--backend", "sync", "--checkpoint-every", 256, "--total-steps", 2048]
    arguments += ["--seeds", "1-3", "--jobs", 2]
    process = trainer.start("seeds", *arguments)
    folder = trainer.folder / "runs/all"
    deadline = time.monotonic() + 120
    while len({path.parent for path in folder.glob("*/checkpoints/step-*.safetensors")}) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    assert "go on by: seeds --resume 'runs/all'" in out
    assert "Traceback" not in err
    assert not (folder / "slow-Slow-v0-seed3").exists()
    begun_with = threads(folder / "slow-Slow-v0-seed1")
    trainer.run("seeds", "--resume", "runs/all", "--jobs", 1)
    assert len(scores(folder)) == 3
    log = (folder / "slow-Slow-v0-seed1.log").read_text()
    assert "going on from agent step" in log
    # Other threads would sum up otherwise: they stay, whoever goes on.
    assert "threads = " not in log
    for run in folder.glob("slow-Slow-v0-seed?"):
        assert threads(run) == begun_with
    out, _ = trainer.run("seeds", "--resume", "runs/all")
    assert "0 of 3 runs to do" in out


def test_runs_that_ended_go_on_to_a_later_end(trainer: Trainer) -> None:
    out, _ = trainer.run("seeds", *SHORT, "--seeds", 1)
    assert "none of a single seed" in out
    folder = trainer.folder / "runs/all"
    # Another process has the folder.
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    _, err = trainer.run("seeds", "--resume", "runs/all", status=1)
    os.close(lock)
    assert "another process" in err
    resume = ["seeds", "--resume", "runs/all"]
    trainer.assert_refused(
        ([*resume, "--gamma", 0.5], "cannot change"), ([*resume, "--total-steps", 9], "2048")
    )
    # What fewer steps came to is not taken for what more come to.
    trainer.run("seeds", "--resume", "runs/all", "--total-steps", 3072, "--print-commands")
    assert not [*folder.glob("results.*"), *folder.glob("curve-*.png")]
    trainer.run("seeds", "--resume", "runs/all", "--total-steps", 3072)
    results = json.loads((folder / "results.json").read_text())
    assert [run["step"] for run in results["runs"]] == [3072]
    assert "total_steps = 3072\n" in (folder / "plan.toml").read_text()
    # A table that was damaged later is named, and the others count.
    with next(folder.glob("*/episodes.csv")).open("ab") as table:
        table.write(bytes(8) + b"\n")
    _, err = trainer.run("seeds", "--resume", "runs/all", status=1)
    assert "episodes.csv" in err
    assert "the results are without that run" in err


def test_a_mistake_starts_no_run(trainer: Trainer) -> None:
    cases = (
        (["ppo-cartpole"], "--seeds", 2),
        (["--seeds", "1-x"], "`x` is no seed", 2),
        (["--seeds", 2**63], f"`{2**63}` is no seed", 2),
        (["--seeds", "1", "--jobs", "0"], "--jobs", 2),
        (["--seeds", "1,1"], "asked for twice", 1),
        (["--seeds", "1", "--seed", "3"], "--seeds 1-3", 1),
        (["--seeds", "1-2", "--gamma", "7"], "gamma", 1),
        (["--resume", "runs"], "has no plan.toml", 1),
    )
    said = trainer.run_all(*(["seeds", *arguments] for arguments, _, _ in cases))
    for (arguments, words, status), (ended, _, err) in zip(cases, said, strict=True):
        assert ended == status, (arguments, err)
        assert words in err, (arguments, err)
        assert err.count("\n") == 1, arguments
    assert not (trainer.folder / "runs").exists()
