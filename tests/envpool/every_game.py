"""Plays every Atari game of EnvPool's beside EnvPool, and prints where the two first differ.

    python tests/envpool/every_game.py

It is no test: it takes minutes, and ale-py's versions differ in 14 games. Each line has the game,
`equal` or what differs at which step, and how many episodes ended.
"""

from __future__ import annotations

from typing import Any

import envpool as theirs
import numpy as np

from atari_wrappers import envpool as ours

STEPS, NUM_ENVS = 400, 2


def first_difference(mine: Any, other: Any, step: int) -> str | None:
    """Return what differs between two results, if anything."""
    names = ("obs", "reward", "terminated", "truncated")
    pairs = dict(zip(names, zip(mine[:-1], other[:-1], strict=True), strict=False))
    infos = (name for name in other[-1] if name not in ("players", "ram"))
    pairs |= {f"info[{name}]": (mine[-1][name], other[-1][name]) for name in infos}
    for name, (one, two) in pairs.items():
        if not np.array_equal(one, two):
            return f"{name} at step {step}"
    return None


def compare(game: str) -> str:
    """Play a game on both, as agents are trained, and say how that went."""
    settings = {"num_envs": NUM_ENVS, "seed": 3, "episodic_life": True, "reward_clip": True}
    pools = [module.make(game, "gym", **settings) for module in (ours, theirs)]
    rng, ended, difference = np.random.default_rng(1), 0, None
    results = [pool.reset() for pool in pools]
    for step in range(STEPS):
        difference = difference or first_difference(*results, step)
        actions = rng.integers(pools[1].action_space.n, size=NUM_ENVS)
        results = [pool.step(actions) for pool in pools]
        ended += int(results[1][2].sum())
    pools[0].close()
    return f"{game} {difference or 'equal'} {ended}"


if __name__ == "__main__":
    for task_id in ours.list_all_envs():
        print(compare(task_id), flush=True)  # noqa: T201
