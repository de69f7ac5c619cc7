"""Pictures of frames that are given up, on ale-py and here: a ROM that computes for two of them.

Such a frame shows what was drawn until the TIA was accessed last, whatever the access changed.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from pathlib import Path

import ale_py
import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
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
def test_a_frame_given_up_shows_what_was_drawn(access: str, tmp_path: Path) -> None:
    build = ["cargo", "build", "--release", "--locked", "-q", "-p", "atari_core"]
    subprocess.run([*build, "--example", "replay"], cwd=REPOSITORY, check=True)
    path, actions = tmp_path / f"{GAME}.bin", tmp_path / "actions"
    path.write_bytes(rom(ACCESSES[access]))
    actions.write_bytes(bytes(FRAMES))
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(path)
    theirs = [zlib.crc32(ale.getScreen())]
    for _ in range(FRAMES):
        ale.act(0)
        theirs.append(zlib.crc32(ale.getScreen()))
    program = TARGET / "release" / "examples" / "replay"
    done = subprocess.run([program, path, actions, "--game", GAME], capture_output=True, check=True)
    # A record begins with RAM and the picture's checksum.
    records = np.frombuffer(done.stdout, "<u4").reshape(FRAMES + 1, -1)
    assert records[:, 32].tolist() == theirs
