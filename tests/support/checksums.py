"""What a batch on `native` plays, as a number, in whatever thread or process it is asked for."""

from __future__ import annotations

import zlib

from atari_wrappers import make_vec

GAME = "BreakoutNoFrameskip-v4"


def checksum(seed: int, num_threads: int = 2) -> int:
    """Play some steps, and return the checksum of what is seen."""
    with make_vec(GAME, 3, backend="native", num_threads=num_threads) as vec:
        seen = zlib.crc32(vec.reset(seed=seed)[0])
        for step in range(60):
            seen = zlib.crc32(vec.step([step % 4, 1, 2])[0], seen)
    return seen
