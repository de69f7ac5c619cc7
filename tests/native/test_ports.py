"""The ports of controllers and switches, on ale-py and here: a ROM writes random numbers to them.

What it reads back of the ports and of their directions, it leaves in RAM.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import ale_py
import numpy as np

REPOSITORY = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
GAME = "assault"  # which leaves this ROM alone
FRAMES = 300
PORTS = range(0x80, 0x84)  # SWCHA, SWACNT, SWCHB, SWBCNT, at $0280
PROGRAM = bytes.fromhex(
    "78 d8 a9 01 85 90"
    "a9 02 85 00 85 02 85 02 85 02 a9 00 85 00"  # f006 VSYNC
    # A number for each port: seven turns of a shift register.
    + "".join(f"a0 07 a5 90 0a 90 02 49 1d 88 d0 f8 85 90 8d {port:02x} 02" for port in PORTS)
    + "".join(f"ad {port:02x} 02 85 {port:02x}" for port in PORTS)
    + "a2 e0 85 02 ca d0 fb 4c 06 f0"  # 224 lines
)


def test_ports_read_as_what_is_pressed(tmp_path: Path) -> None:
    build = ["cargo", "build", "--release", "--locked", "-q", "-p", "atari_core"]
    subprocess.run([*build, "--example", "replay"], cwd=REPOSITORY, check=True)
    bank = bytearray(b"\xea" * 0x1000)
    bank[: len(PROGRAM)] = PROGRAM
    bank[0xFFC:] = bytes([0x00, 0xF0, 0x00, 0xF0])
    rom, file = tmp_path / f"{GAME}.bin", tmp_path / "actions"
    rom.write_bytes(bank)
    actions = np.random.default_rng(0).integers(0, 18, FRAMES, np.uint8)
    actions.tofile(file)
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(rom)
    theirs = [ale.getRAM()]
    for action in actions:
        ale.act(int(action))
        theirs.append(ale.getRAM())
    replay = [TARGET / "release" / "examples" / "replay", rom, file, "--game", GAME]
    done = subprocess.run(replay, capture_output=True, check=True)
    # A record begins with RAM.
    ours = np.frombuffer(done.stdout, np.uint8).reshape(FRAMES + 1, -1)[:, :128]
    assert len({ram[0] for ram in theirs}) == 9  # a stick's eight directions and its rest
    np.testing.assert_array_equal(ours[:, [0, 1, 2, 3, 16]], np.array(theirs)[:, [0, 1, 2, 3, 16]])
