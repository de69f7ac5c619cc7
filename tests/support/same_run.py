"""Whether two runs of the trainer are the same run: its games, its updates and what it learned.

    python tests/support/same_run.py runs/one runs/other

Bit for bit, but for times and for the games' own states, which each backend saves in its own way.
"""

from __future__ import annotations

import sys
from pathlib import Path

from run_files import learned, untimed_rows


def newest(run: Path) -> Path:
    """Return a run's newest checkpoint."""
    return max(run.glob("checkpoints/step-????????????.safetensors"))


def assert_same_run(one: Path, other: Path) -> str:
    """Compare two run folders; return how much was the same."""
    counts = []
    for table in ("episodes", "updates"):
        mine, theirs = (untimed_rows(run / f"{table}.csv") for run in (one, other))
        for number, (left, right) in enumerate(zip(mine, theirs, strict=True), 1):
            assert left == right, f"row {number} of {table}.csv: {left} is not {right}"
        counts.append(len(mine))
    mine, theirs = learned(newest(one)), learned(newest(other))
    assert mine.keys() == theirs.keys()
    for name, tensor in mine.items():
        assert tensor == theirs[name], f"tensor {name}"
    return f"the same {counts[0]} games, {counts[1]} updates and {len(mine)} tensors"


if __name__ == "__main__":
    print(assert_same_run(*map(Path, sys.argv[1:])))  # noqa: T201
