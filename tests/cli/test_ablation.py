"""`scripts/benchmarks/ablation.py`: what it goes on with, and how it stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from program import ROOT
from waiting import wait_until

SCRIPT = ROOT / "scripts/benchmarks/ablation.py"


@pytest.fixture
def ablation(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import ablation

    return ablation


def test_a_folder_of_other_runs_is_refused(
    ablation: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "PROGRAM", "true")
    (tmp_path / "baseline").mkdir()
    settings = {"total_steps": 512, "gamma": 0.99, "anneal_lr": "true"}
    plan = "seeds = [1, 2, 5]\n[settings]\ntotal_steps = 512\ngamma = 0.99\nanneal_lr = true\n"
    (tmp_path / "baseline/plan.toml").write_text(plan)
    ablation.train(tmp_path, "baseline", settings, ["--seeds", "1-2,5"])
    for changes, seeds in (
        ({"total_steps": 1024}, "1-2,5"),
        ({"anneal_lr": "false"}, "1-2,5"),
        ({}, "1-3"),
    ):
        with pytest.raises(SystemExit, match="other seeds or settings"):
            ablation.train(tmp_path, "baseline", {**settings, **changes}, ["--seeds", seeds])


def test_ctrl_c_leaves_the_runs_time_to_stop(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(
        "#!/bin/sh\n"
        f"trap 'sleep 1; touch {tmp_path}/stopped; exit 130' INT\n"
        f"touch {tmp_path}/begun\n"
        "while true; do sleep 0.05; done\n"
    )
    program.chmod(0o755)
    code = (
        "import sys; from pathlib import Path\n"
        f"sys.path.insert(0, {str(SCRIPT.parent)!r}); import ablation\n"
        f"ablation.PROGRAM = {str(program)!r}\n"
        f"ablation.train(Path({str(tmp_path)!r}), 'baseline', {{}}, ['--seeds', '1'])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], process_group=0)
    wait_until((tmp_path / "begun").exists, seconds=60)
    # As a terminal does: to all of the group.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert (tmp_path / "stopped").exists()
