"""Every opcode on ale-py and here: a ROM that plays each with random numbers, in every mode.

What an instruction leaves in A, X, Y, P, S and memory, and how long it takes, goes into the random
numbers of the next one: the first difference shows in the RAM of its frame and of all after it.
Undocumented opcodes and decimal mode are among them, as ale-py has them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ale_py
import numpy as np
import pytest

# A game without lives: its mode is 0 where RAM begins with 0, and it ends where a byte is 1. The
# program leaves both alone.
GAME = "freeway"

# RAM: the random numbers, A for the instruction, what it left, and what it works on.
SEED, HELD, LEFT, POINTERS, BYTES, SCRATCH = 0x81, 0x86, 0x88, 0xA0, 0xC0, 0xB0
STACK = 0xFB  # with room above for what pulls
# Bits that are kept of A, X and Y, and bits that are set.
ANY, LOW, HIGH, PAIR, PAIR_WRAPS, STACKS, STACKS_HIGH, FEW = range(8)
MASKS = [
    (0xFF, 0x00, 0xFF, 0x00, 0xFF, 0x00),
    (0xFF, 0x00, 0x1F, 0x00, 0x1F, 0x00),
    (0xFF, 0x00, 0xFF, 0xE0, 0xFF, 0xE0),
    (0xFF, 0x00, 0x02, 0x00, 0xFF, 0x00),
    (0xFF, 0x00, 0x02, 0xB0, 0xFF, 0x00),
    (0xFF, 0xF0, 0xFF, 0xF0, 0x1F, 0x00),
    (0xFF, 0xF0, 0xFF, 0xF0, 0xFF, 0xE0),
    (0xFF, 0x00, 0xFF, 0x00, 0x0F, 0x00),
]
JAMS = [0x02, 0x12, 0x22, 0x32, 0x42, 0x52, 0x62, 0x72, 0x92, 0xB2, 0xD2, 0xF2]
BRANCHES = range(0x10, 0x100, 0x20)
JUMPS = [0x00, 0x20, 0x40, 0x4C, 0x60, 0x6C]
SHS, LAS, TXS = 0x9B, 0xBB, 0x9A


class Assembler:
    """A ROM of 4 KiB at $F000, with names for places."""

    def __init__(self) -> None:
        self.rom = bytearray()
        self.places: dict[str, int] = {}
        self.wanted: list[tuple[int, str]] = []

    @property
    def here(self) -> int:
        return 0xF000 + len(self.rom)

    def put(self, code: str, *names: str) -> None:
        """Hexadecimal bytes; `**` is the low and the high byte of the next name."""
        for word in code.split():
            if word == "**":
                self.wanted.append((len(self.rom), names[0]))
                names = names[1:]
                word = "0000"
            self.rom += bytes.fromhex(word)

    def name(self, place: str) -> None:
        self.places[place] = self.here

    def finish(self) -> bytes:
        assert len(self.rom) <= 0xFFC, f"{len(self.rom)} bytes"
        self.rom += bytes(0xFFC - len(self.rom))
        self.put("** **", "start", "brk")
        for place, name in self.wanted:
            self.rom[place : place + 2] = self.places[name].to_bytes(2, "little")
        return bytes(self.rom)


def cases(opcode: int) -> list[tuple[str, int]]:
    """Operands of an opcode, in hexadecimal digits, each with the masks of its registers."""
    row, column = divmod(opcode, 16)
    odd = row % 2 == 1
    if opcode == LAS:
        return [("00F0", FEW)]  # the ROM begins with places for a stack
    if opcode == SHS:
        return [("C000", STACKS), ("E000", STACKS_HIGH)]
    if opcode == TXS:
        return [("", STACKS)]
    if column in (8, 10):
        return [("", ANY)]
    if (column in (9, 11) and not odd) or column in (0, 2):
        return [(operand, ANY) for operand in ("00", "80", "99", "6B", "F5", "FF")]
    if column in (1, 3):
        if odd:
            return [("A4", LOW), ("A6", HIGH), ("A8", ANY)]
        return [("A0", PAIR), ("F0", PAIR_WRAPS)]
    if 4 <= column < 8:
        return [("C0", LOW), ("E0", HIGH)] if odd else [("C3", ANY), ("DC", ANY)]
    return [("C000", LOW), ("E000", HIGH), ("F0F1", ANY)] if odd else [("C700", ANY), ("D301", ANY)]


def block(rom: Assembler, opcode: int, operand: str, masks: int) -> None:
    rom.put(f"A2 {masks:02X} 20 ** {opcode:02X} {operand}", "before")
    rom.put(f"20 ** A2 {STACK:02X} 9A", "after")


def jumps(rom: Assembler) -> None:
    """Branches, taken or not, that cross a page or do not; jumps, subroutines, BRK and RTI."""
    begin = f"A2 {ANY:02X} 20 **"
    for opcode in BRANCHES:
        for crosses in (False, True):
            # Over INC, which shows whether the branch was taken.
            while crosses and (rom.here + len(begin.split()) + 3) & 0xFF != 0xFE:
                rom.put("EA")
            rom.put(
                f"{begin} {opcode:02X} 02 E6 {SCRATCH:02X} 20 ** A2 {STACK:02X} 9A",
                "before",
                "after",
            )
    for number, code in enumerate(("4C **", "6C **", "20 **", "00 00")):
        names = {0: [f"on{number}"], 1: ["pointer"], 2: ["rts"]}.get(number, [])
        rom.put(f"{begin} {code}", "before", *names)
        rom.name(f"on{number}")
        rom.put(f"20 ** A2 {STACK:02X} 9A", "after")
    # RTI to where the word below the status leads, and RTS to one before.
    for name, code in (("rti", "08 40"), ("rts one", "60")):
        place = len(rom.rom)
        rom.put(f"A9 00 48 A9 00 48 {begin} {code}", "before")
        back = rom.here - (code == "60")
        rom.rom[place + 1], rom.rom[place + 4] = back >> 8, back & 0xFF
        rom.name(name)
        rom.put(f"20 ** A2 {STACK:02X} 9A", "after")


def head(rom: Assembler) -> None:
    """Places for a stack, the tables, what goes before and after each instruction, the start."""
    rom.rom += bytes(range(0xF0, 0x100))
    for column in range(6):
        rom.name(f"mask{column}")
        rom.rom += bytes(masks[column] for masks in MASKS)
    rom.name("pointer")
    rom.put("**", "on1")
    rom.name("brk")
    rom.put("40")
    rom.name("rts")
    rom.put("60")
    # Five random numbers: sums and rotations of one another.
    s = [f"{SEED + number:02X}" for number in range(5)]
    rom.name("before")
    rom.put(
        f"D8 18 A5 {s[0]} 69 B3 85 {s[0]} 65 {s[1]} 2A 45 {s[2]} 85 {s[1]} 65 {s[2]} 2A 65 {s[0]}"
    )
    rom.put(f"85 {s[2]} 45 {s[3]} 2A 65 {s[1]} 85 {s[3]} 65 {s[4]} 2A 45 {s[0]} 85 {s[4]}")
    rom.put(f"A5 {s[3]} 29 1F A8 A5 {s[4]} 99 {BYTES:02X}00")  # a random byte somewhere to work on
    rom.put(f"A5 {s[3]} 48")  # P
    rom.put(f"A5 {s[2]} 3D ** 1D ** A8", "mask4", "mask5")
    rom.put(f"A5 {s[1]} 3D ** 1D ** 85 {HELD:02X}", "mask0", "mask1")
    rom.put(f"A5 {s[0]} 3D ** 1D ** AA", "mask2", "mask3")
    rom.put(f"A9 C8 8D9402 A5 {HELD:02X} 28 60")  # the timer counts cycles down; A, P
    rom.name("after")
    left = [f"{LEFT + number:02X}" for number in range(6)]
    rom.put(f"08 85 {left[0]} AD8402 85 {left[1]} 68 85 {left[2]}")  # A, the timer, P
    rom.put(f"86 {left[3]} 84 {left[4]} BA 86 {left[5]}")
    for number, place in enumerate(left):
        rom.put(f"A5 {place} 45 {s[number % 5]} 85 {s[number % 5]}")
    rom.put("60")
    rom.name("sync")
    rom.put("A9 02 85 00 85 02 85 02 85 02 A9 00 85 00 60")
    rom.name("start")
    rom.put(f"78 D8 A2 7F A9 00 95 80 CA 10 FB A2 {STACK:02X} 9A")
    for place, pointer in enumerate((0x00C5, 0x01D0, 0x00C0, 0x00E0, 0xF0F1)):
        for half, byte in enumerate(pointer.to_bytes(2, "little")):
            rom.put(f"A9 {byte:02X} 85 {POINTERS + 2 * place + half:02X}")
    rom.name("loop")


def roms() -> dict[str, bytes]:
    """Programs that go round for ever, each with a part of the opcodes."""
    plain = [op for op in range(256) if op not in (*JAMS, *BRANCHES, *JUMPS)]
    blocks = [(opcode, *case) for opcode in plain for case in cases(opcode)]
    # As many as a ROM has room for.
    parts = [blocks[first : first + 230] for first in range(0, len(blocks), 230)]
    made = {}
    for number, part in enumerate(parts):
        rom = Assembler()
        head(rom)
        for place, each in enumerate(part):
            if place % 40 == 0:
                rom.put("20 **", "sync")
            block(rom, *each)
        rom.put("4C **", "loop")
        rom.name("on1")
        made[f"part {number}"] = rom.finish()
    rom = Assembler()
    head(rom)
    rom.put("20 **", "sync")
    jumps(rom)
    rom.put("4C **", "loop")
    made["jumps"] = rom.finish()
    for opcode in JAMS:
        rom = Assembler()
        head(rom)
        rom.put(f"20 ** A2 00 20 ** {opcode:02X} E6 {SCRATCH:02X} 4C **", "sync", "before", "loop")
        rom.name("on1")
        made[f"jam {opcode:02x}"] = rom.finish()
    return made


def ram_on_ale(ale: ale_py.ALEInterface, frames: int) -> np.ndarray:
    """RAM after each frame, uint8 `[frames, 128]`, the one after loading first."""
    rams = [ale.getRAM().copy()]
    for _ in range(frames):
        ale.act(0)
        rams.append(ale.getRAM().copy())
    assert not ale.game_over()
    return np.array(rams)


@pytest.mark.parametrize("name", roms())
def test_opcodes_do_what_they_do_in_ale_py(
    name: str,
    tmp_path: Path,
    replay: Callable[..., np.ndarray],
    load_on_ale: Callable[[Path], ale_py.ALEInterface],
) -> None:
    rom = tmp_path / f"{GAME}.bin"
    rom.write_bytes(roms()[name])
    frames = 5 if name.startswith("jam") else 4000
    theirs = ram_on_ale(load_on_ale(rom), frames)
    ours = replay(rom, GAME, bytes(frames)).reshape(frames + 1, -1)[:, :128]
    different = np.flatnonzero((ours != theirs).any(axis=1))
    assert not different.size, f"from frame {different[0]} on"
    seeds = {bytes(ram) for ram in theirs[:, 1:6]}
    assert len(seeds) > (0 if name.startswith("jam") else frames * 0.9), "it stands still"
