"""A terminal to type into and to look at: tmux, without a user in front of it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# What the shell writes when it is ready.
PROMPT = "ready>"


class Terminal:
    """A shell in a terminal of tmux."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def tmux(self, *arguments: object) -> str:
        """Call tmux and return what it prints."""
        command = ["tmux", "-S", str(self.socket), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def type(self, *keys: str) -> None:
        """Type keys by the names that tmux has for them, or text."""
        self.tmux("send-keys", "-t", "0", *keys)

    def start(self, *command: object) -> None:
        """Start a command from the shell."""
        self.type(shlex.join(map(str, command)), "Enter")

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size."""
        self.tmux("resize-window", "-t", "0", "-x", columns, "-y", lines)

    def child(self) -> int:
        """Return the id of the one process that the shell has started."""
        shell = self.tmux("display-message", "-p", "-t", "0", "#{pane_pid}").strip()
        (child,) = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(child)

    def text(self) -> str:
        """Return what is on the screen."""
        return self.tmux("capture-pane", "-t", "0", "-p")

    def wait(self, is_there: str | Callable[[str], bool], seconds: float = 60) -> str:
        """Wait until something is on the screen; return all of it."""
        until = time.monotonic() + seconds
        while True:
            text = self.text()
            if is_there in text if isinstance(is_there, str) else is_there(text):
                return text
            assert time.monotonic() < until, f"{is_there} is not on the screen:\n{text}"
            time.sleep(0.1)


@contextmanager
def terminal(folder: Path, columns: int = 80, lines: int = 24) -> Iterator[Terminal]:
    """Have a terminal with a shell in a folder; skip the test where there is no tmux."""
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    # A path of more than 107 bytes is none for a socket.
    socket = Path("/tmp") / f"tmux-{os.getpid()}-{time.monotonic_ns()}"
    opened = Terminal(socket)
    env = {"PS1": f"{PROMPT} ", "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    settings = [f"{name}={value}" for name, value in env.items()]
    size = ["-x", columns, "-y", lines]
    shell = ["env", *settings, "bash", "--norc", "--noprofile"]
    opened.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-c", folder, *size, *shell)
    try:
        opened.wait(PROMPT)
        yield opened
    finally:
        subprocess.run(["tmux", "-S", str(socket), "kill-server"], capture_output=True, check=False)
        socket.unlink(missing_ok=True)
