"""Learning curves beside the plain PyTorch PPO on EnvPool, with the same settings.

    scripts/benchmarks/curves.py train --folder FOLDER --seeds 1-3    # leaves out what is done
    scripts/benchmarks/curves.py report --folder FOLDER               # or of what is checked in

`report` writes every game as `docs/results/curves/episodes.csv`, and `curves.png` and `curves.txt`
beside it: over the seeds that all contestants have, the mean of the mean raw return of the last 100
games, and of all, with its 95 % interval by bootstrap over seeds; and how far each two are apart
over the seeds that both have, with the standard error.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from harness import RESULTS, TRAINER
from learning_curves import (
    Runs,
    collect,
    draw,
    ends,
    estimate,
    finish,
    label,
    options,
    read,
)
from numpy.typing import NDArray

HERE = Path(__file__).parent
STEPS = 200_000
OURS = ["ppo-atari", "--recipe", "envpool", "--episodic-life", "true", "--clip-reward", "true"]
OURS += ["--backend", "native", "--torch-threads", "1", "--env-threads", "1"]
# The peer counts whole updates.
OURS += ["--total-steps", str(STEPS // 1024 * 1024), "--checkpoint-every", str(10 * STEPS)]
CONTESTANTS = {
    "ours, fp32": [*OURS, "--precision", "fp32"],
    "ours, bf16": [*OURS, "--precision", "bf16"],
    "PyTorch PPO on EnvPool": [],
}
KEYS = {"contestant": str, "seed": int}
COLUMNS = ["step", "env", "raw_return"]


def games_of(folder: Path, contestant: str, seed: int) -> Path:
    """Return the file of a run's games, as they are written once it is done."""
    return folder / f"{contestant.replace(', ', '-').replace(' ', '-')}-seed{seed}.csv"


def train(folder: Path, seeds: list[int]) -> None:
    """Train what is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"VIRTUAL_ENV": sys.prefix}
    for seed in seeds:
        for contestant, settings in CONTESTANTS.items():
            games = games_of(folder, contestant, seed)
            if games.exists():
                continue
            if settings:
                shutil.rmtree(folder / games.stem, ignore_errors=True)  # what was interrupted
                command = [str(TRAINER), "train", *settings]
                command += ["--seed", str(seed), "--runs-dir", str(folder)]
                command += ["--run-name", games.stem]
            else:
                command = [sys.executable, str(HERE / "torch_ppo.py"), "1", str(STEPS), "8"]
                command += [str(seed), str(games)]
            subprocess.run(command, env=environment, check=True)
            if settings:
                games.write_bytes((folder / games.stem / "episodes.csv").read_bytes())


def runs_in(folder: Path) -> Iterator[tuple[tuple[str, str], Path]]:
    """Return all runs in `folder`, each with its games."""
    for contestant in CONTESTANTS:
        for games in sorted(folder.glob(games_of(folder, contestant, 0).stem[:-1] + "?.csv")):
            yield (contestant, games.stem[-1]), games


def common_seeds(runs: Runs, *contestants: str) -> list[int]:
    """Return the seeds that all of them have."""
    seeds = ({seed for of, seed in runs if of == contestant} for contestant in contestants)
    return sorted(set.intersection(*seeds))


def scores(runs: Runs, contestant: str, seeds: list[int]) -> tuple[NDArray[np.float64], ...]:
    """Return the mean raw return of each seed: of the last games, and of all."""
    wholes = [runs[contestant, seed][:, 2].mean() for seed in seeds]
    return ends(runs, ((contestant, seed) for seed in seeds)), np.array(wholes)


def difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> str:
    """Return by how much the mean of the first is higher, and the standard error."""
    error = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / len(first))
    return f"{first.mean() - second.mean():+.1f} ± {error:.1f}"


def compared(runs: Runs) -> list[str]:
    """Return a line for each two contestants, over the seeds that both have."""
    lines = []
    for pair in itertools.combinations(CONTESTANTS, 2):
        seeds = common_seeds(runs, *pair)
        (first_end, first), (second_end, second) = (scores(runs, of, seeds) for of in pair)
        lines.append(
            f"{' beside '.join(pair)}, {len(seeds)} seeds: {difference(first_end, second_end)}, "
            f"over all games {difference(first, second)}"
        )
    return lines


def report() -> None:
    """Draw the curves, and write the table of where they end."""
    runs = read(RESULTS / "curves/episodes.csv", KEYS)
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    seeds = common_seeds(runs, *CONTESTANTS)
    lines = []
    for contestant in CONTESTANTS:
        draw(axis, [runs[contestant, seed] for seed in seeds], STEPS, contestant)
        last, wholes = scores(runs, contestant, seeds)
        each = ", ".join(f"{end:.1f}" for end in last)
        lines.append(
            f"{contestant}: {estimate(last)}, over all games {estimate(wholes)}; seeds {each}"
        )
    label(axis, "PPO on SpaceInvaders, EnvPool's recipe")
    finish(RESULTS / "curves", figure, lines + compared(runs))


def main() -> None:
    """Train, or report."""
    what, folder, seeds = options(__doc__, "1-3")
    if what == "train":
        train(folder or Path("runs"), seeds)
        return
    (RESULTS / "curves").mkdir(exist_ok=True)
    if folder:
        collect(RESULTS / "curves/episodes.csv", [*KEYS], COLUMNS, runs_in(folder))
    report()


if __name__ == "__main__":
    main()
