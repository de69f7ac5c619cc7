"""Who starts ranks beside torchrun with a program: torchrun with the module, and Slurm."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from program import ROOT
from torchrun import FEW, TORCHRUN, Ranks, free_port

BRIEF = ["train", *FEW, "--total-steps", "512", "--run-name", "run"]

# What a job of two machines has, on this one: a process of each, told which one it is.
SRUN = """#!/usr/bin/env bash
[[ $1 == --kill-on-bad-exit=1 ]] && shift || exit 64
for node in 0 1; do SLURM_NODEID=$node SLURM_PROCID=$node "$@" & pids+=($!); done
for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
exit "${status:-0}"
"""
SCONTROL = """#!/usr/bin/env bash
[[ $* == "show hostnames localhost[1-2]" ]] && printf '%s\\n' localhost localhost
"""


def is_installed(name: str) -> bool:
    """Whether there is such a module; the folder of its sources beside the tests is none."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None


@pytest.mark.skipif(
    not is_installed("rust_trainer"),
    reason="the module is not installed: ./scripts/setup",
)
def test_torchrun_starts_the_module(ranks: Ranks) -> None:
    """As the program, with the libtorch that Python has loaded."""
    torchrun = [word for word in TORCHRUN if word != "--no-python"]
    command = [*torchrun, "--nproc-per-node=2", f"--master-port={free_port()}"]
    ranks.launch([*command, "-m", "rust_trainer", *BRIEF], ranks.environment())
    check(ranks)


def test_slurm_starts_a_torchrun_on_each_machine(ranks: Ranks, tmp_path: Path) -> None:
    """Two of them; loopback stands in for the network, and scripts for Slurm's commands."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in [("srun", SRUN), ("scontrol", SCONTROL)]:
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    variables = ranks.environment() | {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "SLURM_SUBMIT_DIR": str(ROOT),
        "SLURM_JOB_NODELIST": "localhost[1-2]",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_JOB_ID": "17",
        "VIRTUAL_ENV": sys.prefix,
        "PORT": str(free_port()),
    }
    ranks.launch([str(ROOT / "scripts/slurm_train"), *BRIEF], variables)
    check(ranks)


def check(ranks: Ranks) -> None:
    """Check that what was started is two ranks that train together to the end."""
    status, said = ranks.end()
    assert status == 0, said
    assert said.count("2 ranks, each with 4 of the environments") == 1, said
    assert said.count("done: 512 agent steps") == 1
    assert ranks.checkpoints()[-1].stem == "step-000000000512"
