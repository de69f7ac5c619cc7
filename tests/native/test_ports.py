"""The ports of controllers and switches, on ale-py and here: a ROM writes random numbers to them.

What it reads back of the ports and of their directions, it leaves in RAM.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ale_py
import numpy as np

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


def test_ports_read_as_what_is_pressed(
    tmp_path: Path,
    replay: Callable[..., np.ndarray],
    load_on_ale: Callable[[Path], ale_py.ALEInterface],
) -> None:
    bank = bytearray(b"\xea" * 0x1000)
    bank[: len(PROGRAM)] = PROGRAM
    bank[0xFFC:] = bytes([0x00, 0xF0, 0x00, 0xF0])
    rom = tmp_path / f"{GAME}.bin"
    rom.write_bytes(bank)
    actions = np.random.default_rng(0).integers(0, 18, FRAMES, np.uint8)
    ale = load_on_ale(rom)
    theirs = [ale.getRAM()]
    for action in actions:
        ale.act(int(action))
        theirs.append(ale.getRAM())
    # A record begins with RAM.
    ours = replay(rom, GAME, actions.tobytes()).reshape(FRAMES + 1, -1)[:, :128]
    assert len({ram[0] for ram in theirs}) == 9  # a stick's eight directions and its rest
    np.testing.assert_array_equal(ours[:, [0, 1, 2, 3, 16]], np.array(theirs)[:, [0, 1, 2, 3, 16]])
