"""Running the trainer as its users do: the program, and the same as a Python module."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
PROGRAM = [str(ROOT / "target/release/rust_trainer")]
MODULE = [sys.executable, "-m", "rust_trainer"]

# A few seconds of training, on a flat observation and on images.
CARTPOLE = ["--env-id", "CartPole-v1", "--num-steps", "32", "--checkpoint-every", "1024"]
INVADERS = ["--num-envs", "2", "--num-steps", "8", "--num-minibatches", "2", "--update-epochs", "1"]

# Runs that many tests look at, who get copies of one by the fixture `trained`.
CARTPOLE_RUN = ("--total-steps", 1024, *CARTPOLE)
INVADERS_RUN = ("--total-steps", 16, "--max-episode-frames", 200, *INVADERS)

# Runs command lines one after the other in one process: to start takes longer than to refuse one.
RUN_ALL = """
import json, sys
from rust_trainer import main
for words in json.loads(sys.argv[1]):
    status = main(words)
    for file in (sys.stdout, sys.stderr):
        print(f"{status=}", file=file, flush=True)
"""


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

    def run_all(self, *lines: Sequence[object]) -> list[tuple[int, str, str]]:
        """Run command lines by the module in one process; return status, out and err of each."""
        words = json.dumps([[str(word) for word in line] for line in lines])
        said = Trainer(self.folder, [sys.executable, "-c", RUN_ALL]).run(words)
        outs, errs = (re.split(r"status=(\d+)\n", text) for text in said)
        assert len(outs) == len(errs) == 2 * len(lines) + 1, said
        return list(zip(map(int, outs[1::2]), outs[:-1:2], errs[:-1:2], strict=True))

    def assert_refused(self, *cases: tuple[Sequence[object], str]) -> None:
        """Each of these command lines ends with status 1 and one line, which has these words."""
        said = self.run_all(*(line for line, _ in cases))
        for (line, words), (status, out, err) in zip(cases, said, strict=True):
            assert (status, out, err.count("\n")) == (1, "", 1), (line, out, err)
            assert err.startswith("error: "), (line, err)
            assert words in err, (line, err)

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
