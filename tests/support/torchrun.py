"""The trainer as several ranks on this machine over loopback, started by torchrun or by hand."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from program import PROGRAM
from safetensors.numpy import load_file
from waiting import wait_until

# CPU and memory of a test are for the trainers; what torchrun says of them beside is not looked at.
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--no-python"]

FEW = ["--env-id", "CartPole-v1", "--num-envs", "8", "--num-steps", "32", "--torch-threads", "1"]


class Ranks:
    """Starts ranks in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def environment(self) -> dict[str, str]:
        """Return the variables of a process; gloo is told to use loopback."""
        return os.environ | {"VIRTUAL_ENV": sys.prefix, "GLOO_SOCKET_IFNAME": "lo"}

    def start(self, count: int, *arguments: object, torchrun: tuple[str, ...] = ()) -> None:
        """Start `count` ranks of the trainer under torchrun."""
        command = [*TORCHRUN, f"--nproc-per-node={count}", f"--master-port={free_port()}"]
        self.launch([*command, *torchrun, *PROGRAM, *map(str, arguments)], self.environment())

    def launch(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
        """Start one process."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self.started.append(process)
        return process

    def end(self, timeout: float = 300) -> tuple[int, str]:
        """Await the end of what was started last: its status and all that it printed."""
        out, err = self.started[-1].communicate(timeout=timeout)
        return self.started[-1].returncode, out + err

    def group(self, count: int) -> list[dict[str, str]]:
        """Return the variables by which ranks know of each other, as a scheduler sets them."""
        machine = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        own = ({"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count))
        return [self.environment() | machine | address | names for names in own]

    def run(self, count: int, *arguments: object) -> str:
        """Run ranks to their end, which must be a good one; without torchrun, a process more."""
        environments = self.group(count) if count > 1 else [self.environment()]
        command = [*PROGRAM, *map(str, arguments)]
        processes = [self.launch(command, variables) for variables in environments]
        said = "".join("".join(process.communicate(timeout=300)) for process in processes)
        assert all(process.returncode == 0 for process in processes), said
        return said

    def pids(self) -> list[int]:
        """Return the processes of the ranks, in the order of the ranks."""
        parent = self.started[-1].pid
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                is_child = f"PPid:\t{parent}\n" in (entry / "status").read_text()
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            ranks = [int(text[5:]) for text in variables if text.startswith(b"RANK=")]
            if is_child and ranks:
                found[ranks[0]] = int(entry.name)
        return [found[rank] for rank in sorted(found)]

    def await_checkpoint(self, number: int = 1, name: str = "run") -> None:
        """Wait until the run has that many checkpoints."""
        self.wait_until(lambda: len(self.checkpoints(name)) >= number)

    def wait_until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so, while what was started last goes on."""

        def is_so_or_over() -> object:
            return is_so() or self.started[-1].poll() is not None

        wait_until(is_so_or_over, seconds=300)
        assert is_so(), self.end()

    def checkpoints(self, name: str = "run") -> list[Path]:
        """Return the whole checkpoints of a run, oldest first."""
        return sorted(self.folder.glob(f"runs/{name}/checkpoints/step-????????????.safetensors"))

    def weights(self, name: str) -> dict[str, np.ndarray]:
        """Return the tensors of float32 in the newest checkpoint of a run, by name."""
        return weights(self.checkpoints(name)[-1])


def weights(path: Path) -> dict[str, np.ndarray]:
    """Return the tensors of float32 in a checkpoint, by name."""
    return {name: held for name, held in load_file(path).items() if held.dtype == np.float32}


def free_port() -> int:
    """Return a port that nobody listens on now, and that no connection is given by chance."""
    given = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    while True:
        port = random.SystemRandom().randrange(10_000, max(20_000, int(given.split()[0])))
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
