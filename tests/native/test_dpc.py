"""The chip of Pitfall II on ale-py and here: ROMs that read and write its registers at random.

What is read goes into sums in RAM, so that the first difference shows in its frame and in all after
it. The chip goes on from frame to frame, its oscillator too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ale_py
import numpy as np
import pytest

FRAMES = 500
ACCESSES = 400
MUSIC = 0x10
# The first of eight registers each: tops, bottoms, counters' low and high bytes; random numbers.
TOPS, BOTTOMS, LOW, HIGH, RESTART = 0x40, 0x48, 0x50, 0x58, 0x70


def program(rng: np.random.Generator) -> bytearray:
    """One frame, for ever: accesses at random, then some lines."""
    code = bytearray.fromhex("78d8a9028500850285028502a9008500")
    for access in range(ACCESSES):
        code += bytes([0xEA] * int(rng.integers(4)))
        fetcher = int(rng.integers(8))
        value = int(rng.integers(256) if rng.integers(4) == 0 else rng.integers(12))
        if rng.integers(3) > 0:
            # Any register that is read, the music's more often, or a byte next to the switches.
            register = int(rng.choice([rng.integers(0x40), 4 + rng.integers(4), 0xFC0, 0xFF9]))
            cell = 0x80 + access % 128
            # LDA register, ADC cell, STA cell
            code += bytes([0xAD, register & 0xFF, 0x10 | register >> 8, 0x65, cell, 0x85, cell])
            continue
        block = int(rng.choice([TOPS, BOTTOMS, LOW, HIGH, 0x60, 0x68, 0x78]))
        if rng.integers(30) == 0:
            block = RESTART
        if block == HIGH and rng.integers(2):
            value |= MUSIC
        # LDA #value, STA register
        code += bytes([0xA9, value, 0x8D, block + fetcher, 0x10])
    return code + bytes.fromhex("a2148502cad0fb4c02f1")


def cartridge(seed: int) -> bytes:
    """Two banks with the same program, and the display data."""
    rng = np.random.default_rng(seed)
    bank = bytearray(0x1000)
    code = program(rng)
    bank[0x100 : 0x100 + len(code)] = code
    assert len(code) < 0xE00
    bank[0xFFC:] = bytes([0x00, 0xF1, 0x00, 0xF1])
    return bytes(bank) * 2 + rng.bytes(2048) + bytes(255)


@pytest.mark.parametrize("seed", range(3))
def test_the_chip_of_pitfall_2_is_ales(
    seed: int,
    tmp_path: Path,
    replay: Callable[..., np.ndarray],
    load_on_ale: Callable[[Path], ale_py.ALEInterface],
) -> None:
    rom = tmp_path / "pitfall2.bin"
    rom.write_bytes(cartridge(seed))
    ours = replay(rom, "pitfall2", bytes(FRAMES)).reshape(FRAMES + 1, -1)[:, :128]
    ale = load_on_ale(rom)
    for frame in range(FRAMES + 1):
        if frame > 0:
            ale.act(0)
        assert np.array_equal(ours[frame], ale.getRAM()), f"frame {frame}"
    assert len(np.unique(ours[FRAMES])) > 32
