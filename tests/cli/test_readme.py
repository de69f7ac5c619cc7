"""The README's code runs as written, and its commands are ones that the program knows."""

from __future__ import annotations

import re
import shlex

import pytest
from program import ROOT, Trainer

README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\./scripts/train(.*)$", README, re.MULTILINE)
SUBCOMMANDS = {"seeds", "eval", "versus", "dump-frames", "doctor"}


@pytest.mark.parametrize(
    "code", re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
)
def test_python_runs(code: str) -> None:
    exec(compile(code, "README.md", "exec"), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_known(trainer: Trainer, command: str) -> None:
    words = shlex.split(command)
    if not words or words[0] not in SUBCOMMANDS:
        words.insert(0, "train")
    # Every word before --help is parsed: one that is unknown is status 2.
    trainer.run(*words, "--help")


def test_files_that_it_names_are_there() -> None:
    for name in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / name).exists(), name
    for script in re.findall(r"\./(scripts/\w+)", README):
        assert (ROOT / script).exists(), script
