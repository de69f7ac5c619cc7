"""Learning curves of one process and of two ranks at equal batch.

    scripts/benchmarks/ranks.py train --folder FOLDER --seeds 1-5    # goes on where it stopped
    scripts/benchmarks/ranks.py report --folder FOLDER               # or of what is checked in

`report` writes every game as `docs/results/ranks/episodes.csv`, and `curves.png` and `curves.txt`
beside it: for each game the mean over seeds of the mean raw return of the last 100 games, with its
95 % interval by bootstrap over seeds; and the difference between two ranks and one process with
the same seed, with its 95 % interval by Student's t.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import harness
import matplotlib.pyplot as plt
import numpy as np
from learning_curves import draw, estimate, options, summarize
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

RESULTS = harness.RESULTS / "ranks"
ATARI = ["--backend", "native", "--precision", "auto"]
GAMES = {
    "CartPole-v1": (50_000, ["ppo-cartpole"]),
    "SpaceInvadersNoFrameskip-v4": (200_000, ["ppo-atari", *ATARI]),
}
# Of both: what differs is the number of processes alone.
COMMON = ["--torch-threads", "1", "--env-threads", "1"]
COLUMNS = ["game", "ranks", "seed", "step", "env", "raw_return", "length"]

Runs = dict[tuple[str, int, int], NDArray[np.float64]]


def name(game: str, ranks: int, seed: int) -> str:
    """Return the name of a run."""
    return f"{game}-{ranks}-seed{seed}"


def train(folder: Path, seeds: list[int]) -> None:
    """Train what is not there yet."""
    variables = os.environ | {"VIRTUAL_ENV": sys.prefix, "GLOO_SOCKET_IFNAME": "lo"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--no-python", "--standalone"]
    for seed in seeds:
        for game, (steps, arguments) in GAMES.items():
            for ranks in (1, 2):
                run = folder / name(game, ranks, seed)
                if list(run.glob(f"checkpoints/step-*{steps // 1000}???.safetensors")):
                    continue
                command = [str(harness.TRAINER), "train", *arguments, *COMMON, "--seed", str(seed)]
                command += ["--total-steps", str(steps), "--checkpoint-every", str(10 * steps)]
                command += ["--runs-dir", str(folder), "--run-name", run.name]
                starter = [*torchrun, "--nproc-per-node", "2"] if ranks == 2 else []
                subprocess.run([*starter, *command], env=variables, check=True)


def collect(folder: Path) -> None:
    """Write the games of all runs in `folder` that have a partner."""
    with (RESULTS / "episodes.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for game in GAMES:
            of_game = {int(run.name.rpartition("seed")[2]) for run in folder.glob(f"{game}-2-*")}
            for seed in sorted(of_game):
                for ranks in (1, 2):
                    with (folder / name(game, ranks, seed) / "episodes.csv").open() as episodes:
                        for row in csv.DictReader(episodes):
                            writer.writerow({"game": game, "ranks": ranks, "seed": seed} | row)


def read() -> Runs:
    """Return each run's games: the step of its end, environment, raw return, length."""
    runs: dict[tuple[str, int, int], list[list[float]]] = {}
    with (RESULTS / "episodes.csv").open() as file:
        for row in csv.DictReader(file):
            key = (row["game"], int(row["ranks"]), int(row["seed"]))
            runs.setdefault(key, []).append([float(row[column]) for column in COLUMNS[3:]])
    return {key: np.array(games) for key, games in runs.items()}


def student(differences: NDArray[np.float64]) -> float:
    """Return half of the 95 % interval of a mean of so few differences."""
    quantiles = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306}
    count = len(differences)
    return quantiles[count] * float(differences.std(ddof=1)) / float(np.sqrt(count))


def report() -> None:
    """Draw the curves, and write the table of where they end."""
    runs = read()
    figure, axes = plt.subplots(1, len(GAMES), figsize=(11, 4), layout="constrained")
    lines = ["game seed one_process two_ranks first_games_alike games"]
    for (game, (total, _)), axis in zip(GAMES.items(), axes, strict=True):
        seeds = sorted(seed for of, ranks, seed in runs if of == game and ranks == 2)
        found = []
        for ranks, label in [(1, "one process"), (2, "two ranks")]:
            found.append(summarize(((seed, runs[game, ranks, seed]) for seed in seeds), total))
            draw(axis, label, found[-1])
        ends = [np.array(of["ends"]) for of in found]
        axis.set(title=game, xlabel="agent steps", ylabel="mean raw return of the last 100 games")
        axis.xaxis.set_major_locator(MaxNLocator(5))
        axis.legend(loc="upper left")
        for seed, one, two in zip(seeds, *ends, strict=True):
            games = runs[game, 1, seed], runs[game, 2, seed]
            shorter = min(map(len, games))
            alike = (games[0][:shorter] == games[1][:shorter]).all(1)
            first = shorter if alike.all() else int(alike.argmin())
            lines.append(f"{game} {seed} {one:.1f} {two:.1f} {first} {len(games[0])}")
        difference = ends[1] - ends[0]
        lines.append(
            f"{game}: one process {estimate(found[0]['end'])}, "
            f"two ranks {estimate(found[1]['end'])}; difference "
            f"{difference.mean():+.1f} ± {student(difference):.1f}"
        )
    figure.savefig(RESULTS / "curves.png", dpi=110)
    (RESULTS / "curves.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def main() -> None:
    """Train, or report."""
    what, folder, seeds = options(__doc__, "1-5")
    if what == "train":
        train(folder or Path("runs"), seeds)
        return
    if folder:
        collect(folder)
    report()


if __name__ == "__main__":
    main()
