"""Plays Gymnasium's Pendulum-v1 for `pendulum.rs`: `python vec_env/tests/pendulum.py`.

Writes `pendulum.json`: for each of three games its torques, the states, the start first, and the
rewards. One starts near upright at full speed, so that the angle passes through every turn.
"""

import json
import pathlib

import gymnasium
import numpy as np


def play(seed: int) -> dict[str, list]:
    """One game with random torques, some of them out of bounds."""
    env = gymnasium.make("Pendulum-v1", disable_env_checker=True)
    env.reset(seed=seed)
    if seed == 0:
        env.unwrapped.state = np.array([0.1, 8.0])
    rng = np.random.default_rng(seed)
    states, torques, rewards = [list(map(float, env.unwrapped.state))], [], []
    truncated = False
    while not truncated:
        torque = rng.uniform(-3, 3, 1).astype(np.float32)
        obs, reward, terminated, truncated, _ = env.step(torque)
        angle, speed = map(float, env.unwrapped.state)
        assert not terminated
        assert np.array_equal(obs, np.float32([np.cos(angle), np.sin(angle), speed]))
        torques.append(float(torque[0]))
        states.append([angle, speed])
        rewards.append(float(reward))
    # Enough of a long game: its start and where it ends.
    return {"torques": torques, "states": states[:60] + states[-1:], "rewards": rewards}


target = pathlib.Path(__file__).with_suffix(".json")
target.write_text(json.dumps([play(seed) for seed in range(3)]) + "\n")
