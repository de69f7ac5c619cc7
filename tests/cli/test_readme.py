"""The README's code and commands run as written, in the order in which they stand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from program import ROOT
from torchrun import free_port

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
# It runs this test.
COMMANDS.remove("./scripts/test")
# What takes long is made small: these numbers, and what is added to a command that trains.
SMALLER = {"1000000": "1024", "2000000": "2048", "100000": "1024", "250000": "1024", "1-5": "1,2"}
SMALLER |= {"20": "1", "40": "2"}
OTHERS = ("eval", "versus", "dump-frames", "doctor", "--help")
# On a busy machine a matrix product may not scale, which it rightly calls a problem.
DOCTOR = "./scripts/train doctor"


@pytest.mark.parametrize(
    "code", re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
)
def test_python_runs(code: str) -> None:
    exec(compile(code, "README.md", "exec"), {})


def typed(command: str) -> list[str]:
    """Return the words of a command, for a run of a few seconds."""
    words = [SMALLER.get(word, word) for word in shlex.split(command)]
    if "eval" in words and "--episodes" not in words:
        words += ["--episodes", "1"]
    if "train" not in command or any(word in words for word in OTHERS):
        return words
    if "--total-steps" not in words:
        words += ["--total-steps", "1024"]
    if "--eval-every" in words:
        words += ["--eval-episodes", "1"]
    return words


def test_commands_run_in_their_order(tmp_path: Path) -> None:
    """In a shell of which nothing is known but that the project was set up."""
    for name in ("scripts", ".venv", "target", "rust_trainer"):
        (tmp_path / name).symlink_to(ROOT / name)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env.pop("VIRTUAL_ENV", None)
    folders = env["PATH"].split(":")
    env["PATH"] = ":".join(folder for folder in folders if Path(folder) != Path(sys.prefix, "bin"))
    # The port of torchrun that nobody else takes, and gloo by loopback.
    env |= {"PET_MASTER_PORT": str(free_port()), "GLOO_SOCKET_IFNAME": "lo"}
    assert len(COMMANDS) > 15
    for command in COMMANDS:
        words = typed(command)
        ended = subprocess.run(
            words, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        good = (0, 1) if command == DOCTOR else (0,)
        assert ended.returncode in good, f"{shlex.join(words)}\n{ended.stdout}{ended.stderr}"
    made = ("runs/space-invaders/curve.png", "runs/with-frames", "videos", "frames")
    assert all((tmp_path / name).exists() for name in made)


def test_files_that_it_names_are_there() -> None:
    for name in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / name).exists(), name
    for script in re.findall(r"\./(scripts/\w+)", README):
        assert (ROOT / script).exists(), script
