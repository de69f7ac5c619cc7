"""Ranks that Ray starts, on this machine alone."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys

import pytest
from program import ROOT
from torchrun import FEW, Ranks

pytest.importorskip("ray", reason="Ray is not installed: pip install 'atari-wrappers[rllib]'")


def test_ray_starts_ranks_that_learn_together(ranks: Ranks) -> None:
    """Two of them, and what they print comes back."""
    variables = ranks.environment() | {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    variables.pop("RAY_ADDRESS", None)
    script = [sys.executable, str(ROOT / "scripts/ray_train"), "--ranks", "2", "--cpus", "0.5"]
    arguments = ["train", *FEW, "--total-steps", "512", "--run-name", "run"]
    process = ranks.launch([*script, "--", *arguments], variables)
    try:
        status, said = ranks.end()
    except subprocess.TimeoutExpired:
        os.kill(process.pid, 15)
        raise
    assert status == 0, said
    assert said.count("2 ranks, each with 4 of the environments") == 1, said
    assert ranks.checkpoints()[-1].stem == "step-000000000512"
