"""The programs in Rust that the tests of the console ask, and ale-py with the same ROM."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import ale_py
import numpy as np
import pytest

# Arguments: the ROM, the game that it stands for, an action for each frame, and more words.
Replay = Callable[..., np.ndarray]


@pytest.fixture(scope="session")
def build_example(sources: Path) -> Callable[[str], Path]:
    """Build an example of the crate `atari_core` and return the program."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", sources / "target"))

    def build(name: str) -> Path:
        # Not `-p atari_core`: its features would be others, and the crate be compiled anew.
        command = ["cargo", "build", "--release", "--locked", "-q", "--example", name]
        subprocess.run(command, cwd=sources, check=True)
        return target / "release" / "examples" / name

    return build


@pytest.fixture
def run_script(sources: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script of the project's by its name, and return how it ended."""

    def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, sources / "scripts" / name, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def rules_program(build_example: Callable[[str], Path]) -> Path:
    """The example `rules`, which says what a game's rules make of any RAM."""
    return build_example("rules")


@pytest.fixture(scope="session")
def replay_program(build_example: Callable[[str], Path]) -> Path:
    """The example `replay`, which plays a ROM."""
    return build_example("replay")


@pytest.fixture
def replay(replay_program: Path, tmp_path: Path) -> Replay:
    """Play a ROM here and return what `replay` wrote, uint8."""

    def play(rom: Path, game: str, actions: bytes, *words: str) -> np.ndarray:
        (tmp_path / "actions").write_bytes(actions)
        command = [replay_program, rom, tmp_path / "actions", "--game", game, *words]
        return np.frombuffer(
            subprocess.run(command, capture_output=True, check=True).stdout, np.uint8
        )

    return play


@pytest.fixture(scope="session")
def load_on_ale() -> Callable[[Path], ale_py.ALEInterface]:
    """Load a ROM on ale-py, whose actions then do not stick."""

    def load(rom: Path) -> ale_py.ALEInterface:
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        ale = ale_py.ALEInterface()
        ale.setFloat("repeat_action_probability", 0.0)
        ale.loadROM(rom)
        return ale

    return load


class OnAle(NamedTuple):
    """What ale-py knows of a game once its ROM is loaded: RAM, and names of actions."""

    ram: np.ndarray
    minimal: list[str]
    legal: list[str]


@pytest.fixture(scope="session")
def on_ale(load_on_ale: Callable[[Path], ale_py.ALEInterface]) -> Callable[[str], OnAle]:
    """Ask ale-py for a game, which is loaded once for all tests."""

    @cache
    def ask(game: str) -> OnAle:
        ale = load_on_ale(ale_py.roms.get_rom_path(game))
        sets = (ale.getMinimalActionSet(), ale.getLegalActionSet())
        minimal, legal = ([ale_py.Action(code).name for code in codes] for codes in sets)
        return OnAle(ale.getRAM().copy(), minimal, legal)

    return ask
