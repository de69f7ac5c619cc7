"""The commands of the README and of the command line's guide run as written, in their order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

from program import ROOT, Trainer
from torchrun import free_port

PAGES = (ROOT / "README.md", ROOT / "docs/command-line.md")
TEXT = "".join(page.read_text() for page in PAGES)
BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
# The first runs this test, and then come what `scripts/wheels --check` does; `doctor`, which may
# rightly call a busy machine a problem, is what `test_commands.py` looks at.
ELSEWHERE = ("./scripts/test", "./scripts/wheels", "pip install", "./scripts/train doctor")
# What takes long is made small: these numbers, and what is added to a command that trains.
SMALLER = {"1000000": "256", "2000000": "512", "100000": "256", "250000": "256", "1-5": "1,2"}
SMALLER |= {"20": "1", "40": "2"}
OTHERS = ("watch", "play", "eval", "versus", "league", "dump-frames", "report", "export")
OTHERS += ("--help",)


def typed(command: str) -> list[str]:
    """Return the words of a command, for a run of a few seconds."""
    words = [SMALLER.get(word, word) for word in shlex.split(command)]
    if "eval" in words and "--episodes" not in words:
        words += ["--episodes", "1"]
    if "train" not in command or any(word in words for word in OTHERS):
        return words
    if "--total-steps" not in words:
        words += ["--total-steps", "256"]
    if not {"--resume", "rainbow-atari"} & set(words):  # updates of PPO
        words += ["--num-steps", "16"]
    if "--eval-every" in words:
        words += ["--eval-episodes", "1"]
    if "--run-name" in words:  # what others evaluate, record and compare
        words += ["--max-episode-frames", "200"]
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
    commands = [command for command in COMMANDS if not command.startswith(ELSEWHERE)]
    assert len(commands) > 15
    for command in commands:
        words = typed(command)
        ended = subprocess.run(
            words, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert ended.returncode == 0, f"{shlex.join(words)}\n{ended.stdout}{ended.stderr}"
    made = ("runs/space-invaders/curve.png", "runs/with-frames", "videos", "frames")
    assert all((tmp_path / name).exists() for name in made)


def test_scripts_that_they_name_are_there() -> None:
    for script in re.findall(r"\bscripts/[\w/.]+\w", TEXT):
        assert (ROOT / script).exists(), script


def test_options_that_pages_name_are_there(trainer: Trainer) -> None:
    """In the commands of every page, those too that take hours: each command has its own."""
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    named: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for page in pages:
        text = page.read_text().replace("\\\n", " ")
        # Behind what starts it, up to where a span of code or a comment ends.
        for line in re.findall(r"(?:scripts/train|\brust_trainer(?= [a-z])) ([^`#\n]*)", text):
            words = line.partition(" -- ")[0].split()
            options = {(page.name, word) for word in words if re.fullmatch(r"--[a-z][\w-]+", word)}
            # What decides which options there are: the command, and the preset or algorithm.
            kind = list(takewhile(lambda word: not word.startswith("-"), words)) or ["train"]
            del kind[1 + (kind[0] in ("train", "seeds")) :]
            if "--algorithm" in words:
                kind += ["--algorithm", words[words.index("--algorithm") + 1]]
            if options:
                named.setdefault(tuple(kind), set()).update(options)
    assert sum(map(len, named.values())) > 100
    for kind, (status, text, err) in zip(
        named, trainer.run_all(*((*kind, "--help") for kind in named)), strict=True
    ):
        assert status == 0, (kind, err)
        known = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.MULTILINE))
        assert not [(*kind, *each) for each in sorted(named[kind]) if each[1] not in known]
