"""Games look the same without this processor's vectors, as they would on another processor."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Pictures made gray before they are pooled and after, two sizes, colours, and the screen itself.
PLAY = """
import zlib
import numpy as np
from atari_core import _atari_core
from atari_wrappers import make_vec

print(_atari_core.simd())
for game, settings in [
    ("Breakout", {"preset": "baselines"}),
    ("Seaquest", {"preset": "ale", "screen_size": 42}),
    ("MsPacman", {"preset": "gymnasium", "grayscale": False}),
    ("Enduro", {"preset": "ale", "screen_size": (210, 160), "frame_stack": 1}),
]:
    envs = make_vec(f"{game}NoFrameskip-v4", 2, backend="native", **settings)
    total = zlib.crc32(envs.reset(seed=1)[0])
    actions = np.random.default_rng(0).integers(envs.single_action_space.n, size=(250, 2))
    for action in actions:
        obs, reward, *_ = envs.step(action)
        total = zlib.crc32(reward, zlib.crc32(obs, total))
    envs.close()
    print(game, total)
"""


def play(simd: str | None) -> list[str]:
    """Return what was used, and a checksum for each game, in a process held to these vectors."""
    env = {name: value for name, value in os.environ.items() if name != "ATARI_CORE_SIMD"}
    env |= {} if simd is None else {"ATARI_CORE_SIMD": simd}
    command = [sys.executable, "-c", PLAY]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_without_vectors_games_are_the_same() -> None:
    best, *games = play(None)
    if best == "portable":
        pytest.skip("this processor has no vectors that could be switched off")
    for simd in ("portable", "avx2"):
        assert play(simd) == [simd, *games]
