"""What a batch shows while it plays, and whether another one shows the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from atari_wrappers import VecEnv


def trajectory(vec: VecEnv, seed: Any, steps: int = 30, actions: int = 6) -> list[np.ndarray]:
    """Reset and play; return all arrays, with those of each ended game at its place."""
    rng = np.random.default_rng(0)
    arrays = [vec.reset(seed=seed)[0]]
    for _ in range(steps):
        result = vec.step(rng.integers(actions, size=vec.num_envs))
        info = result[4]
        arrays += [*result[:4], info["raw_reward"], info["lives"], info["game_terminated"]]
        if "_final_obs" in info:
            arrays.append(info["final_obs"][info["_final_obs"]])
        if "_episode" in info:
            arrays += [info["episode"]["l"], info["episode"]["frames"]]
    return arrays


def same(left: list[np.ndarray], right: list[np.ndarray]) -> bool:
    """Return whether all arrays are equal, each to the one in its place."""
    return all(np.array_equal(one, other) for one, other in zip(left, right, strict=True))
