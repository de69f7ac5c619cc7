"""The benchmarks: every contestant in a fresh process, in turns, medians, raw samples stored.

A contestant prints one JSON object; this adds the peak memory of its process tree, checks that all
did equal work where that can be checked, prints a table, and writes
`docs/results/bench-<part>.json`.
"""

from __future__ import annotations

import argparse
import json
import math
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
FLOORS = ROOT / "target/release/examples/learner_floors"
THROUGHPUT = ROOT / "target/release/examples/throughput"

# A whole training: as many updates of 8 by 128 steps, of which the first warms up.
UPDATES = 5
TRAINING_STEPS = UPDATES * 1024
MEMORY_SAMPLE_SECONDS = 1.0

Sample = dict[str, Any]
Contestants = dict[str, tuple[list[str], dict[str, str]]]


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
    newest = max((folder / "runs/bench/checkpoints").glob("*.safetensors"))
    with newest.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    algorithm = json.loads(header["__metadata__"]["algorithm"])
    return {
        "steps_per_second": steps / (table[-1]["seconds"] - table[0]["seconds"]),
        "cpu_seconds_per_1000_steps": 1000 * sum(row["seconds_cpu"] for row in table[1:]) / steps,
        "seconds_per_1000_steps": {part: 1000 * s / steps for part, s in parts.items()},
        "seconds_to_first_update": table[0]["seconds"],
        "work": {"updates": len(table), "gradient_steps": algorithm["optimizer_steps"]},
    }


def fill(row: str) -> str:
    """Give empty cells (nothing known yet) a number."""
    return ",".join(cell or "nan" for cell in row.split(","))


def crossing(_threads: int) -> Contestants:
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


def train(threads: int, *arguments: str) -> list[str]:
    """Return the command of a short training run of ours."""
    size = ["--total-steps", str(TRAINING_STEPS)]
    threads_each = ["--torch-threads", str(threads), "--env-threads", str(threads)]
    return [str(TRAINER), "train", "--run-name", "bench", *size, *threads_each, *arguments]


def training(threads: int) -> Contestants:
    """Whole PPO: ours against its peers, same hyper-parameters, envs and threads.

    Peers run as they come: with OpenMP's own spin and the kernel's own pages, unless the caller's
    environment says otherwise. Ours sets both by itself.
    """
    size = [str(threads), str(TRAINING_STEPS)]
    return {
        "ours": (train(threads), {}),
        "ours, bf16": (train(threads, "--precision", "bf16"), {}),
        "PyTorch PPO on EnvPool": ([sys.executable, str(HERE / "torch_ppo.py"), *size], {}),
        "stable-baselines3": ([sys.executable, str(HERE / "sb3_ppo.py"), *size], {}),
    }


def floors(threads: int) -> list[Sample]:
    """Return where a gradient step's time goes beside its floors, and the bare emulator's rate."""
    commands = [[str(FLOORS), precision, str(threads), "9"] for precision in ("fp32", "bf16")]
    commands.append([sys.executable, str(HERE / "bare_emulator.py")])
    return [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for command in commands
    ]


def spinning(threads: int) -> Contestants:
    """Our PPO under different spins of idle OpenMP threads; 300000 is the runtime's own default."""
    counts = ("300000", "100000", "10000", "1000", "0")
    return {f"{count} rounds": (train(threads), {"GOMP_SPINCOUNT": count}) for count in counts}


PARTS = {"crossing": crossing, "training": training, "spinning": spinning}
# Measured within one process each, by programs of their own.
PROGRAMS = {"emulator": "emulators.py", "envs": "vector_envs.py", "memory": "memory.py"}
IN_ROUNDS = {"emulator", "envs"}


def check_equal_work(samples: dict[str, list[Sample]]) -> None:
    """Where contestants report what they did, those of one size must agree."""
    work: dict[str, set[str]] = {}
    for name, runs in samples.items():
        for sample in runs:
            if "work" in sample:
                size = name.rpartition(", ")[2] if name.endswith(" envs") else ""
                work.setdefault(size, set()).add(json.dumps(sample["work"]))
    unequal = {size: done for size, done in work.items() if len(done) > 1}
    if unequal:
        sys.exit(f"the contestants did not do equal work: {unequal}")


def table(samples: dict[str, list[Sample]]) -> str:
    """Return medians as a Markdown table."""
    lines = [
        "| contestant | steps/s, median | lowest to highest | CPU ms a step | peak memory, MiB "
        "| ms a step: act, env, learn |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, runs in samples.items():
        speeds = [sample["steps_per_second"] for sample in runs]
        cpu = [sample.get("cpu_seconds_per_1000_steps", math.nan) for sample in runs]
        memory = statistics.median(sample["peak_memory"] for sample in runs) / 2**20
        spent = [sample.get("seconds_per_1000_steps", {}) for sample in runs]
        where = ", ".join(f"{statistics.median(s[part] for s in spent):.2f}" for part in spent[0])
        lines.append(
            f"| {name} | {statistics.median(speeds):.0f} | {min(speeds):.0f} to {max(speeds):.0f} "
            f"| {statistics.median(cpu):.2f} | {memory:.0f} | {where} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS | PROGRAMS)}"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of all contestants")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=cores, help="of torch and of envs, each")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS | PROGRAMS)
    if unknown or arguments.rounds < 1:
        parser.error(
            f"no such part: {', '.join(unknown)}" if unknown else "--rounds must be positive"
        )
    RESULTS.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts or PARTS | PROGRAMS:
        if part in PROGRAMS:
            own = ["--rounds", str(arguments.rounds)] if part in IN_ROUNDS else []
            subprocess.run([sys.executable, str(HERE / PROGRAMS[part]), *own], check=True)
            continue
        contestants = PARTS[part](arguments.threads)
        samples: dict[str, list[Sample]] = {name: [] for name in contestants}
        for number in range(arguments.rounds):
            for name, (command, environment) in contestants.items():
                samples[name].append(run(command, environment))
                speed = samples[name][-1]["steps_per_second"]
                print(f"round {number + 1}: {name}: {speed:.0f} steps/s", file=sys.stderr)
        check_equal_work(samples)
        options = f"--rounds {arguments.rounds} --threads {arguments.threads}"
        command = f"./scripts/bench {options} {part}"
        record = {
            "command": command,
            "machine": machine(),
            "memory_sample_seconds": MEMORY_SAMPLE_SECONDS,
        }
        if part == "training":
            record["floors"] = floors(arguments.threads)
        path = RESULTS / f"bench-{part}.json"
        path.write_text(json.dumps(record | {"samples": samples}, indent=1) + "\n")
        print(f"\n{table(samples)}\n\nraw samples: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
