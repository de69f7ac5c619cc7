"""Running the trainer as its users do: the program, and the same as a Python module."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
PROGRAM = [str(ROOT / "target/release/rust_trainer")]
MODULE = [sys.executable, "-m", "rust_trainer"]

# A few seconds of training, on a flat observation and on images.
CARTPOLE = ["--env-id", "CartPole-v1", "--num-steps", "32", "--checkpoint-every", "1024"]
INVADERS = ["--num-envs", "2", "--num-steps", "8", "--num-minibatches", "2", "--update-epochs", "1"]


class Trainer:
    """Starts the trainer in a folder of its own."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.folder = folder
        self.command = command

    def start(
        self, *arguments: object, stdout: IO[str] | int = subprocess.PIPE, **options: Any
    ) -> subprocess.Popen[str]:
        """Start a command of the trainer and return its process."""
        return subprocess.Popen(
            [*self.command, *map(str, arguments)],
            cwd=self.folder,
            env=os.environ | {"VIRTUAL_ENV": sys.prefix, "COLUMNS": "100"},
            stdout=stdout,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            **options,
        )

    def run(
        self, *arguments: object, status: int = 0, stdout: IO[str] | int = subprocess.PIPE
    ) -> tuple[str, str]:
        """Run a command to its end, check its exit status, return what it printed here."""
        process = self.start(*arguments, stdout=stdout)
        try:
            out, err = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        out = out or ""
        assert process.returncode == status, out + err
        return out, without_waits(err)

    def end_at_checkpoint(self, number: signal.Signals, *arguments: object) -> tuple[int, str, str]:
        """Start training as `runs/run`, send `number` once there is a checkpoint, await the end."""
        process = self.start("train", "--run-name", "run", *arguments)
        deadline = time.monotonic() + 120
        while not self.checkpoints():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "no checkpoint within two minutes"
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def checkpoints(self) -> list[Path]:
        """Return the whole checkpoints of `runs/run`, oldest first."""
        return sorted(self.folder.glob("runs/run/checkpoints/step-????????????.safetensors"))


def without_waits(err: str) -> str:
    """Return what was said without a word on environments that take long, where cores are busy."""
    return re.sub(r"^.* (being made …|is not made after .*)\n", "", err, flags=re.MULTILINE)


def read_checkpoint(path: Path) -> tuple[dict[str, str], bytes]:
    """Return a checkpoint's metadata and the bytes of its tensors: a safetensors file."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end])["__metadata__"], data[end:]
