"""Whether two runs of the trainer are the same run: its games, its updates and what it learned.

    python tests/support/same_run.py runs/one runs/other

Bit for bit, but for times and for the games' own states, which each backend saves in its own way.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table but for what tells of time."""
    with path.open() as table:
        return [
            {
                name: value
                for name, value in row.items()
                if not name.startswith("seconds") and name != "steps_per_second"
            }
            for row in csv.DictReader(table)
        ]


def tensors(run: Path) -> dict[str, np.ndarray]:
    """Return what the newest checkpoint holds but for the games' states, as bits."""
    held = load_file(max(run.glob("checkpoints/step-????????????.safetensors")))
    return {
        name: np.atleast_1d(tensor).view(np.uint8)
        for name, tensor in held.items()
        if not name.startswith("env_state")
    }


def assert_same_run(one: Path, other: Path) -> str:
    """Compare two run folders; return how much was the same."""
    counts = []
    for table in ("episodes", "updates"):
        mine, theirs = (rows(run / f"{table}.csv") for run in (one, other))
        for number, (left, right) in enumerate(zip(mine, theirs, strict=True), 1):
            assert left == right, f"row {number} of {table}.csv: {left} is not {right}"
        counts.append(len(mine))
    mine, theirs = tensors(one), tensors(other)
    assert mine.keys() == theirs.keys()
    for name, tensor in mine.items():
        np.testing.assert_array_equal(tensor, theirs[name], f"tensor {name}")
    return f"the same {counts[0]} games, {counts[1]} updates and {len(mine)} tensors"


if __name__ == "__main__":
    print(assert_same_run(*map(Path, sys.argv[1:])))  # noqa: T201
