"""What learning curves of several seeds have in common: runs, games, statistics, a picture.

What the games come to is computed as `rust_trainer seeds` does it, by an example of the trainer
(`cargo build --release --example learning_curves`).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from harness import ROOT, TRAINER
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

Summary = dict[str, Any]
# What tells a run from others, its seed last.
Key = tuple[Any, ...]
Runs = dict[Key, NDArray[np.float64]]
# Of a game: when it ended, in which environment, and what it brought.
GAME = ("step", "env", "raw_return")


def train(run: Path, seed: int, settings: Sequence[str], *starter: str) -> None:
    """Train the run of that folder, by a program that starts others if one is named."""
    command = [*starter, str(TRAINER), "train", *settings, "--seed", str(seed)]
    command += ["--runs-dir", str(run.parent), "--run-name", run.name]
    variables = {"VIRTUAL_ENV": sys.prefix, "GLOO_SOCKET_IFNAME": "lo"}
    subprocess.run(command, env=os.environ | variables, check=True)


class Table:
    """The games of all runs, checked in as `episodes.csv` in a folder of results."""

    def __init__(self, results: Path, keys: Sequence[str], more: Sequence[str] = ()) -> None:
        self.results, self.keys = results, keys
        self.columns = [*keys, *GAME, *more]

    def collect(self, runs: Iterable[tuple[Key, Path]]) -> None:
        """Add the games of runs, each of which has them in a file, in place of earlier ones."""
        games_of = self.rows()
        for key, games in runs:
            names = dict(zip(self.keys, map(str, key), strict=True))
            with games.open() as rows:
                games_of[self.key(names)] = [row | names for row in csv.DictReader(rows)]
        with (self.results / "episodes.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(row for key in sorted(games_of) for row in games_of[key])

    def rows(self) -> dict[Key, list[dict[str, str]]]:
        """Return the rows of each run that is checked in; none if there is no file."""
        games = self.results / "episodes.csv"
        of_runs: dict[Key, list[dict[str, str]]] = {}
        if games.exists():
            with games.open() as file:
                for row in csv.DictReader(file):
                    of_runs.setdefault(self.key(row), []).append(row)
        return of_runs

    def key(self, row: dict[str, str]) -> Key:
        """Return which run a row is of."""
        *names, seed = (row[key] for key in self.keys)
        return *names, int(seed)

    def read(self) -> Runs:
        """Return the games of each run: `[games, columns without the keys]`."""
        columns = self.columns[len(self.keys) :]
        return {
            key: np.array([[row[column] for column in columns] for row in rows], float)
            for key, rows in self.rows().items()
        }

    def store(self, figure: Figure, lines: list[str]) -> None:
        """Write the picture of the curves and the text about them beside the games."""
        figure.savefig(self.results / "curves.png", dpi=110)
        plt.close(figure)
        (self.results / "curves.txt").write_text("\n".join(lines) + "\n")
        print("\n".join(lines))


def summarize(runs: Runs, key: Key, seeds: Iterable[int], steps: int) -> Summary:
    """Return what the games of each seed come to in a run of so many steps."""
    of_seeds = ((seed, runs[*key, seed].tolist()) for seed in seeds)
    rows = [f"{seed},{step:.0f},{game}" for seed, games in of_seeds for step, _, game, *_ in games]
    done = subprocess.run(
        [ROOT / "target/release/examples/learning_curves", str(steps)],
        input="\n".join(["seed,step,raw_return", *rows]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    summary: Summary = json.loads(done.stdout)
    return summary


def draw(axis: Axes, title: str, summaries: dict[str, Summary]) -> None:
    """Draw mean curves and their intervals."""
    for label, summary in summaries.items():
        steps, means, lows, highs = np.transpose(summary["curve"])
        axis.plot(steps, means, label=f"{label}, {len(summary['ends'])} seeds")
        axis.fill_between(steps, lows, highs, alpha=0.2)
    axis.set(title=title, xlabel="agent steps", ylabel="mean raw return of the last 100 games")
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.legend(loc="upper left")


def estimate(of: dict[str, Any]) -> str:
    """Return a mean over seeds and its interval, which a single seed has not."""
    if of["low"] is None:
        return f"{of['value']:.1f} (one seed)"
    return f"{of['value']:.1f} ({of['low']:.1f} to {of['high']:.1f})"


def main(
    description: str | None,
    default_seeds: str,
    table: Table,
    train_all: Callable[[Path, list[int]], None],
    found: Callable[[Path], Iterable[tuple[Key, Path]]],
    report: Callable[[Runs], None],
) -> None:
    """Do what the command line says: train, or report on what is checked in and a folder's runs."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["train", "report"])
    parser.add_argument("--folder", type=Path, help="of the runs; train: runs")
    parser.add_argument("--seeds", default=default_seeds, help="FIRST-LAST")
    parser.add_argument(
        "--results", default=table.results.name, help="report: the folder of docs/results"
    )
    given = parser.parse_args()
    table.results = table.results.with_name(given.results)
    if given.what == "train":
        first, _, last = given.seeds.partition("-")
        folder = given.folder or Path("runs")
        folder.mkdir(parents=True, exist_ok=True)
        train_all(folder, list(range(int(first), int(last or first) + 1)))
        return
    if given.folder:
        table.results.mkdir(exist_ok=True)
        table.collect(found(given.folder))
    if not (table.results / "episodes.csv").exists():
        parser.error(f"no games are in {table.results}: --folder names that of their runs")
    report(table.read())
