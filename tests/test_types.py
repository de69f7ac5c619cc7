"""What type checkers know of `make_vec`, and that pyright finds nothing in the packages.

`./scripts/test` runs mypy over the package by itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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
    'make_vec("Pong-v4", 2, output="jax")': 'Argument "output" .* expected "Literal.\'numpy\'',
    'envpool.make("Pong-v5", "gym", num_envs=2, stack_num=2).reset()': "",
    'envpool.make("Pong-v5", "gym", stack=2)': "No overload variant",
    'replace(PRESETS["ale"], pooling="grey")': "Argument \"pooling\" .* \"Literal.'rgb', 'gray'",
}
HEAD = """
from dataclasses import replace
from atari_wrappers import Settings, envpool, make_vec
from atari_wrappers.recipes import PRESETS
from atari_wrappers.vector.torch_env import TorchVecEnv
from typing import cast
"""


# What a caller's script sees, where the package is installed as it is here.
REVEALED = {
    "envs": "VecEnv",
    "envs.step([0, 1])[0]": r"ndarray.*dtype\[Any\]",
    "envs.step([0, 1])[1]": "ndarray.*float(32|.*32Bit)",
    "envs.step([0, 1])[2]": "ndarray.*bool",
    'envs.reset()[1]["lives"]': "ndarray.*int(32|.*32Bit)",
    'envs.reset()[1]["episode_length"]': "ndarray.*int(64|.*64Bit)",
    'envs.recv()[4].get("final_obs")': "ndarray.* None",
    "envs.recipe": "Recipe . None",
    "cast(TorchVecEnv, envs).step([0, 1])[1]": "Tensor",
    "cast(TorchVecEnv, envs).reset(seed=1)[0]": "Tensor",
    'envpool.make("Pong-v5", "gym").reset()[0]': "ndarray.*(uint8|unsigned)",
}
TYPO = 'envs.reset()[1]["live"]'
OPEN = 'envs = make_vec("Pong-v4", 2)'


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A script outside of the tree, a call or an expression a line."""
    path = tmp_path / "program.py"
    lines = [*CALLS, OPEN, *(f"reveal_type({expression})" for expression in REVEALED), TYPO]
    path.write_text(HEAD + "\n".join(lines))
    return path


def messages(command: list[str], folder: Path) -> tuple[dict[int, str], str]:
    """Return what a checker says of each line, and all that it says."""
    # Where it runs, neither the tree nor a path to it is found but by what is installed.
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    said: dict[int, str] = {}
    for line in done.stdout.splitlines():
        if found := re.match(r"\s*\S*program\.py:(\d+):\S* (?:- )?(.*)", line):
            number = int(found[1])
            said[number] = f"{said.get(number, '')}{found[2]}\n"
    return said, done.stdout


def revealed(said: dict[int, str]) -> list[tuple[str, str, str]]:
    """Return each expression that is revealed, what is expected of it, and what is said."""
    first = len(HEAD.splitlines()) + len(CALLS) + 2
    return [(*item, said.get(number, "")) for number, item in enumerate(REVEALED.items(), first)]


def test_mypy_knows_settings_and_results(program: Path) -> None:
    pytest.importorskip("mypy")
    cache = Path(__file__).parents[1] / ".mypy_cache"  # has the libraries since the lints
    options = ["--strict", "--no-error-summary", f"--cache-dir={cache}"]
    said, output = messages(["mypy", *options, program.name], program.parent)
    for number, (call, expected) in enumerate(CALLS.items(), len(HEAD.splitlines()) + 1):
        assert bool(said.get(number)) == bool(expected), (call, output)
        assert re.search(expected, said.get(number, "")), (call, output)
    for expression, expected, seen in revealed(said):
        assert re.search(f"Revealed type is .*{expected}", seen), (expression, output)
    assert 'has no key "live"' in said[max(said)], output


def test_pyright_knows_results_and_finds_no_error(program: Path) -> None:
    pytest.importorskip("pyright")
    project = Path(__file__).parents[1]
    # At once, for most of the time goes to what both import.
    settings = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["pyright"]
    place = os.path.relpath(project, program.parent)  # it takes no absolute ones
    packages = [*settings["include"], "rust_trainer/python/rust_trainer"]
    settings["include"] = [program.name, *(f"{place}/{name}" for name in packages)]
    (program.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    said, output = messages(["pyright", "--pythonpath", sys.executable], program.parent)
    assert not re.findall(r"(?:atari_wrappers|rust_trainer)/.* error.*", output)
    for expression, expected, seen in revealed(said):
        assert re.search(f"Type of .* is .*{expected}", seen), (expression, output)
    assert '"live" is not a defined key in "Info"' in output
