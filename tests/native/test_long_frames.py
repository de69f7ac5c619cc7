"""Pictures of frames that are given up, on ale-py and here: a ROM that computes for two of them.

Such a frame shows what was drawn until the TIA was accessed last, whatever the access changed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import ale_py
import numpy as np
import pytest

GAME = "boxing"  # whose picture has the lines that ale-py shows of any other ROM
FRAMES = 16
# What is accessed 17 lines below the second colour's first line; A is 0.
ACCESSES = {
    "none": "",
    "COLUBK, the same": "a5 80 49 80 85 09",
    "GRP0, unseen": "85 1b",
    "PF0, the same": "85 0d",
    "RESM0, unseen": "85 12",
    "HMM0": "85 22",
    "HMOVE": "85 2a",
    "AUDV0": "85 19",
    "AUDV0, by its whole address": "8d 19 00",
    "WSYNC": "85 02",
    "INPT4": "a5 0c",
    "CXM0P": "a5 00",
    "INTIM, which is none of the TIA's": "ad 84 02",
}


def rom(access: str) -> bytes:
    """80 lines of a colour that changes with each frame, and of another to the access."""
    code = bytes.fromhex(
        "78 d8 a9 00 85 80 85 81"  # f000 $80 is the colour, $81 counts frames
        "a9 02 85 00 85 02 85 02 85 02 a9 00 85 00"  # f008 VSYNC
        "e6 80 a5 80 85 09"  # COLUBK
        "a2 50 85 02 ca d0 fb"  # 80 lines
        "a5 80 49 80 85 09"
        "a2 00 ca d0 fd a9 00"  # 1,280 cycles
        f"{access}"
        "e6 81 a5 81 c9 48 b0 0a"  # after 72 frames: ale-py has learnt that they are NTSC's
        "a2 a0 85 02 ca d0 fb 4c 08 f0"  # 160 lines, the next frame
        "a0 50 a2 00 ca d0 fd 88 d0 f8 4c 08 f0"  # 41,000 instructions
    )
    bank = bytearray(b"\xea" * 0x1000)
    bank[: len(code)] = code
    bank[0xFFC:] = bytes([0x00, 0xF0, 0x00, 0xF0])
    return bytes(bank)


@pytest.mark.parametrize("access", ACCESSES)
def test_a_frame_given_up_shows_what_was_drawn(
    access: str,
    tmp_path: Path,
    replay: Callable[..., np.ndarray],
    load_on_ale: Callable[[Path], ale_py.ALEInterface],
) -> None:
    path = tmp_path / f"{GAME}.bin"
    path.write_bytes(rom(ACCESSES[access]))
    ale = load_on_ale(path)
    theirs = [zlib.crc32(ale.getScreen())]
    for _ in range(FRAMES):
        ale.act(0)
        theirs.append(zlib.crc32(ale.getScreen()))
    # A record begins with RAM and the picture's checksum.
    records = replay(path, GAME, bytes(FRAMES)).view("<u4").reshape(FRAMES + 1, -1)
    assert records[:, 32].tolist() == theirs
