"""The rules of games for two against multi_agent_ale_py's own, which is told what RAM holds.

The ROM that it plays leaves RAM alone, so that random numbers written there bring up situations
which no played game reaches.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ale_py import roms

ale = pytest.importorskip("multi_agent_ale_py")

REPOSITORY = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
FRAMES = 1000
RESET_FRAMES = 8
NOOP = np.zeros(2, np.int32)
# A mode, the frames of each player's start, and RAM before and after SELECT that shows the modes
# of a game that does not show them while it is played.
GAMES: dict[str, tuple[int, int, dict[int, tuple[int, int]]]] = {
    "boxing": (2, 0, {0x92: (1, 2)}),
    "combat": (1, 0, {}),
    "entombed": (3, 6, {}),
    "fishing_derby": (2, 0, {}),
    "flag_capture": (3, 10, {}),
    "ice_hockey": (1, 0, {}),
    "joust": (1, 0, {}),
    "mario_bros": (2, 17, {}),
    "pong": (4, 0, {}),
    "space_invaders": (34, 0, {}),
    "space_war": (2, 0, {0xA7: (6, 2)}),
    "surround": (5, 0, {}),
    "tennis": (2, 0, {}),
    "wizard_of_wor": (1, 0, {}),
}
# RAM from $fd00 at power on, from $fe00 while SELECT is held; frames of 226 lines.
PROGRAM = bytes.fromhex(
    "78d8a27fbd00fd9580ca10f8"
    "a9028500850285028502a9008500"
    "ad82022902d00aa27fbd00fe9580ca10f8"
    "a2e08502cad0fb4c0cf0"
)


def load(path: Path) -> Any:
    ale.ALEInterface.setLoggerMode("error")
    interface = ale.ALEInterface()
    interface.setInt(b"random_seed", 1)
    interface.setFloat(b"repeat_action_probability", 0.0)
    interface.loadROM(str(path))
    return interface


def still_rom(loaded: np.ndarray, chosen: np.ndarray, size: int) -> bytes:
    """A ROM under which RAM is `loaded` from power on, and `chosen` once SELECT was pressed."""
    bank = bytearray(b"\xea" * 0x1000)
    bank[: len(PROGRAM)] = PROGRAM
    bank[0xD00:0xD80], bank[0xE00:0xE80] = loaded.tobytes(), chosen.tobytes()
    bank[0xFFC:] = bytes([0x00, 0xF0, 0x00, 0xF0])
    return bytes(bank) * max(1, size // len(bank))


def asked(path: Path, mode: int, start_frames: int) -> tuple[bytes, list[list[int] | None]]:
    """What RAM held, as the `rules` example reads it, and rewards, lives and game over."""
    interface, rng = load(path), np.random.default_rng(0)
    interface.setMode(mode)
    records, answers = bytearray(), []
    over = True
    for frame in range(FRAMES):
        if over:
            interface.reset_game()
            first = interface.getRAM().copy()
            # Rules look at a game's start, too.
            looks = interface.getEpisodeFrameNumber() + RESET_FRAMES
            looks += 2 * (start_frames + 1)
            records += b"\x01" + bytes(128) + (b"\x00" + first.tobytes()) * looks
            answers += [None] * (1 + looks)
        ram = interface.getRAM()
        kind = frame % 8
        for address in range(128) if kind == 0 else rng.integers(0, 128, 12):
            value = rng.choice([0, 1, 2, 0x10, 0x99, 0xFF, rng.integers(256)])
            back = first[address] if kind % 2 else value
            if back != ram[address]:
                interface.setRAM(int(address), int(back))
        rewards = interface.act(NOOP)
        over = interface.game_over()
        records += b"\x00" + interface.getRAM().tobytes()
        answers.append([*map(int, rewards), *map(int, interface.allLives()), int(over)])
    return bytes(records), answers


@pytest.mark.parametrize("game", GAMES)
def test_rules_agree_for_any_ram(game: str, tmp_path: Path) -> None:
    build = ["cargo", "build", "--release", "--locked", "-q", "-p", "atari_core"]
    subprocess.run([*build, "--example", "rules"], cwd=REPOSITORY, check=True)
    mode, start_frames, shown = GAMES[game]
    real = roms.get_rom_path(game)
    interface = load(real)
    loaded = interface.getRAM().copy()
    interface.setMode(mode)
    interface.reset_game()
    chosen = interface.getRAM().copy()
    for address, (before, after) in shown.items():
        loaded[address - 0x80], chosen[address - 0x80] = before, after
    rom = tmp_path / f"{game}.bin"
    rom.write_bytes(still_rom(loaded, chosen, real.stat().st_size))
    records, expected = asked(rom, mode, start_frames)
    program = TARGET / "release" / "examples" / "rules"
    done = subprocess.run(
        [program, game, str(mode)], input=records, capture_output=True, check=True
    )
    ours = np.frombuffer(done.stdout, "<i4").reshape(-1, 5).tolist()
    for frame, (mine, theirs) in enumerate(zip(ours, expected, strict=True)):
        assert theirs is None or mine == theirs, (game, frame, mine, theirs)
