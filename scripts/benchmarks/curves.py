"""Learning curves beside the plain PyTorch PPO on EnvPool, with the same settings.

    scripts/benchmarks/curves.py train --folder FOLDER --seeds 1-3    # leaves out what is done
    scripts/benchmarks/curves.py report --folder FOLDER               # or of what is checked in
    scripts/benchmarks/curves.py report --results curves-amx          # of another processor

`report` writes every game as `docs/results/curves/episodes.csv`, and `curves.png` and `curves.txt`
beside it: over the seeds that all contestants there have, the mean of the mean raw return of the
last 100 games, and of all, with its 95 % interval by bootstrap over seeds; and how far each two are
apart, seed by seed, over the seeds that both have, with the standard error.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import learning_curves
import matplotlib.pyplot as plt
import numpy as np
from harness import RESULTS
from learning_curves import Key, Runs, Table, draw, estimate, summarize

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
TABLE = Table(RESULTS / "curves", ["contestant", "seed"])


def run_name(contestant: str) -> str:
    """Return the name of a contestant's runs; that of a file of games ends in its seed."""
    return f"{contestant.replace(', ', '-').replace(' ', '-')}-seed"


def train(folder: Path, seeds: list[int]) -> None:
    """Train what is not there yet."""
    for seed, (contestant, settings) in itertools.product(seeds, CONTESTANTS.items()):
        run = folder / f"{run_name(contestant)}{seed}"
        games = run.with_suffix(".csv")
        if games.exists():
            continue
        if settings:
            shutil.rmtree(run, ignore_errors=True)  # what was interrupted
            learning_curves.train(run, seed, settings)
            shutil.copyfile(run / "episodes.csv", games)
        else:
            peer = [Path(__file__).with_name("torch_ppo.py"), 1, STEPS]
            peer += ["--seed", seed, "--games", games]
            subprocess.run([sys.executable, *map(str, peer)], check=True)


def found(folder: Path) -> Iterator[tuple[Key, Path]]:
    """Yield the runs in a folder, with the files of their games."""
    for contestant in CONTESTANTS:
        name = run_name(contestant)
        seeds = sorted(int(games.stem[len(name) :]) for games in folder.glob(f"{name}*.csv"))
        for seed in seeds:
            yield (contestant, seed), folder / f"{name}{seed}.csv"


def common_seeds(runs: Runs, *contestants: str) -> list[int]:
    """Return the seeds that all of them have."""
    seeds = ({seed for of, seed in runs if of == contestant} for contestant in contestants)
    return sorted(set.intersection(*seeds))


def difference(first: list[float], second: list[float]) -> str:
    """Return by how much the first is higher, seed by seed: the mean, and its standard error."""
    pairs = np.subtract(first, second)
    return f"{np.mean(pairs):+.1f} ± {np.std(pairs, ddof=1) / np.sqrt(len(pairs)):.1f}"


def report(runs: Runs) -> None:
    """Draw the curves, and write the table of where they end."""
    contestants = [of for of in CONTESTANTS if any(of == there for there, _ in runs)]
    seeds = common_seeds(runs, *contestants)
    of_all = {of: summarize(runs, (of,), seeds, STEPS) for of in contestants}
    lines = [
        f"{contestant}: {estimate(of['end'])}, over all games {estimate(of['whole'])}; "
        f"seeds {', '.join(f'{end:.1f}' for end in of['ends'])}"
        for contestant, of in of_all.items()
    ]
    for pair in itertools.combinations(contestants, 2):
        seeds = common_seeds(runs, *pair)
        first, second = (summarize(runs, (of,), seeds, STEPS) for of in pair)
        lines.append(
            f"{' beside '.join(pair)}, {len(seeds)} seeds: "
            f"{difference(first['ends'], second['ends'])}, "
            f"over all games {difference(first['wholes'], second['wholes'])}"
        )
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    draw(axis, "PPO on SpaceInvaders, EnvPool's recipe", of_all)
    TABLE.store(figure, lines)


if __name__ == "__main__":
    learning_curves.main(__doc__, "1-3", TABLE, train, found, report)
