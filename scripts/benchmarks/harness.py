"""What benchmarks share: the machine and its memory, the trainer as a process, tables, records."""

from __future__ import annotations

import csv
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
TRAINER = ROOT / "target/release/rust_trainer"
STOP_SECONDS = 60.0
PARTS = ("acting", "stepping", "learning")

Sample = dict[str, Any]


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
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.processor()
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release()}


def command_line() -> str:
    """Return how this script was called, wherever the repository lies."""
    script = Path(sys.argv[0]).resolve().relative_to(ROOT)
    return shlex.join([str(script), *sys.argv[1:]])


def store(path: Path, record: dict[str, Any], samples: object) -> None:
    """Write what was measured, and how, with the raw samples last."""
    path.write_text(json.dumps(record | {"samples": samples}, indent=1) + "\n")


def markdown(header: str, rows: Iterable[Iterable[object]]) -> str:
    """Return a table; `header` names its columns, with bars between."""
    columns = [name.strip() for name in header.split("|")]
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def theirs(script: str, *arguments: object) -> list[str]:
    """Return the command of a peer."""
    return [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]


def start(arguments: Sequence[object], log: Path) -> subprocess.Popen[bytes]:
    """Start the trainer: the program where it is built, else the module; it adds to `log`."""
    # The module is not that in the folder of sources, which is not built.
    is_built = TRAINER.exists() and "GPU_SITE" not in os.environ
    command = [str(TRAINER)] if is_built else [sys.executable, "-P", "-m", "rust_trainer"]
    with log.open("ab") as file:
        return subprocess.Popen(
            [*command, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Let it leave a checkpoint and end, or kill it where that takes more than a minute."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def options(settings: dict[str, object]) -> list[str]:
    """Return settings as the trainer's command line has them."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def table(path: Path) -> list[dict[str, float]]:
    """Return a table of a run so far: whole lines, all numbers; NaN for what is not known yet."""
    try:
        with path.open(newline="") as file:
            lines = [line for line in file if line.endswith("\n")]
    except OSError:
        return []
    rows = csv.DictReader(lines)
    return [{name: float(cell or "nan") for name, cell in row.items()} for row in rows]


def speed(rows: list[dict[str, float]], warm_up: int) -> Sample:
    """Return what the updates behind the first `warm_up` say."""
    warm = rows[min(warm_up, len(rows) - 1) - 1 :]
    steps = warm[-1]["step"] - warm[0]["step"]
    spent = {part: sum(row[f"seconds_{part}"] for row in warm[1:]) for part in PARTS}
    return {
        "steps_per_second": steps / (warm[-1]["seconds"] - warm[0]["seconds"]),
        "cpu_seconds_per_1000_steps": 1000 * sum(row["seconds_cpu"] for row in warm[1:]) / steps,
        "seconds_per_1000_steps": {part: 1000 * spent[part] / steps for part in PARTS},
        "seconds_to_first_update": rows[0]["seconds"],
    }


def gpu_query(fields: str, *options: str) -> list[str] | None:
    """Return the command that asks the first GPU for `fields`; None where there is no GPU."""
    program = shutil.which("nvidia-smi")
    layout = "--format=csv,noheader,nounits"
    return program and [program, "--id=0", f"--query-gpu={fields}", layout, *options]


def machine_with_gpu() -> dict[str, Any]:
    """Return what the numbers were measured on, and its GPU."""
    query = gpu_query("name,driver_version,memory.total")
    gpu = (
        query and subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    )
    return machine() | {"gpu": gpu or None}


class GpuSamples:
    """Use and memory of the GPU while the `with` block runs, twice a second; empty without one."""

    def __init__(self) -> None:
        self.use: list[float] = []  # percent of the time in which a kernel ran
        self.memory: list[float] = []  # MiB, of all processes
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> GpuSamples:
        query = gpu_query("utilization.gpu,memory.used", "--loop-ms=500")
        if query:
            self._process = subprocess.Popen(
                query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._reader.join()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            cells = line.split(",")
            if len(cells) == 2 and all(cell.strip().isdigit() for cell in cells):
                self.use.append(float(cells[0]))
                self.memory.append(float(cells[1]))
