"""Plays Gymnasium's MountainCar-v0 and MountainCarContinuous-v0 for `mountain_car.rs`.

`python vec_env/tests/mountain_car.py` writes `mountain_car.json`: of three games of each its
actions, the states, the start first, the rewards, and how it ended.
"""

import json
import pathlib

import gymnasium
import numpy as np


def play(env_id: str, seed: int) -> dict[str, list]:
    """One game: pushes along with the motion, which climbs, or random ones."""
    env = gymnasium.make(env_id, disable_env_checker=True)
    env.reset(seed=seed)
    if seed == 1:
        env.unwrapped.state = np.array([-1.1, -0.06])  # into the wall
    rng = np.random.default_rng(seed)
    states, actions, rewards = [list(map(float, env.unwrapped.state))], [], []
    is_discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
    while True:
        force = (1 if states[-1][1] >= 0 else -1) if seed == 0 else rng.uniform(-1.5, 1.5)
        action = int(np.clip(np.round(force), -1, 1)) + 1 if is_discrete else np.float32([force])
        obs, reward, terminated, truncated, _ = env.step(action)
        states.append(list(map(float, env.unwrapped.state)))
        assert np.array_equal(obs, np.float32(states[-1]))
        actions.append(action if is_discrete else float(action[0]))
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return {
        "actions": actions,
        # Enough of a long game: its start and where it ends.
        "states": states[:60] + states[-1:],
        "rewards": rewards[:59] + rewards[-1:],
        "ends": [bool(terminated), bool(truncated)],
    }


target = pathlib.Path(__file__).with_suffix(".json")
ids = ("MountainCar-v0", "MountainCarContinuous-v0")
games = {env_id: [play(env_id, seed) for seed in range(3)] for env_id in ids}
target.write_text(json.dumps(games) + "\n")
