"""Missile 0 as a field of stars, on ale-py and here: an HMOVE that never ends.

A ROM begins the stars and writes on every line something of what may change them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ale_py
import numpy as np
import pytest

GAME = "boxing"  # whose picture has the lines that ale-py shows of any other ROM
FRAMES = 2
NUSIZ0, CTRLPF, RESM0, ENAM0, HMM0, RESMP0, HMOVE, HMCLR = (
    4,
    0xA,
    0x12,
    0x1D,
    0x22,
    0x28,
    0x2A,
    0x2B,
)
STAR = 0x1E

Write = tuple[int, int, int]  # the cycle at which it ends, register, value


def line(writes: list[Write]) -> bytes:
    """One line from WSYNC to WSYNC; cycles differ by 5, or by 7 and more."""
    code, at = b"", 0
    for cycle, register, value in writes:
        wait = cycle - 5 - at
        code += b"\x24\x80" * (wait % 2) + b"\xea" * ((wait - 3 * (wait % 2)) // 2)  # BIT $80, NOP
        code += bytes([0xA9, value, 0x85, register])
        at = cycle
    return code + b"\x85\x02"


def what_changes_stars(rng: np.random.Generator) -> list[Write]:
    cycle, value = int(rng.integers(8, 45)), int(rng.integers(256))
    return [
        [(cycle, NUSIZ0, value)],
        [(cycle, RESM0, 0)],
        [(cycle, NUSIZ0, value), (cycle + 5, RESM0, 0)],
        [(cycle, ENAM0, 0), (cycle + 8, ENAM0, 2)],
        [(cycle, RESMP0, 2), (cycle + 7, RESMP0, 0)],
        [(cycle, HMM0, 0x70), (cycle + 7, HMCLR, 0)],
        [(cycle, CTRLPF, value & 7)],
        [(cycle, HMM0, 0x70), (cycle + 7, HMOVE, 0), (cycle + 28, HMM0, 0x60)],
        [],
        [],
    ][int(rng.integers(10))]


def program(rng: np.random.Generator) -> bytes:
    lines: list[list[Write]] = [
        [(20, ENAM0, 2), (50, RESM0, 0)],
        [(20, HMM0, 0x70)],
        [(5, HMOVE, 0), (26, HMM0, 0x60)],
        *(what_changes_stars(rng) for _ in range(100)),
    ]
    code = bytes.fromhex("78d8a9028500850285028502a9008500")
    code += bytes([0xA9, STAR, 0x85, 6, 0xA9, 0x42, 0x85, 7])
    code += bytes([0xA2, 40]) + bytes.fromhex("8502cad0fb") + b"".join(map(line, lines))
    code += bytes([0xA2, 262 - 43 - len(lines)]) + bytes.fromhex("8502cad0fb4c02f0")
    return code + bytes(0xFFC - len(code)) + bytes([0x00, 0xF0, 0x00, 0xF0])


@pytest.mark.parametrize("seed", range(5))
def test_stars_are_ales(
    seed: int,
    tmp_path: Path,
    replay: Callable[..., np.ndarray],
    load_on_ale: Callable[[Path], ale_py.ALEInterface],
) -> None:
    rom = tmp_path / f"{GAME}.bin"
    rom.write_bytes(program(np.random.default_rng(seed)))
    ale = load_on_ale(rom)
    for _ in range(FRAMES):
        ale.act(0)
    expected = ale.getScreen()
    drawn = replay(rom, GAME, bytes(FRAMES), "--picture", str(FRAMES))
    ours = drawn.reshape(expected.shape)
    differs = np.argwhere(ours != expected)
    assert len(differs) == 0, f"{len(differs)} pixels, first {differs[0]} (row, column)"
    columns = np.argmax(expected == STAR, axis=1)
    assert len(np.unique(columns)) > 20, "no stars"
