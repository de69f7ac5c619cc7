"""The bytes of an ALE state: what is read in them, and what is put into them.

ale-py documents none of it. What stands here was found by comparing states, and the tests compare
what follows from it on every ROM. PettingZoo's fork has the same parts in the same order.
"""

from __future__ import annotations

import re
import struct

import numpy as np

_SECTIONS = (b"System", b"M6502Low", b"M6532", b"TIASound", b"Cartridge")
# How the console's parts write a bool.
_BOOL = re.compile(rb"\xb2\xfa\xb1\xfa|\xd2\xba\xd1\xba")
# A Mersenne Twister: the length of its text, 624 words and the place among them.
_TWISTER = re.compile(rb"(?s)(.{4})((?:\d{1,10} ){624}\d{1,3})")
_WORDS = 624
# Behind the name of the processor: its registers as integers of 4 bytes, the program counter last.
_PROGRAM_COUNTER = 5 * 4
# Behind the name of the chip with the RAM: an integer, and each byte as an integer.
_RAM = 4
_RAM_BYTES = 128
_RAM_ADDRESS = 0x80

# Programs of a console that is to come to the end of a frame, and of one that is not: VSYNC for
# three lines, and then nothing but a jump to itself; and that jump alone.
END_FRAME = bytes.fromhex("a9 02 85 00 85 02 85 02 85 02 a9 00 85 00 4c 8e 00")
STAY_IN_FRAME = bytes.fromhex("4c 80 00")


def is_within_frame(state: bytes) -> bool:
    """Return whether the last frame was given up before its picture was complete.

    ALE gives a frame up after 25,000 instructions, and the next one goes on with its picture. It
    knows that by a flag, which a restore leaves as it is: with the wrong one another game follows,
    and ALE may write beyond its picture. In the state is how the processor came to stop, 1 where
    the picture was complete.
    """
    at = _after(state, b"M6532") - len(b"M6532") - 8
    stopped = struct.unpack_from("<i", state, at)[0]
    if stopped not in (0, 1):
        raise ValueError(f"an ALE state says {stopped} where 0 or 1 is expected")
    return not stopped


def with_program(state: bytes, program: bytes) -> bytes:
    """Return the state of a console that runs a program in its RAM next."""
    changed = bytearray(state)
    struct.pack_into("<i", changed, _after(state, b"M6502Low") + _PROGRAM_COUNTER, _RAM_ADDRESS)
    struct.pack_into(f"<{len(program)}i", changed, _after(state, b"M6532") + _RAM, *program)
    return bytes(changed)


def twister_in(state: bytes) -> tuple[np.ndarray, int]:
    """Return the random numbers with which a state ends: uint32 `[624]`, and the place in them."""
    *words, place = map(int, state[:-8].rpartition(b"\0")[2].split())
    return np.array(words, np.uint32), place


def check_ale_state(state: bytes, own: bytes) -> None:
    """Refuse, by a `ValueError`, what is no state of the game that has `own` as one.

    That is as far as can be seen; ALE reads anything.
    """
    theirs, ours = _without_twisters(state), _without_twisters(own)
    fits = len(theirs) == len(ours)
    fits = fits and all(theirs.find(name) == ours.find(name) for name in _SECTIONS)
    start = ours.find(_SECTIONS[0])
    fits = fits and all(_BOOL.match(theirs, found.start()) for found in _BOOL.finditer(ours, start))
    ram = _after(state, b"M6532") + _RAM if fits else 0
    if not fits or max(struct.unpack_from(f"<{_RAM_BYTES}I", state, ram)) > 255:
        raise ValueError("emulator.ale is no state of this game by ale-py")
    is_within_frame(state)


def _without_twisters(state: bytes) -> bytes:
    """Return a state without its random numbers, whose text has no fixed length."""
    return _TWISTER.sub(_checked_twister, state)


def _checked_twister(found: re.Match[bytes]) -> bytes:
    length, text = found.groups()
    *words, place = map(int, text.split())
    is_whole = struct.unpack("<i", length)[0] == len(text)
    if not is_whole or max(words) >= 1 << 32 or place > _WORDS:
        raise ValueError("the random numbers in emulator.ale are out of range")
    return b""


def _after(state: bytes, name: bytes) -> int:
    at = state.find(name)
    if at < 0:
        raise ValueError(f"an ALE state has no {name.decode()}")
    return at + len(name)
