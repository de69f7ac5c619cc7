"""What Ray starts, on this machine alone: ranks, and the runs of a sweep."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
from statistics import fmean

import pytest
from program import ROOT
from run_files import column, rows
from torchrun import FEW, Ranks

pytest.importorskip("ray", reason="Ray is not installed: ./scripts/setup --ray")


@pytest.fixture
def variables(ranks: Ranks) -> dict[str, str]:
    """Return the variables of a process that starts a cluster of its own."""
    variables = ranks.environment() | {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # of its own, 15, little is left where other tests are busy
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    variables.pop("RAY_ADDRESS", None)
    return variables


def end(ranks: Ranks) -> tuple[int, str]:
    """Await the end of what Ray was asked to do; what is left of it is stopped."""
    try:
        return ranks.end()
    except subprocess.TimeoutExpired:
        os.kill(ranks.started[-1].pid, signal.SIGTERM)
        raise


def test_ray_starts_ranks_that_learn_together(ranks: Ranks, variables: dict[str, str]) -> None:
    """Two of them, and what they print comes back."""
    script = [str(ROOT / "scripts/ray_train"), "--ranks", "2", "--cpus", "0.5"]
    arguments = ["train", *FEW, "--total-steps", "512", "--run-name", "run"]
    ranks.launch([*script, "--", *arguments], variables)
    status, said = end(ranks)
    assert status == 0, said
    assert said.count("2 ranks, each with 4 of the environments") == 1, said
    assert ranks.checkpoints()[-1].stem == "step-000000000512"


def test_a_sweep_stops_goes_on_and_reports_over_all_runs(
    ranks: Ranks, variables: dict[str, str]
) -> None:
    """Two rates and two seeds; the scores are those of the games that the runs wrote down."""
    script = [str(ROOT / "scripts/ray_sweep"), "--name", "rates", "--cpus", "0.5"]
    sweep = ["--seeds", "1,2", "--vary", "learning-rate=1e-3,1e-30"]
    arguments = ["--env-id", "CartPole-v1", "--num-envs", "4", "--total-steps", "8192"]
    command = [*script, *sweep, "--", *arguments, "--checkpoint-every", "1024"]
    folder = ranks.folder / "runs/rates"
    ranks.launch([*command, "--num-stepz", "8"], variables)
    status, said = end(ranks)
    assert status != 0
    assert "--num-stepz" in said
    assert not folder.exists(), "nothing is left of a command that is wrong"
    ranks.launch(command, variables)
    ranks.wait_until(lambda: list(folder.glob("*/*/checkpoints/step-*")))
    ranks.started[-1].send_signal(signal.SIGINT)
    status, said = end(ranks)
    assert status == 130, said
    assert "stopped; the same command goes on" in said
    logs = [log.read_text() for log in folder.glob("*/*.log")]
    assert any("stopped at agent step" in log for log in logs), said + "".join(logs)

    other = [word if word != "1,2" else "1,2,3" for word in command]
    ranks.launch(other, variables)
    status, said = end(ranks)
    assert status == 1
    assert "runs/rates is a sweep with seeds = 1,2, and not 1,2,3" in said

    ranks.launch(command, variables)
    status, said = end(ranks)
    assert status == 0, said
    resumed = [log.read_text() for log in folder.glob("*/*.log")]
    assert any("going on from agent step" in log for log in resumed)
    variants = rows(folder / "sweep.csv")
    assert [row["learning-rate"] for row in variants] == ["1e-3", "1e-30"], (
        "the one that learns first"
    )
    for row in variants:
        runs = [folder / row["variant"] / f"CartPole-v1-seed{seed}" for seed in (1, 2)]
        returns = [column(run / "episodes.csv", "raw_return") for run in runs]
        means = [fmean(of_run[-100:]) for of_run in returns]
        assert float(row["value"]) == pytest.approx(fmean(means))
        assert f"{fmean(means):.2f}" in said
        settings = json.loads((folder / row["variant"] / "results.json").read_text())
        assert settings["planned_runs"] == 2
    assert len(list(folder.glob("*/curve-CartPole-v1.png"))) == 2
