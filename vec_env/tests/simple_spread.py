"""Plays MPE2's simple_spread_v3 for `simple_spread.rs`.

`python vec_env/tests/simple_spread.py`, where `mpe2` 1.1.1 is installed, writes
`simple_spread.json`: of games with discrete and continuous actions the places at the start, and
of each step the actions, the observations and the rewards of all agents.
"""

import json
import pathlib
from typing import Any

import numpy as np
from mpe2 import simple_spread_v3

STEPS = 25


def play(seed: int, *, count: int, continuous: bool) -> dict[str, Any]:
    """One game; every third starts with agents on top of one another."""
    env = simple_spread_v3.parallel_env(N=count, max_cycles=STEPS, continuous_actions=continuous)
    obs, _ = env.reset(seed=seed)
    world = env.unwrapped.world
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        for agent in world.agents:
            agent.state.p_pos = rng.uniform(-0.2, 0.2, 2)
    places = [each.state.p_pos.tolist() for each in world.agents]
    landmarks = [each.state.p_pos.tolist() for each in world.landmarks]
    actions, observed, rewards = [], [], []
    for step in range(STEPS):
        if continuous:
            # Beyond the bounds, too: they are clipped there.
            taken = {name: rng.uniform(-0.2, 1.2, 5).astype(np.float32) for name in env.agents}
            actions.append([[float(str(x)) for x in each] for each in taken.values()])
        else:
            taken = {name: int(rng.integers(5)) for name in env.agents}
            actions.append([[each] for each in taken.values()])
        names = list(env.agents)
        obs, reward, terminated, truncated, _ = env.step(taken)
        # As short as float32 is written.
        observed.append([[float(str(x)) for x in obs[name]] for name in names])
        rewards.append([float(reward[name]) for name in names])
        assert not any(terminated.values())
        assert all(truncated.values()) == (step == STEPS - 1)
    return {
        "continuous": continuous,
        "places": places,
        "landmarks": landmarks,
        "actions": actions,
        "obs": observed,
        "rewards": rewards,
    }


games = [play(seed, count=2 if seed == 5 else 3, continuous=bool(seed % 2)) for seed in range(6)]
pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(games) + "\n")
