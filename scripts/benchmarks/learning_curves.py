"""What learning curves of several seeds have in common: games, means, intervals, command line."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

GAMES_OF_MEAN = 100
# Of a curve.
POINTS = 200
RESAMPLES = 10_000

# By what tells a run from the others: the step of the end, environment, raw return of each game.
Runs = dict[tuple[Any, ...], NDArray[np.float64]]


def collect(
    path: Path,
    keys: Sequence[str],
    columns: Sequence[str],
    runs: Iterable[tuple[tuple[Any, ...], Path]],
) -> None:
    """Write these `columns` of all `runs`, each a key and its table of games, as one table."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*keys, *columns], extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for key, table in runs:
            of_run = dict(zip(keys, key, strict=True))
            with table.open() as games:
                writer.writerows(of_run | row for row in csv.DictReader(games))


def read(path: Path, keys: dict[str, type]) -> Runs:
    """Return what `collect` wrote; `keys` are its columns and their types."""
    runs: dict[tuple[Any, ...], list[list[float]]] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            key = tuple(kind(row[name]) for name, kind in keys.items())
            game = [float(cell) for name, cell in row.items() if name not in keys]
            runs.setdefault(key, []).append(game)
    return {key: np.array(games) for key, games in runs.items()}


def curve(games: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the last returns at each of `steps`; not a number before the first."""
    ended = np.searchsorted(games[:, 0], steps, side="right")
    means = [games[max(0, end - GAMES_OF_MEAN) : end, 2].mean() if end else np.nan for end in ended]
    return np.array(means)


def ends(runs: Runs, keys: Iterable[tuple[Any, ...]]) -> NDArray[np.float64]:
    """Return the mean of the last raw returns of each run."""
    return np.array([runs[key][-GAMES_OF_MEAN:, 2].mean() for key in keys])


def interval(of_seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return both ends of the 95 % interval of the mean over the first axis."""
    chosen = np.random.default_rng(0).integers(len(of_seeds), size=(RESAMPLES, len(of_seeds)))
    found: NDArray[np.float64] = np.percentile(of_seeds[chosen].mean(1), [2.5, 97.5], axis=0)
    return found


def estimate(of_seeds: NDArray[np.float64]) -> str:
    """Return the mean over seeds and its interval."""
    low, high = interval(of_seeds)
    return f"{of_seeds.mean():.1f} ({low:.1f} to {high:.1f})"


def draw(axis: Axes, games: list[NDArray[np.float64]], total: int, label: str) -> None:
    """Draw the mean curve of the runs of one contestant, and its interval."""
    steps = np.linspace(0, total, POINTS + 1)[1:]
    curves = np.array([curve(of_seed, steps) for of_seed in games])
    low, high = interval(curves)
    axis.plot(steps, curves.mean(0), label=f"{label}, {len(games)} seeds")
    axis.fill_between(steps, low, high, alpha=0.2)


def label(axis: Axes, title: str) -> None:
    """Name what the curves on `axis` show."""
    axis.set(title=title, xlabel="agent steps", ylabel="mean raw return of the last 100 games")
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.legend(loc="upper left")


def finish(folder: Path, figure: Figure, lines: list[str]) -> None:
    """Write the picture and the lines, and print these."""
    figure.savefig(folder / "curves.png", dpi=110)
    (folder / "curves.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def options(description: str | None, default_seeds: str) -> tuple[str, Path | None, list[int]]:
    """Return what the command line asks for: `train` or `report`, the runs' folder, the seeds."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["train", "report"])
    parser.add_argument("--folder", type=Path, help="of the runs; train: runs")
    parser.add_argument("--seeds", default=default_seeds, help="FIRST-LAST")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    return given.what, given.folder, list(range(int(first), int(last or first) + 1))
