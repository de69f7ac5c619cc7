"""What learning curves of several seeds have in common: statistics, a line, the command line.

What the games come to is computed as `rust_trainer seeds` does it, by an example of the trainer
(`cargo build --release -p rust_trainer --example learning_curves`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from harness import ROOT
from matplotlib.axes import Axes
from numpy.typing import NDArray

Summary = dict[str, Any]


def summarize(seeds: Iterable[tuple[int, NDArray[np.float64]]], steps: int) -> Summary:
    """Return what the games of each seed come to in a run of so many steps.

    A row of games begins with the step of its end, the environment, the raw return.
    """
    rows = [f"{seed},{game[0]:.0f},{game[2]}" for seed, games in seeds for game in games.tolist()]
    summary: Summary = json.loads(
        subprocess.run(
            [ROOT / "target/release/examples/learning_curves", str(steps)],
            input="\n".join(["seed,step,raw_return", *rows]),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
    )
    return summary


def draw(axis: Axes, label: str, summary: Summary) -> None:
    """Draw the mean curve and its interval."""
    steps, means, lows, highs = np.transpose(summary["curve"])
    axis.plot(steps, means, label=f"{label}, {len(summary['ends'])} seeds")
    axis.fill_between(steps, lows, highs, alpha=0.2)


def estimate(of: dict[str, float]) -> str:
    """Return a mean over seeds and its interval."""
    return f"{of['value']:.1f} ({of['low']:.1f} to {of['high']:.1f})"


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
