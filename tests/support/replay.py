"""Restores games from states, in whatever process it runs, and says how they go on.

As a program: reads pickled `(emulator, env_id, preset, parts, state)` tuples from stdin, writes
pickled digests to stdout.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from typing import Any

import games
import numpy as np
from games import make_game

from atari_wrappers.game.env import AtariGame

STEPS = 150


def digest(game: AtariGame, steps: int = STEPS) -> str:
    """Play on with seeded random actions, and hash all that is seen."""
    rng = np.random.default_rng(1)
    seen = hashlib.sha256(game.render())
    for _ in range(steps):
        if game.recipe.continuous:
            action: Any = rng.uniform(game.action_space.low, game.action_space.high)
        else:
            action = rng.integers(game.action_space.n)
        obs, reward, terminated, truncated, info = game.step(action)
        seen.update(obs)
        seen.update(repr((float(reward), terminated, truncated, sorted(info.items()))).encode())
        if terminated or truncated:
            obs, info = game.reset()
            seen.update(obs)
            seen.update(repr(sorted(info.items())).encode())
        seen.update(game.render())
    return seen.hexdigest()


def main() -> None:
    """Run as a program."""
    digests = []
    for games.emulator, env_id, preset, parts, state in pickle.load(sys.stdin.buffer):
        game = make_game(env_id, preset, **parts)
        game.restore_state(state)
        digests.append(digest(game))
    sys.stdout.buffer.write(pickle.dumps(digests))


if __name__ == "__main__":
    main()
