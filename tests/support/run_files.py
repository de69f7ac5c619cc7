"""What a run's folder holds: tables and tensors."""

from __future__ import annotations

import csv
from pathlib import Path

from safetensors.numpy import load_file


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open() as table:
        return list(csv.DictReader(table))


def column(path: Path, name: str) -> list[float]:
    """Return the numbers of a table's column."""
    return [float(row[name]) for row in rows(path)]


def untimed_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table but for what tells of time."""
    return [
        {
            name: value
            for name, value in row.items()
            if not name.startswith("seconds") and name != "steps_per_second"
        }
        for row in rows(path)
    ]


def tensors(path: Path) -> dict[str, bytes]:
    """Return the tensors of a checkpoint, the states of its games among them."""
    return {name: tensor.tobytes() for name, tensor in load_file(path).items()}


def learned(path: Path) -> dict[str, bytes]:
    """Return the tensors of a checkpoint but for the states of its games.

    Each backend saves a game in its own way, and PettingZoo's ALE in each process.
    """
    return {
        name: tensor for name, tensor in tensors(path).items() if not name.startswith("env_state")
    }
