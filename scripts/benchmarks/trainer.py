"""The trainer as a process: the program where it is built, else the installed Python module."""

from __future__ import annotations

import csv
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from machine import ROOT, machine

STOP_SECONDS = 60.0


def command() -> list[str]:
    """Return what starts the trainer here."""
    program = ROOT / "target/release/rust_trainer"
    has_module = "GPU_SITE" in os.environ
    if program.exists() and not has_module:
        return [str(program)]
    return [sys.executable, "-P", "-m", "rust_trainer"]  # not the folder of sources


def command_line() -> str:
    """Return how this script was called, wherever the repository lies."""
    script = Path(sys.argv[0]).resolve().relative_to(ROOT)
    return shlex.join([str(script), *sys.argv[1:]])


def start(arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start the trainer; what it says is added to `log`."""
    with log.open("ab") as file:
        return subprocess.Popen(
            [*command(), *arguments], stdin=subprocess.DEVNULL, stdout=file, stderr=file
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


def table(path: Path) -> list[dict[str, float]]:
    """Return a table of a run so far: whole lines, all numbers; NaN for what is not known yet."""
    try:
        with path.open(newline="") as file:
            lines = [line for line in file if line.endswith("\n")]
    except OSError:
        return []
    rows = csv.DictReader(lines)
    return [{name: float(cell or "nan") for name, cell in row.items()} for row in rows]


def gpu_query(fields: str, *options: str) -> list[str] | None:
    """Return the command that asks the first GPU for `fields`; None where there is no GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    layout = "--format=csv,noheader,nounits"
    return [program, "--id=0", f"--query-gpu={fields}", layout, *options]


def machine_with_gpu() -> dict[str, Any]:
    """Return what the numbers were measured on."""
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
