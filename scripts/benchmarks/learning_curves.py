"""What learning curves of several seeds have in common: means, intervals, the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GAMES_OF_MEAN = 100
# Of a curve.
POINTS = 200
RESAMPLES = 10_000


def curve(games: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the last returns at each of `steps`; not a number before the first.

    A row of `games` begins with the step of its end, the environment, the raw return.
    """
    ended = np.searchsorted(games[:, 0], steps, side="right")
    means = [games[max(0, end - GAMES_OF_MEAN) : end, 2].mean() if end else np.nan for end in ended]
    return np.array(means)


def interval(of_seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return both ends of the 95 % interval of the mean over the first axis."""
    chosen = np.random.default_rng(0).integers(len(of_seeds), size=(RESAMPLES, len(of_seeds)))
    ends: NDArray[np.float64] = np.percentile(of_seeds[chosen].mean(1), [2.5, 97.5], axis=0)
    return ends


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
