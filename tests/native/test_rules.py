"""The rules of atari_core's games against ale-py's own, asked with a ROM that leaves RAM alone.

Loaded under a game's name, such a ROM makes ale-py's reward, lives and game over a function of
the RAM that the test writes, so that situations come up which no played game reaches.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import ale_py
import numpy as np
from ale_py import roms

REPOSITORY = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
FRAMES = 100
# RAM that shows ale-py the first mode, where a game that has begun does not; else it would press
# SELECT for ever.
SHOWS_MODE = {
    "air_raid": {0xAA: 1},
    "basic_math": {0xC5: 5},
    "crossbow": {0x8D: 1},
    "human_cannonball": {0xB6: 1, 0xB7: 1},
    "lost_luggage": {0x94: 1},
    "name_this_game": {0xDE: 8},
    "othello": {0xDE: 1},
    "pacman": {0xCC: 1, 0xE6: 0},
    "space_war": {0xA7: 6},
    "turmoil": {0xEA: 0},
    "video_checkers": {0xF6: 1},
    "video_chess": {0xEA: 0},
    "yars_revenge": {0xE3: 0},
}
# Its menu takes RAM that answers to the stick: its rules are compared by the sweep alone.
MENU = "double_dunk"
# RAM copied from $f000 when the power comes on; then frames of 3 + 20 lines for ever.
PROGRAM = bytes.fromhex(
    "78d8a27fbd00f09580ca10f8"  # SEI CLD; LDX #$7f; LDA $f000,X; STA $80,X; DEX; BPL
    "a9028500850285028502a9008500"  # LDA #2; STA VSYNC; three STA WSYNC; LDA #0; STA VSYNC
    "a2148502cad0fb4c8cf0"  # LDX #20; STA WSYNC; DEX; BNE; JMP $f08c
)


def still_rom(ram: np.ndarray) -> bytes:
    """A 4 KB ROM under which RAM is `ram` after power on, and stays as it is written."""
    body = ram.tobytes() + PROGRAM
    return body + b"\xea" * (0xFFC - len(body)) + bytes([0x80, 0xF0, 0x80, 0xF0])


def load(path: Path) -> ale_py.ALEInterface:
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(path)
    return ale


def test_rules_agree_with_ale_for_any_ram(tmp_path: Path) -> None:
    build = ["cargo", "build", "--release", "--locked", "-q", "-p", "atari_core"]
    subprocess.run([*build, "--example", "rules"], cwd=REPOSITORY, check=True)
    program = TARGET / "release" / "examples" / "rules"
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    known = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert len(known) >= 95
    known.remove(MENU)
    for game in known:
        start = load(roms.get_rom_path(game)).getRAM().copy()
        for address, value in SHOWS_MODE.get(game, {}).items():
            start[address - 0x80] = value
        rom = tmp_path / f"{game}.bin"
        rom.write_bytes(still_rom(start))
        ale, rng = load(rom), np.random.default_rng(0)
        records, expected = bytearray(), []
        ale.reset_game()
        ram = start.copy()
        new_game = b"\x01" + bytes(128) + b"\x00" + start.tobytes()  # rules look at its start, too
        records += new_game
        expected += [None, None]
        for _ in range(FRAMES):
            for address in rng.integers(0, 128, 12):
                ram[address] = rng.choice([rng.integers(256), 0, 1, 0xFF, start[address]])
            for address, value in enumerate(ram):
                ale.setRAM(address, int(value))
            reward = ale.act(0)
            records += b"\x00" + ram.tobytes()
            expected.append((reward, ale.lives(), int(ale.game_over())))
            if ale.game_over():
                ale.reset_game()
                ram = start.copy()
                records += new_game
                expected += [None, None]
        answers = subprocess.run(
            [program, game], input=bytes(records), capture_output=True, check=True
        )
        ours = np.frombuffer(answers.stdout, "<i4").reshape(-1, 3).tolist()
        for frame, (mine, theirs) in enumerate(zip(ours, expected, strict=True)):
            assert theirs is None or tuple(mine) == theirs, (game, frame, mine, theirs)
