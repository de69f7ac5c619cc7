"""Learning curves of one process and of two ranks at equal batch.

    .venv/bin/python scripts/benchmarks/ranks.py train --folder FOLDER --seeds 1-5
    .venv/bin/python scripts/benchmarks/ranks.py report [--folder FOLDER]

`train` leaves out what is done. `report` adds the runs of FOLDER, if one is named, to what is
checked in; it writes every game as `docs/results/ranks/episodes.csv`, and `curves.png` and
`curves.txt` beside it: for each game the mean over seeds of the mean raw return of the last 100
games, with its 95 % interval by bootstrap over seeds; and the difference between two ranks and one
process with the same seed, with its 95 % interval by Student's t.
"""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import learning_curves
import matplotlib.pyplot as plt
import numpy as np
from harness import RESULTS
from learning_curves import Key, Runs, Table, draw, estimate, summarize
from numpy.typing import NDArray
from scipy.stats import t

ATARI = ["--backend", "native", "--precision", "auto"]
GAMES = {
    "CartPole-v1": (50_000, ["ppo-cartpole"]),
    "SpaceInvadersNoFrameskip-v4": (200_000, ["ppo-atari", *ATARI]),
}
# Of both: what differs is the number of processes alone.
COMMON = ["--torch-threads", "1", "--env-threads", "1"]
RANKS = {"1": "one process", "2": "two ranks"}
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--no-python", "--standalone"]
TORCHRUN += ["--nproc-per-node", "2"]
TABLE = Table(RESULTS / "ranks", ["game", "ranks", "seed"], ["length"])


def train(folder: Path, seeds: list[int]) -> None:
    """Train what is not there yet."""
    for seed, (game, (steps, settings)), ranks in itertools.product(seeds, GAMES.items(), RANKS):
        run = folder / f"{game}-{ranks}-seed{seed}"
        if list(run.glob(f"checkpoints/step-*{steps // 1000}???.safetensors")):
            continue
        shutil.rmtree(run, ignore_errors=True)  # what was interrupted
        size = ["--total-steps", str(steps), "--checkpoint-every", str(10 * steps)]
        starter = TORCHRUN if ranks == "2" else []
        learning_curves.train(run, seed, [*settings, *COMMON, *size], *starter)


def found(folder: Path) -> Iterator[tuple[Key, Path]]:
    """Yield the runs in a folder that have a partner, with the files of their games."""
    for game in GAMES:
        seeds = {int(run.name.rpartition("seed")[2]) for run in folder.glob(f"{game}-2-*")}
        for seed, ranks in itertools.product(sorted(seeds), RANKS):
            run = folder / f"{game}-{ranks}-seed{seed}"
            yield (game, ranks, seed), run / "episodes.csv"


def student(differences: NDArray[np.float64]) -> float:
    """Return half of the 95 % interval of a mean of so few differences."""
    count = len(differences)
    return float(t.ppf(0.975, count - 1) * differences.std(ddof=1) / np.sqrt(count))


def report(runs: Runs) -> None:
    """Draw the curves, and write the table of where they end."""
    figure, axes = plt.subplots(1, len(GAMES), figsize=(11, 4), layout="constrained")
    lines = ["game seed one_process two_ranks first_games_alike games"]
    for (game, (total, _)), axis in zip(GAMES.items(), axes, strict=True):
        seeds = sorted(seed for of, ranks, seed in runs if (of, ranks) == (game, "2"))
        both = {name: summarize(runs, (game, of), seeds, total) for of, name in RANKS.items()}
        draw(axis, game, both)
        ends = [np.array(of["ends"]) for of in both.values()]
        for seed, one, two in zip(seeds, *ends, strict=True):
            games = [runs[game, of, seed] for of in RANKS]
            shorter = min(map(len, games))
            alike = (games[0][:shorter] == games[1][:shorter]).all(1)
            first = shorter if alike.all() else int(alike.argmin())
            lines.append(f"{game} {seed} {one:.1f} {two:.1f} {first} {len(games[0])}")
        means = ", ".join(f"{name} {estimate(of['end'])}" for name, of in both.items())
        apart = ends[1] - ends[0]
        lines.append(f"{game}: {means}; difference {apart.mean():+.1f} ± {student(apart):.1f}")
    TABLE.store(figure, lines)


if __name__ == "__main__":
    learning_curves.main(__doc__, "1-5", TABLE, train, found, report)
