"""What a type checker knows of `make_vec`: each setting, and its choices."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from program import ROOT

# Each line, and what mypy says of it; `""` for nothing.
CALLS = {
    'make_vec("Pong-v4", 2, preset="baselines", fire_reset=True, screen_size=84).num_envs': "",
    'make_vec(["Pong-v4", "Breakout-v4"], recipe=replace(PRESETS["ale"], pooling="rgb"))': "",
    'Settings(autoreset="next-step", noop_max=3)': "",
    'make_vec("Pong-v4", 2, preset="dopamine")': 'Argument "preset" .* "Literal.\'default\', ',
    'make_vec("Pong-v4", 2, backend="gpu")': "expected \"Literal.'auto', 'native', 'ale', 'sync'",
    'make_vec("Pong-v4", 2, frame_stack="4")': 'Argument "frame_stack" .* expected "int . None"',
    'make_vec("Pong-v4", 2, frameskip=4)': 'Unexpected keyword .* did you mean "frame_skip"',
    'Settings(context="fork")': "expected \"Literal.'spawn', 'forkserver'",
    'replace(PRESETS["ale"], pooling="grey")': "Argument \"pooling\" .* \"Literal.'rgb', 'gray'",
}
HEAD = """
from dataclasses import replace
from atari_wrappers import Settings, make_vec
from atari_wrappers.recipes import PRESETS
"""


def test_settings_are_checked_before_anything_runs(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(HEAD + "\n".join(CALLS))
    # What other packages say of their types takes long to read, and nothing here is theirs.
    options = ["--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, f"--cache-dir={tmp_path}", str(program)],
        env=os.environ | {"MYPYPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    said = {number: line for line in done.stdout.splitlines() if (number := _line(line))}
    for number, (call, expected) in enumerate(CALLS.items(), len(HEAD.splitlines()) + 1):
        assert bool(said.get(number)) == bool(expected), (call, done.stdout)
        assert re.search(expected, said.get(number, "")), (call, done.stdout)


def _line(said: str) -> int:
    parts = said.split(":")
    return int(parts[1]) if len(parts) > 2 and parts[2] == " error" else 0
