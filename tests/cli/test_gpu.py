"""`scripts/benchmarks/gpu.py`, `gpu_algorithms.py` and `gpu_record.py`, small and on the CPU."""

from __future__ import annotations

import csv
import gzip
import json
import math
import random
import re
import subprocess
import sys
import tomllib
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest
from program import ROOT

SCRIPTS = ROOT / "scripts/benchmarks"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(SCRIPTS)
    import gpu
    import gpu_record

    return gpu, gpu_record


def test_all_that_our_wheels_import_is_packed_or_comes_with_torch() -> None:
    script = (ROOT / "scripts/gpu_pack").read_text()
    assert '"$root/scripts/wheels"\n' in script, "all three of them"
    packed = set(re.search(r"packages=\((.*)\)", script)[1].split())
    there = {"atari-core", "atari-wrappers", "numpy", "pillow", "safetensors", "torch"}
    for project in ("pyproject.toml", "rust_trainer/pyproject.toml"):
        needs = tomllib.loads((ROOT / project).read_text())["project"]["dependencies"]
        assert {re.match(r"[\w-]+", need)[0] for need in needs} <= packed | there


def test_a_training_is_measured_by_its_own_table(
    scripts: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, _ = scripts
    monkeypatch.setattr(gpu, "ENDLESS", 2 * 8 * 6)
    monkeypatch.setattr(gpu, "NUM_STEPS", {"ppo": 8})
    case = gpu.Case("ppo", "native", 2, "fp32", cuda_graphs=False)
    sample = gpu.measure(case, 120.0, "cpu")
    assert "problem" not in sample, sample
    spent = sum(sample["seconds_per_1000_steps"].values())
    # What is not acting, stepping or learning is writing tables.
    assert 0.5 < spent * sample["steps_per_second"] / 1000 < 1.01
    assert sample["updates"] == 4
    assert sample["peak_memory"] > 100 * 2**20
    # The table has a line for it, and one for what failed.
    failed = gpu.measure(gpu.Case("ppo", "native", 2, "no such", cuda_graphs=False), 60.0, "cpu")
    lines = gpu.table([{"case": asdict(case)} | run for run in (sample, failed)]).splitlines()
    assert f"| {sample['steps_per_second']:.0f} |" in lines[2]
    assert "no such" in lines[3]
    assert len({line.count("|") for line in lines}) == 1


def test_the_speed_leaves_out_what_warms_up(scripts: tuple[ModuleType, ModuleType]) -> None:
    gpu, _ = scripts
    parts = {f"seconds_{part}": 1.0 for part in ("acting", "stepping", "learning", "cpu")}
    seconds = [50.0, 90.0, 93.0, 96.0]
    rows = [{"step": 600.0 * (i + 1), "seconds": s} | parts for i, s in enumerate(seconds)]
    speed = gpu.speed(rows)
    assert speed["steps_per_second"] == 200.0
    assert speed["seconds_per_1000_steps"]["acting"] == pytest.approx(1 / 0.6)
    assert speed["seconds_to_first_update"] == 50.0
    assert "problem" in gpu.speed(rows[:1])


def test_cases_come_once_and_the_most_telling_first(
    scripts: tuple[ModuleType, ModuleType],
) -> None:
    gpu, _ = scripts
    chosen = gpu.cases([8, 128, 1024], ["bf16", "fp32"], on_gpu=True)
    assert len(set(chosen)) == len(chosen)
    first = [(case.algorithm, case.num_envs, case.precision) for case in chosen[:4]]
    expected = [("ppo", 8, "bf16"), ("ppo", 1024, "bf16"), ("pqn", 128, "bf16"), ("ppo", 8, "fp32")]
    assert first == expected
    assert {case.backend for case in chosen} == {"native", "ale"}
    assert {case.env_groups for case in chosen} == {1, 2}
    assert not all(case.cuda_graphs for case in chosen)
    assert not any(case.cuda_graphs for case in gpu.cases([8], ["fp32"], on_gpu=False))


def test_updates_are_compared_column_by_column(
    scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    import gpu_algorithms

    def run(name: str, *rows: str) -> Path:
        (tmp_path / name).mkdir()
        lines = ["step,loss,q_value,seconds", *rows, ""]
        (tmp_path / name / "updates.csv").write_text("\n".join(lines))
        return tmp_path / name

    cpu = run("cpu", "8,-4,nan,1", "16,2,10,2")
    other = run("other", "8,-4,nan,3", "16,1.5,10,9")
    assert gpu_algorithms.differences(cpu, other) == {"loss": 0.5 / 4, "q_value": 0.0}
    shorter = run("shorter", "8,-4,nan,3")
    assert gpu_algorithms.differences(cpu, shorter) == {"updates": math.inf}


def test_the_aim_is_reached_by_the_mean_of_100_games(
    scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    _, gpu_record = scripts
    dice = random.Random(1)
    returns = [number + dice.randrange(100) for number in range(400)]
    with (tmp_path / "episodes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "raw_return", "seconds"])
        writer.writerows([10 * number, value, number] for number, value in enumerate(returns))
        file.write("4000,1e9")  # not written to its end yet
    means = {end: sum(returns[end - 100 : end]) / 100 for end in range(100, 401)}
    aim = means[250] - 0.001
    first = next(end for end, mean in means.items() if mean >= aim)
    assert gpu_record.reached(tmp_path, aim)["step"] == 10 * (first - 1)
    assert gpu_record.reached(tmp_path, max(means.values()) + 1) is None


def test_a_record_is_tried_for_in_several_calls(tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    script = [sys.executable, SCRIPTS / "gpu_record.py", "--device", "cpu"]
    small = {"net": "nature", "num-envs": 4, "num-steps": 16, "total-steps": 128}
    small = ["--", *(f"--{name}={value}" for name, value in small.items())]
    for more in (small, []):
        command = [*script, "--run", run, "--out", out, *more]
        subprocess.run(command, check=True, timeout=120)
    record = json.loads((out / "record.json").read_text())
    assert [call["ended_because"] for call in record["calls"]] == ["its steps are done"] * 2
    assert (record["agent_steps"], record["frames"]) == (128, 512)
    assert record["reached_at"] is None
    assert (out / "updates.csv").read_text().count("\n") == 1 + 2
    assert gzip.decompress((out / "episodes.csv.gz").read_bytes()).startswith(b"step,")
    assert "num_envs = 4" in (out / "settings.toml").read_text()
    # Where the aim is reached already, nothing is trained.
    games = "step,env,raw_return,length,frames,seconds\n" + "7,0,30000,9,36,1.5\n" * 100
    (run / "episodes.csv").write_text(games)
    subprocess.run([*script, "--run", run, "--out", out], check=True, timeout=120)
    record = json.loads((out / "record.json").read_text())
    assert record["calls"][-1]["ended_because"] == "the aim is reached"
    assert record["reached_at"] == {"step": 7.0, "seconds": 1.5}
