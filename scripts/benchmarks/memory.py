"""Memory over a million agent steps: `memory.py [--steps N] [BACKEND …]`.

Steps random games on each backend that runs ALE and samples the memory of the whole process tree:
what it has allocated for itself, and the part that its processes share. Files that are mapped, such
as libraries, are left out: their share of them depends on who else uses them. Writes
`docs/results/memory.csv` and the plot `memory.png`.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
from harness import RESULTS, ROOT, tree_memory

from atari_wrappers import make_vec

mpl.use("Agg")
from matplotlib import pyplot as plt

GAME = "SpaceInvadersNoFrameskip-v4"
NUM_ENVS = 8
SAMPLES = 200
BACKENDS = {
    "ale": {},
    "sync": {"obs_buffers": 2},
    "async": {"obs_buffers": 2},
    "async, restarted": {"on_worker_failure": "restart"},
}
Row = dict[str, Any]


def soak(name: str, steps: int) -> list[Row]:
    """Return samples of the memory of one backend."""
    backend = name.split(",")[0]
    rng = np.random.default_rng(0)
    rows = []
    with make_vec(GAME, NUM_ENVS, backend=backend, **BACKENDS[name]) as vec:
        vec.reset(seed=0)
        rounds = steps // NUM_ENVS
        for number in range(rounds + 1):
            if number % max(1, rounds // SAMPLES) == 0:
                if name.endswith("restarted") and number:
                    # A worker is killed at each sample, and made anew.
                    pids = vec.worker_pids
                    os.kill(pids[number % len(pids)], 9)
                rows.append(
                    {
                        "backend": name,
                        "agent_steps": number * NUM_ENVS,
                        "own_bytes": tree_memory(os.getpid(), "Pss_Anon"),
                        "shared_bytes": tree_memory(os.getpid(), "Pss_Shmem"),
                    }
                )
            vec.step(rng.integers(6, size=NUM_ENVS))
    return rows


def plot(rows: list[Row], path: str) -> None:
    """Draw all samples."""
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(8, 6), layout="constrained")
    for axis, key in zip(axes, ("own_bytes", "shared_bytes"), strict=True):
        for name in dict.fromkeys(row["backend"] for row in rows):
            chosen = [row for row in rows if row["backend"] == name]
            steps = [row["agent_steps"] / 1e6 for row in chosen]
            axis.plot(steps, [row[key] / 2**20 for row in chosen], label=name)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("own memory, MiB")
    axes[1].set_ylabel("shared memory, MiB")
    axes[1].set_xlabel(f"million agent steps, {NUM_ENVS} envs of {GAME}")
    axes[0].legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=f"of: {'; '.join(BACKENDS)}")
    parser.add_argument("--steps", type=int, default=1_000_000, help="agent steps, over all envs")
    arguments = parser.parse_args()
    if unknown := set(arguments.backends) - set(BACKENDS):
        parser.error(f"no such backend: {', '.join(unknown)}")
    rows: list[Row] = []
    for name in arguments.backends or BACKENDS:
        rows += soak(name, arguments.steps)
        half = [row for row in rows if row["backend"] == name]
        half = half[len(half) // 2 :]
        growth = (half[-1]["own_bytes"] - half[0]["own_bytes"]) / 2**20
        print(f"{name}: {growth:+.2f} MiB over the second half", file=sys.stderr)
        write(rows)
    print(f"samples and plot: {RESULTS.relative_to(ROOT)}/memory.csv, memory.png")


def write(rows: list[Row]) -> None:
    """Write all samples and their plot."""
    with (RESULTS / "memory.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    plot(rows, str(RESULTS / "memory.png"))


if __name__ == "__main__":
    main()
