"""The `sync` backend is, bit for bit, stable-baselines3 on the same seeds and actions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import VecFrameStack

from atari_wrappers import VecEnv

NUM_ENVS = 2


def oracle(game: str, seed: int) -> VecFrameStack:
    # `make_atari_env` puts a Monitor below the wrappers: its "episode" is the true game's.
    return VecFrameStack(make_atari_env(f"{game}NoFrameskip-v4", n_envs=NUM_ENVS, seed=seed), 4)


def first_axis(obs: np.ndarray) -> np.ndarray:
    return np.moveaxis(obs, -1, -3)


# Breakout and SpaceInvaders have lives and FIRE, Pong has FIRE only.
@pytest.mark.parametrize(
    ("game", "steps"),
    [("Breakout", 700), ("SpaceInvaders", 1000), ("Pong", 1000), ("MsPacman", 700)],
)
def test_sync_plays_as_stable_baselines3(
    game: str, steps: int, open_vec: Callable[..., VecEnv]
) -> None:
    ours, theirs = open_vec(f"{game}NoFrameskip-v4", NUM_ENVS, backend="sync"), oracle(game, 11)
    obs, _ = ours.reset(seed=11)
    np.testing.assert_array_equal(obs, first_axis(theirs.reset()))
    rng = np.random.default_rng(0)
    games = ends = 0
    for step in range(steps):
        actions = rng.integers(ours.single_action_space.n, size=NUM_ENVS)
        obs, reward, terminated, truncated, info = ours.step(actions)
        their_obs, their_reward, done, their_infos = theirs.step(actions)
        np.testing.assert_array_equal(obs, first_axis(their_obs), f"step {step}")
        np.testing.assert_array_equal(reward, their_reward)
        np.testing.assert_array_equal(terminated | truncated, done)
        for env in np.flatnonzero(done):
            last = first_axis(their_infos[env]["terminal_observation"])
            np.testing.assert_array_equal(info["final_obs"][env], last)
            ends += 1
            if "episode" in their_infos[env]:
                assert info["_episode"][env]
                assert info["episode"]["r"][env] == their_infos[env]["episode"]["r"]
                assert info["episode"]["frames"][env] == their_infos[env]["episode"]["l"]
                games += 1
    theirs.close()
    assert games >= 1
    assert ends > games or game == "Pong"
