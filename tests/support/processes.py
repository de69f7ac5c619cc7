"""What the kernel says of processes and their threads."""

from __future__ import annotations

import os
from pathlib import Path


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie that its parent will collect does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it goes meanwhile
        return False


def threads_now() -> set[str]:
    """Return the threads of this process."""
    return {task.name for task in Path("/proc/self/task").iterdir()}


def cpu_seconds(pid: int) -> float:
    """Return how long a process has computed."""
    numbers = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(numbers[11]) / os.sysconf("SC_CLK_TCK")
