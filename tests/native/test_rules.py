"""The rules of atari_core's games against ale-py's own, asked with a ROM that fills RAM at random.

Loaded under a game's name, such a ROM brings up situations which no played game reaches.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ale_py
import numpy as np
import pytest

pytestmark = pytest.mark.xdist_group("every_game_on_ale")

FRAMES = 1000
# Of so many RAMs four are those of a cube that is solved.
FRAMES_OF = {"video_cube": 60_000}
# Games of which none ended in the sweep: here they do. (E.T., Othello and Pitfall II end nowhere.)
END_HERE = {
    "darkchambers",
    "earthworld",
    "elevator_action",
    "haunted_house",
    "solaris",
    "space_war",
    "video_checkers",
    "video_chess",
    "video_cube",
}
UP = 2
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
# 256 bytes of the cartridge's RAM (written at $1000, read at $1100) hold random numbers.
PROGRAM = bytes.fromhex(
    "78d8a200bd00fe9d0010cad0f7"  # at power on: the numbers from $fe00,
    "a27fb5805d00fe9d0010ca10f5"  # 128 of them mixed with what RAM was left with;
    "a27fbd00ff9580ca10f8"  # RAM from $ff00
    "a9028500850285028502a9008500"  # each frame: VSYNC for three lines
    "ad8002c9ffd0034cc1f2"  # while the stick is at rest RAM stays as it is
    "a27f18bd00112a7d01115d23112a9d0010ca10ef"  # else new numbers, and
    "ad4011290f"  # by one of them, in 16 cases:
    "c901d00da27fbd00119580ca10f84cc1f2"  # 1: RAM is random,
    "c902d010a27fbd00113d10119580ca10f54cc1f2"  # 2: the same with few bits set,
    "c903d00da27fbd00ff9580ca10f84c8ff2"  # 3: as at first, but
    "c908b014a27fbd091129f0d005bd00119580ca10f14cc1f2"  # 3, 0, 4 to 7: a byte of 16 is random,
    "a27fbd091129f0d012bd001129039580bd051129f0d004d680d680ca10e4"  # else small, or counts down
    "a2088502cad0fb4c24f2"  # eight lines more
)
# Its rules look at the cartridge's RAM, 128 bytes written at $1000 and read at $1080.
IN_CARTRIDGE = "klax"
COPYING_PROGRAM = bytes.fromhex(
    "78d8a27fbd80f09580ca10f8"  # at power on: RAM is what the cartridge's was left with,
    "a90085ea"  # but for the mode;
    "a9028500850285028502a9008500"  # each frame: VSYNC for three lines
    "ad8002c9fff010"  # while the stick is at rest RAM stays as it is
    "a27f18b5807d00fe2a55819580ca10f3"  # else it is mixed with the numbers from $fe00;
    "a27fb5809d00f0ca10f8"  # the cartridge's is the same
    "a2088502cad0fb4c10f2"  # eight lines more
)


def copying_rom() -> bytes:
    """A ROM under which RAM is the same as the cartridge's, and random once the stick is moved."""
    bank = bytearray(0x1000)
    bank[0x200 : 0x200 + len(COPYING_PROGRAM)] = COPYING_PROGRAM
    bank[0xE00:0xE80] = np.random.default_rng(0).integers(0, 256, 128, np.uint8).tobytes()
    bank[0xFFC:] = bytes([0x00, 0xF2, 0x00, 0xF2])
    return bytes(bank) * 4


def chaotic_rom(ram: np.ndarray) -> bytes:
    """A ROM under which RAM is `ram` from power on, until the stick is moved."""
    numbers = np.random.default_rng(0).integers(0, 256, 256, np.uint8).tobytes()
    bank = bytearray(b"\xea" * 0x1000)
    bank[0x200 : 0x200 + len(PROGRAM)] = PROGRAM
    bank[0xE00:0xF00], bank[0xF00:0xF80] = numbers, ram.tobytes()
    bank[0xFFC:] = bytes([0x00, 0xF2, 0x00, 0xF2])
    return bytes(bank) * 3


def asked(ale: ale_py.ALEInterface, frames: int) -> tuple[bytes, list[tuple[int, int, int] | None]]:
    """What RAM held, as the `rules` example reads it, and ale-py's reward, lives and game over."""
    records, answers = bytearray(), []
    over = True
    for _ in range(frames):
        if over:
            ale.reset_game()
            # Rules look at a game's start, too.
            records += b"\x01" + bytes(128) + b"\x00" + ale.getRAM().tobytes()
            answers += [None, None]
        reward, over = ale.act(UP), ale.game_over()
        records += b"\x00" + ale.getRAM().tobytes()
        answers.append((reward, ale.lives(), int(over)))
    return bytes(records), answers


def test_rules_agree_with_ale_for_any_ram(
    tmp_path: Path,
    rules_program: Path,
    load_on_ale: Callable[[Path], ale_py.ALEInterface],
    on_ale: Callable[[str], Any],
) -> None:
    run = partial(subprocess.run, capture_output=True, check=True)
    known = run([rules_program], text=True).stdout.split()
    assert len(known) >= 95
    known.remove(MENU)
    for game in known:
        start = on_ale(game).ram.copy()
        for address, value in SHOWS_MODE.get(game, {}).items():
            start[address - 0x80] = value
        rom = tmp_path / f"{game}.bin"
        rom.write_bytes(copying_rom() if game == IN_CARTRIDGE else chaotic_rom(start))
        records, expected = asked(load_on_ale(rom), FRAMES_OF.get(game, FRAMES))
        has_ended = any(answer is not None and answer[2] for answer in expected)
        assert has_ended or game not in END_HERE, game
        answers = run([rules_program, game], input=records)
        ours = np.frombuffer(answers.stdout, "<i4").reshape(-1, 3).tolist()
        for frame, (mine, theirs) in enumerate(zip(ours, expected, strict=True)):
            assert theirs is None or tuple(mine) == theirs, (game, frame, mine, theirs)
