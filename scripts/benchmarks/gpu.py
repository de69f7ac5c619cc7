"""Whole trainings on a GPU by number of environments: `./scripts/bench gpu [--seconds N] …`.

PPO and PQN with 8 to 4096 environments on the backends `native` and `ale`, and what precision and
recorded graphs change. Each case is a fresh process that trains for its share of the seconds,
starting included; the first updates, in which libraries choose their algorithms, do not count.
Writes `bench-gpu.json` after each case and prints a table. Runs on a CPU, too: `--device cpu`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import harness
from harness import RESULTS, Sample, tree_memory

GAME = "SpaceInvadersNoFrameskip-v4"
# A rollout has as many samples as a share of the seconds allows, a minibatch as many as pay.
ROLLOUT_SAMPLES = 65_536
MINIBATCH_SAMPLES = 16_384
NUM_STEPS = {"ppo": 128, "pqn": 32}
MINIBATCHES = {"ppo": 4, "pqn": 32}
# Before these, algorithms of libraries are chosen and graphs recorded.
WARM_UP_UPDATES = 2
# Looking at its memory costs a large process milliseconds.
POLL_SECONDS = 2.0
ENDLESS = 10**12
PEER_STEPS = 20 * 1024
CHECKED_UPDATES = 6
CHECKED = ("policy_loss", "value_loss", "entropy", "grad_norm")
COLUMNS = ("algorithm", "backend", "num_envs", "env_groups", "precision")


@dataclass(frozen=True)
class Case:
    """One training."""

    algorithm: str
    backend: str
    num_envs: int
    precision: str
    cuda_graphs: bool  # and streams
    env_groups: int = 1

    def name(self) -> str:
        """Return what the case is called."""
        plain = "" if self.cuda_graphs else ", plain"
        groups = "" if self.env_groups == 1 else f" in {self.env_groups} groups"
        envs = f"{self.num_envs} envs{groups}"
        return f"{self.algorithm}, {self.backend}, {envs}, {self.precision}{plain}"

    def settings(self) -> dict[str, Any]:
        """Return its settings: those of the field where they are small enough."""
        num_steps = max(8, min(NUM_STEPS[self.algorithm], ROLLOUT_SAMPLES // self.num_envs))
        samples = num_steps * self.num_envs
        minibatches = max(MINIBATCHES[self.algorithm], samples // MINIBATCH_SAMPLES)
        return {
            "algorithm": self.algorithm,
            "env_id": GAME,
            "backend": self.backend,
            "num_envs": self.num_envs,
            "env_groups": self.env_groups,
            "num_steps": num_steps,
            "num_minibatches": min(minibatches, samples // 2),
            "precision": self.precision,
            "cuda_graphs": str(self.cuda_graphs).lower(),
            "cuda_streams": str(self.cuda_graphs).lower(),
            "total_steps": ENDLESS,
            "checkpoint_every": ENDLESS,
        }


def cases(envs: list[int], precisions: list[str], on_gpu: bool) -> list[Case]:
    """Return all cases, the most telling ones first: time may end before they do."""
    best = precisions[0]
    few, middle, many = envs[0], envs[len(envs) // 2], envs[-1]
    kinds = [("ppo", "native", n, best) for n in (few, many)]
    kinds += [("pqn", "native", middle, best)]
    kinds += [("ppo", "native", few, other) for other in precisions]
    kinds += [("pqn", "native", middle, other) for other in precisions]
    chosen = [Case(*kind, cuda_graphs=on_gpu) for kind in kinds]
    if on_gpu:
        plain = [("ppo", few), ("pqn", middle), ("ppo", many)]
        chosen += [Case(name, "native", n, best, cuda_graphs=False) for name, n in plain]
    # While the network acts for one half, the other half is emulated.
    chosen += [Case("ppo", "native", n, best, on_gpu, env_groups=2) for n in (many, few)]
    kinds = [(name, "native", num_envs, best) for num_envs in envs for name in ("ppo", "pqn")]
    kinds += [("ppo", "native", many, other) for other in precisions]
    # ALE makes and resets one environment after another: thousands would take the whole time.
    of_ale = [num_envs for num_envs in envs if num_envs <= 1024]
    kinds += [(name, "ale", num_envs, best) for num_envs in of_ale for name in ("ppo", "pqn")]
    chosen += [Case(*kind, cuda_graphs=on_gpu) for kind in kinds]
    return list(dict.fromkeys(chosen))


def peer(device: str) -> Sample:
    """Return what a plain PyTorch PPO on EnvPool says of itself, with 8 environments."""
    command = harness.theirs(
        "torch_ppo.py", harness.machine()["cores"], PEER_STEPS, "--device", device
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"problem": done.stderr.strip().splitlines()[-1:]}
    said: Sample = json.loads(done.stdout)
    return said


def measure(case: Case, seconds: float, device: str) -> Sample:
    """Train one case for so many seconds."""
    with tempfile.TemporaryDirectory() as folder, harness.GpuSamples() as gpu:
        settings = case.settings() | {"device": device, "runs_dir": folder, "run_name": "bench"}
        if device == "cpu":
            del settings["cuda_graphs"], settings["cuda_streams"]
        log = Path(folder) / "log"
        started = time.monotonic()
        process = harness.start(["train", *harness.options(settings)], log)
        memory, pause = 0, 0.1
        try:
            while process.poll() is None and time.monotonic() - started < seconds:
                memory = max(memory, tree_memory(process.pid))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(pause)
                pause = min(2 * pause, POLL_SECONDS)
            has_failed = process.poll() not in (None, 0)
        finally:
            harness.stop(process)
        sample: Sample = {"settings": settings, "peak_memory": memory}
        if has_failed:
            return sample | {"problem": log.read_text().splitlines()[-1:]}
        rows = harness.table(Path(folder) / "bench" / "updates.csv")
    if gpu.use:
        # The first half starts, records and warms up.
        sample["gpu_use_percent"] = statistics.mean(gpu.use[len(gpu.use) // 2 :])
        sample["gpu_memory_mib"] = max(gpu.memory)
    return sample | speed(rows)


def differences(device: str) -> dict[str, float]:
    """Train with graphs and streams and without; return how far the losses differ at most."""
    size = {"num_envs": 8, "num_steps": 32, "total_steps": 8 * 32 * CHECKED_UPDATES}
    alike = size | {"env_id": GAME, "backend": "native", "precision": "fp32", "device": device}
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("true", "false"):
            settings = alike | {"runs_dir": folder, "run_name": name}
            settings |= {"cuda_graphs": name, "cuda_streams": name}
            log = Path(folder) / "log"
            if harness.start(["train", *harness.options(settings)], log).wait():
                sys.exit(log.read_text(errors="replace").splitlines()[-1])
            tables.append(harness.table(Path(folder) / name / "updates.csv"))
    pairs = list(zip(*tables, strict=True))
    return {column: max(abs(a[column] - b[column]) for a, b in pairs) for column in CHECKED}


def speed(rows: list[dict[str, float]]) -> Sample:
    """Return what the updates say behind those that warm up."""
    if len(rows) < 2:
        return {"problem": [f"{len(rows)} updates in the time given"]}
    updates = len(rows) - min(WARM_UP_UPDATES, len(rows) - 1)
    return {"updates": updates} | harness.speed(rows, WARM_UP_UPDATES)


def table(samples: list[Sample]) -> str:
    """Return the samples as a Markdown table."""
    rows = []
    for sample in samples:
        case = sample["case"]
        names = [*(case[key] for key in COLUMNS), "yes" if case["cuda_graphs"] else "no"]
        if "problem" in sample:
            cells = [" ".join(sample["problem"]) or "ended early", *[""] * 5]
        else:
            parts = sample["seconds_per_1000_steps"].values()
            cells = [
                f"{sample['steps_per_second']:.0f}",
                ", ".join(f"{1000 * part:.1f}" for part in parts),
                f"{1000 * sample['cpu_seconds_per_1000_steps']:.1f}",
                f"{sample['gpu_use_percent']:.0f}" if "gpu_use_percent" in sample else "-",
                f"{sample['gpu_memory_mib']:.0f}" if "gpu_memory_mib" in sample else "-",
                f"{sample['peak_memory'] / 2**20:.0f}",
            ]
        rows.append([*names, *cells])
    header = "algorithm | backend | envs | groups | precision | graphs | steps/s"
    header += " | µs a step: act, env, learn | CPU µs a step"
    return harness.markdown(f"{header} | GPU use, % | GPU memory, MiB | memory, MiB", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=540.0, help="for all cases together")
    parser.add_argument("--least", type=float, default=12.0, help="seconds for each case")
    parser.add_argument(
        "--envs", type=int, nargs="+", default=[8, 32, 128, 512, 1024, 2048, 4096], metavar="N"
    )
    parser.add_argument(
        "--precisions", nargs="+", default=["bf16", "tf32", "fp32"], metavar="P", help="best first"
    )
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of bench-gpu.json")
    arguments = parser.parse_args()
    if arguments.device == "cpu" and "tf32" in arguments.precisions:
        arguments.precisions.remove("tf32")
        if not arguments.precisions:
            parser.error("tf32 is of GPUs")
    chosen = cases(arguments.envs, arguments.precisions, arguments.device != "cpu")
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "bench-gpu.json"
    end = time.monotonic() + arguments.seconds
    samples: list[Sample] = []
    record = {
        "command": harness.command_line(),
        "machine": harness.machine_with_gpu(),
        "graphs_differ_from_none_by": differences(arguments.device),
        "pytorch_ppo_on_envpool": peer(arguments.device),
    }
    print(f"graphs differ from none by {record['graphs_differ_from_none_by']}", file=sys.stderr)
    print(
        f"PyTorch PPO on EnvPool: {record['pytorch_ppo_on_envpool']}", file=sys.stderr, flush=True
    )
    for number, case in enumerate(chosen):
        left = end - time.monotonic()
        if left < arguments.least:
            print(f"no time for {len(chosen) - number} more cases", file=sys.stderr)
            break
        # What one case leaves of its share is the others'.
        share = max(arguments.least, left / (len(chosen) - number))
        sample = {"case": asdict(case)} | measure(case, share, arguments.device)
        samples.append(sample)
        result = sample.get("problem") or f"{sample['steps_per_second']:.0f} steps/s"
        print(f"{case.name()}: {result}", file=sys.stderr, flush=True)
        harness.store(path, record, samples)
    print(f"\n{table(samples)}\n\nraw samples: {path}")


if __name__ == "__main__":
    main()
