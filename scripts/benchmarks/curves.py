"""Learning curves beside the plain PyTorch PPO on EnvPool, with the same settings.

    scripts/benchmarks/curves.py train --folder FOLDER --seeds 1-3    # leaves out what is done
    scripts/benchmarks/curves.py report --folder FOLDER               # or of what is checked in

`report` writes every game as `docs/results/curves/episodes.csv`, and `curves.png` and `curves.txt`
beside it: over the seeds that all contestants have, the mean of the mean raw return of the last 100
games, and of all, with its 95 % interval by bootstrap over seeds; and how far each two are apart
over the seeds that both have, with the standard error.
"""

from __future__ import annotations

import csv
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from harness import RESULTS, ROOT
from learning_curves import Summary, draw, estimate, options, summarize
from matplotlib.ticker import MaxNLocator
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
COLUMNS = ["contestant", "seed", "step", "env", "raw_return"]

Runs = dict[tuple[str, int], NDArray[np.float64]]


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
                command = [str(ROOT / "target/release/rust_trainer"), "train", *settings]
                command += ["--seed", str(seed), "--runs-dir", str(folder)]
                command += ["--run-name", games.stem]
            else:
                command = [sys.executable, str(HERE / "torch_ppo.py"), "1", str(STEPS), "8"]
                command += [str(seed), str(games)]
            subprocess.run(command, env=environment, check=True)
            if settings:
                games.write_bytes((folder / games.stem / "episodes.csv").read_bytes())


def collect(folder: Path) -> None:
    """Write the games of all runs in `folder`."""
    with (RESULTS / "curves/episodes.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for contestant in CONTESTANTS:
            for games in sorted(folder.glob(games_of(folder, contestant, 0).stem[:-1] + "?.csv")):
                with games.open() as rows:
                    for row in csv.DictReader(rows):
                        writer.writerow({"contestant": contestant, "seed": games.stem[-1]} | row)


def read() -> Runs:
    """Return each run's games: the step of its end, environment, raw return."""
    runs: dict[tuple[str, int], list[list[float]]] = {}
    with (RESULTS / "curves/episodes.csv").open() as file:
        for row in csv.DictReader(file):
            key = (row["contestant"], int(row["seed"]))
            runs.setdefault(key, []).append([float(row[column]) for column in COLUMNS[2:]])
    return {key: np.array(games) for key, games in runs.items()}


def common_seeds(runs: Runs, *contestants: str) -> list[int]:
    """Return the seeds that all of them have."""
    seeds = ({seed for of, seed in runs if of == contestant} for contestant in contestants)
    return sorted(set.intersection(*seeds))


def summary(runs: Runs, contestant: str, seeds: list[int]) -> Summary:
    """Return what the games of these seeds come to."""
    return summarize(((seed, runs[contestant, seed]) for seed in seeds), STEPS)


def difference(first: list[float], second: list[float]) -> str:
    """Return by how much the mean of the first is higher, and the standard error."""
    error = np.sqrt((np.var(first, ddof=1) + np.var(second, ddof=1)) / len(first))
    return f"{np.mean(first) - np.mean(second):+.1f} ± {error:.1f}"


def compared(runs: Runs) -> list[str]:
    """Return a line for each two contestants, over the seeds that both have."""
    lines = []
    for pair in itertools.combinations(CONTESTANTS, 2):
        seeds = common_seeds(runs, *pair)
        first, second = (summary(runs, of, seeds) for of in pair)
        lines.append(
            f"{' beside '.join(pair)}, {len(seeds)} seeds: "
            f"{difference(first['ends'], second['ends'])}, "
            f"over all games {difference(first['wholes'], second['wholes'])}"
        )
    return lines


def report() -> None:
    """Draw the curves, and write the table of where they end."""
    runs = read()
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    seeds = common_seeds(runs, *CONTESTANTS)
    lines = []
    for contestant in CONTESTANTS:
        found = summary(runs, contestant, seeds)
        draw(axis, contestant, found)
        each = ", ".join(f"{end:.1f}" for end in found["ends"])
        lines.append(
            f"{contestant}: {estimate(found['end'])}, over all games {estimate(found['whole'])}; "
            f"seeds {each}"
        )
    lines += compared(runs)
    axis.set(xlabel="agent steps", ylabel="mean raw return of the last 100 games")
    axis.set_title("PPO on SpaceInvaders, EnvPool's recipe")
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.legend(loc="upper left")
    figure.savefig(RESULTS / "curves/curves.png", dpi=110)
    (RESULTS / "curves/curves.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def main() -> None:
    """Train, or report."""
    what, folder, seeds = options(__doc__, "1-3")
    if what == "train":
        train(folder or Path("runs"), seeds)
        return
    (RESULTS / "curves").mkdir(exist_ok=True)
    if folder:
        collect(folder)
    report()


if __name__ == "__main__":
    main()
