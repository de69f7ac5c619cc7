"""Plays Gymnasium's CartPole-v1 for `cart_poles.rs`: `python vec_env/tests/cart_pole.py`.

Writes `cart_pole.json`: for each of three games its actions and the states, the start first.
"""

import json
import pathlib

import gymnasium
import numpy as np


def play(seed: int) -> dict[str, list]:
    """One game: a random policy, or one that balances the pole until the time limit."""
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    states, actions = [list(map(float, env.unwrapped.state))], []
    while True:
        x, v, angle, w = states[-1]
        balance = int(3 * angle + w + 0.1 * x + 0.3 * v > 0)
        actions.append(balance if seed == 0 else int(rng.integers(2)))
        obs, reward, terminated, truncated, _ = env.step(actions[-1])
        assert reward == 1.0
        states.append(list(map(float, env.unwrapped.state)))
        assert np.array_equal(obs, np.float32(states[-1]))
        if terminated or truncated:
            ends = [bool(terminated), bool(truncated)]
            # Enough of a long game: its start and where it ends.
            return {"actions": actions, "states": states[:60] + states[-1:], "ends": ends}


target = pathlib.Path(__file__).with_suffix(".json")
target.write_text(json.dumps([play(seed) for seed in range(3)]) + "\n")
