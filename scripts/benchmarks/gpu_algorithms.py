"""Every algorithm on a GPU beside the CPU: `./scripts/bench gpu-algorithms [--out FOLDER]`.

A few updates each, from the same seed and in fp32, so that both see the same games until rounding
changes an action; then once more with graphs and streams where the algorithm has them. Writes
`gpu-algorithms.json`: how far the columns of `updates.csv` differ, as shares of the largest number
of each, or how a run failed. Many run at once, so it says nothing of speed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness
from harness import RESULTS

OF_ATARI = {"backend": "native", "num_envs": 4, "env_threads": 1}
ROLLOUT = OF_ATARI | {"num_steps": 16, "num_minibatches": 2, "total_steps": 4 * 16 * 6}
REPLAY = OF_ATARI | {"replay_capacity": 2_000, "learning_starts": 128, "total_steps": 384}
CONTINUOUS = {"num_envs": 1, "learning_starts": 128, "total_steps": 384}
RUNS = {
    "ppo-atari": ROLLOUT,
    "ppo-impala-atari": ROLLOUT,
    "ppo-lstm-atari": ROLLOUT,
    "pqn-atari": ROLLOUT,
    "a2c-atari": OF_ATARI | {"total_steps": 4 * 5 * 12},
    "dqn-atari": REPLAY,
    "rainbow-atari": REPLAY,
    "qrdqn-atari": REPLAY,
    "dopamine-iqn": REPLAY | {"learning_starts": 352},
    "ppo-pendulum": {"num_envs": 2, "num_steps": 64, "num_minibatches": 4, "total_steps": 512},
    "td3-pendulum": CONTINUOUS,
}
ALIKE = {"torch_threads": 1, "precision": "fp32", "checkpoint_every": 10**12}
WITH_GRAPHS = ("ppo-atari", "ppo-impala-atari", "pqn-atari", "ppo-pendulum", "a2c-atari")
# Of time, and of nothing that the network says.
LEFT_OUT = ("seconds", "step", "sps", "games", "episodes")


def train(preset: str, way: str, device: str, folder: Path) -> str | None:
    """Train in one of the ways; return what a failed run says last, None where all is well."""
    is_recorded = str(way == "recorded").lower()
    settings = RUNS[preset] | ALIKE | {"cuda_graphs": is_recorded, "cuda_streams": is_recorded}
    settings |= {"device": device, "runs_dir": folder, "run_name": f"{preset}-{way}"}
    log = folder / f"{preset}-{way}.log"
    status = harness.start(["train", preset, *harness.options(settings)], log).wait()
    said = log.read_text(errors="replace").strip().splitlines()
    if status:
        return " ".join(said[-2:])
    notices = [line for line in said if "could not be recorded" in line]
    return notices[0] if notices else None


def differences(a: Path, b: Path) -> dict[str, float]:
    """Return the largest difference of each column, as a share of the column's largest number."""
    one, other = harness.table(a / "updates.csv"), harness.table(b / "updates.csv")
    if not one or len(one) != len(other):
        return {"updates": math.inf}
    kept = [name for name in one[0] if not name.startswith(LEFT_OUT)]
    found = {}
    for name in kept:
        pairs = [(x[name], y[name]) for x, y in zip(one, other, strict=True)]
        pairs = [pair for pair in pairs if not any(map(math.isnan, pair))]
        largest = max((abs(x) for x, _ in pairs), default=0.0)
        if largest > 0:
            found[name] = max(abs(x - y) for x, y in pairs) / largest
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0", help="cuda, cuda:N or cpu")
    parser.add_argument("--presets", nargs="+", default=list(RUNS), choices=list(RUNS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trainings at once")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of gpu-algorithms.json")
    arguments = parser.parse_args()
    presets, device = arguments.presets, arguments.device
    cases = [
        (preset, way, where)
        for preset in presets
        for way, where in (("cpu", "cpu"), ("plain", device))
    ]
    if device != "cpu":
        cases += [(preset, "recorded", device) for preset in presets if preset in WITH_GRAPHS]
    samples = []
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(arguments.jobs) as pool:
        folder = Path(name)
        problems = list(pool.map(lambda case: train(*case, folder), cases))
        for (preset, way, _), problem in zip(cases, problems, strict=True):
            runs = [folder / f"{preset}-{name}" for name in ("cpu", way)]
            found = {} if problem else differences(*runs)
            samples.append({"preset": preset, "way": way, "problem": problem, "differ_by": found})
            worst = max(found.items(), key=lambda item: item[1], default=("nothing", 0.0))
            said = problem or f"differs by at most {worst[1]:.1e} ({worst[0]})"
            if problem or way != "cpu":
                print(f"{preset}, {way}: {said}", file=sys.stderr)
    arguments.out.mkdir(parents=True, exist_ok=True)
    record = {"command": harness.command_line(), "machine": harness.machine_with_gpu()}
    harness.store(arguments.out / "gpu-algorithms.json", record, samples)


if __name__ == "__main__":
    main()
