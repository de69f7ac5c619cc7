"""The benchmarks: every contestant in a fresh process, in turns, medians, raw samples stored.

A contestant prints one JSON object; this adds the peak memory of its process tree, checks that all
did equal work where that can be checked, prints a table, and writes
`docs/results/bench-<part>.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import RESULTS, ROOT, machine, tree_memory

HERE = Path(__file__).parent
TRAINER = ROOT / "target/release/rust_trainer"
THROUGHPUT = ROOT / "target/release/examples/throughput"

# Rounds of GNU OpenMP's spin: what our trainer would set by itself, and start anew for. Peers run
# as they come: with the runtime's own 300,000, unless the caller's environment says otherwise.
SPIN = {"GOMP_SPINCOUNT": "10000"}
MEMORY_SAMPLE_SECONDS = 1.0

Sample = dict[str, Any]


def run(command: list[str], environment: dict[str, str]) -> Sample:
    """Run one contestant; return what it printed and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, tree_memory(process.pid))
            time.sleep(MEMORY_SAMPLE_SECONDS)
        assert process.stdout is not None
        lines = process.stdout.read().splitlines()
        if process.returncode:
            sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
        sample = (
            training_sample(Path(folder)) if command[0] == str(TRAINER) else json.loads(lines[-1])
        )
    return sample | {"peak_memory": peak}


def training_sample(folder: Path) -> Sample:
    """Read our trainer's own table: everything after the first update, which warms up."""
    header, *rows = (folder / "runs/bench/updates.csv").read_text().splitlines()
    names = header.split(",")
    table = [dict(zip(names, map(float, row.split(",")), strict=False)) for row in map(fill, rows)]
    steps = table[-1]["step"] - table[0]["step"]
    parts = {
        part: sum(row[f"seconds_{part}"] for row in table[1:])
        for part in ("acting", "stepping", "learning")
    }
    return {
        "steps_per_second": steps / (table[-1]["seconds"] - table[0]["seconds"]),
        "seconds_per_1000_steps": {part: 1000 * s / steps for part, s in parts.items()},
    }


def fill(row: str) -> str:
    """Give empty cells (nothing known yet) a number."""
    return ",".join(cell or "nan" for cell in row.split(","))


def crossing() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Stepping alone: `VecGymEnv` from Rust against ALE's vector env from Python."""
    contestants = {}
    for num_envs in (8, 64):
        size = [str(num_envs), str(40_000 // num_envs)]
        contestants[f"ours, {num_envs} envs"] = ([str(THROUGHPUT), *size], {})
        contestants[f"ALE, {num_envs} envs"] = (
            [sys.executable, str(HERE / "ale_throughput.py"), *size],
            {},
        )
    return contestants


def train(*arguments: str) -> list[str]:
    """Return the command of a short training run of ours."""
    return [str(TRAINER), "train", "--run-name", "bench", "--total-steps", "9216", *arguments]


def training() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Whole PPO: ours against stable-baselines3, same hyper-parameters, envs and threads."""
    sb3 = [sys.executable, str(HERE / "sb3_ppo.py")]
    return {
        "ours": (train(), SPIN),
        "ours, bf16": (train("--precision", "bf16"), SPIN),
        "stable-baselines3, DummyVecEnv": ([*sb3, "dummy"], {}),
        "stable-baselines3, SubprocVecEnv": ([*sb3, "subproc"], {}),
    }


def spinning() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Our PPO under different spins of idle OpenMP threads; 300000 is the runtime's own default."""
    counts = ("300000", "100000", "10000", "1000", "0")
    return {f"{count} rounds": (train(), {"GOMP_SPINCOUNT": count}) for count in counts}


PARTS = {"crossing": crossing, "training": training, "spinning": spinning}
# Measured within one process each, by programs of their own.
PROGRAMS = {"envs": "vector_envs.py", "memory": "memory.py"}


def check_equal_work(samples: dict[str, list[Sample]]) -> None:
    """Where contestants report what they did, those of one size must agree."""
    work: dict[str, set[str]] = {}
    for name, runs in samples.items():
        for sample in runs:
            if "work" in sample:
                work.setdefault(name.split(", ")[-1], set()).add(json.dumps(sample["work"]))
    unequal = {size: done for size, done in work.items() if len(done) > 1}
    if unequal:
        sys.exit(f"the contestants did not do equal work: {unequal}")


def table(samples: dict[str, list[Sample]]) -> str:
    """Return medians as a Markdown table."""
    lines = [
        "| contestant | steps/s, median | lowest to highest | peak memory, MiB "
        "| ms a step: act, env, learn |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, runs in samples.items():
        speeds = [sample["steps_per_second"] for sample in runs]
        memory = statistics.median(sample["peak_memory"] for sample in runs) / 2**20
        spent = [sample.get("seconds_per_1000_steps", {}) for sample in runs]
        where = ", ".join(f"{statistics.median(s[part] for s in spent):.2f}" for part in spent[0])
        lines.append(
            f"| {name} | {statistics.median(speeds):.0f} | {min(speeds):.0f} to {max(speeds):.0f} "
            f"| {memory:.0f} | {where} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS | PROGRAMS)}"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of all contestants")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS | PROGRAMS)
    if unknown or arguments.rounds < 1:
        parser.error(
            f"no such part: {', '.join(unknown)}" if unknown else "--rounds must be positive"
        )
    RESULTS.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts or PARTS | PROGRAMS:
        if part in PROGRAMS:
            own = ["--rounds", str(arguments.rounds)] if part == "envs" else []
            subprocess.run([sys.executable, str(HERE / PROGRAMS[part]), *own], check=True)
            continue
        contestants = PARTS[part]()
        samples: dict[str, list[Sample]] = {name: [] for name in contestants}
        for number in range(arguments.rounds):
            for name, (command, environment) in contestants.items():
                samples[name].append(run(command, environment))
                speed = samples[name][-1]["steps_per_second"]
                print(f"round {number + 1}: {name}: {speed:.0f} steps/s", file=sys.stderr)
        check_equal_work(samples)
        command = f"./scripts/bench --rounds {arguments.rounds} {part}"
        record = {
            "command": command,
            "machine": machine(),
            "memory_sample_seconds": MEMORY_SAMPLE_SECONDS,
        }
        path = RESULTS / f"bench-{part}.json"
        path.write_text(json.dumps(record | {"samples": samples}, indent=1) + "\n")
        print(f"\n{table(samples)}\n\nraw samples: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
