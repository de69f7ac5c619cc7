"""What benchmarks say of the machine, and of the memory of processes."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def tree(pid: int) -> list[int]:
    """Return a process and all of its descendants."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(c) for task in tasks for c in (task / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(d for child in children for d in tree(child))]


def tree_memory(pid: int, kind: str = "Pss") -> int:
    """Return the memory of a process tree in bytes.

    Args:
        pid: Its root.
        kind: A line of `/proc/<pid>/smaps_rollup`: `Pss`, in which shared pages count once, or a
            part of it, such as `Pss_Shmem`.
    """
    total = 0
    for process in tree(pid):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))
    return total


def machine() -> dict[str, Any]:
    """Return what the numbers were measured on."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release()}
