"""Games for two by PettingZoo's parallel API."""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test

from atari_wrappers import make_vec
from atari_wrappers.adapters.pettingzoo import env, parallel_env
from atari_wrappers.errors import ResetNeededError, UnsupportedError

PONG, INVADERS = "PongNoFrameskip-v4", "SpaceInvadersNoFrameskip-v4"


def test_pettingzoo_finds_no_fault() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(parallel_env(INVADERS, frame_skip=60), num_cycles=150)
        parallel_seed_test(lambda: parallel_env(PONG, max_episode_frames=400), num_cycles=20)
    api_test(env(PONG), num_cycles=20)


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_it_plays_what_the_batch_plays(backend: Any) -> None:
    settings: dict[str, Any] = {"backend": backend, "preset": "ale", "frame_skip": 12}
    game = parallel_env(INVADERS, **settings)
    batch = make_vec(INVADERS, 1, num_players=2, autoreset="disabled", **settings)
    assert game.venv.backend == backend
    first, second = game.possible_agents
    rng = np.random.default_rng(0)
    ends = 0
    obs, infos = game.reset(seed=5)
    theirs, _ = batch.reset(seed=5)
    for _ in range(400):
        for player, name in enumerate((first, second)):
            assert game.observation_space(name).contains(obs[name])
            np.testing.assert_array_equal(obs[name], theirs[0, player])
        actions = rng.integers(0, 6, 2)
        obs, rewards, *flags, infos = game.step(dict(zip((first, second), actions, strict=True)))
        theirs, reward, terminated, truncated, info = batch.step(actions[None])
        assert list(rewards.values()) == reward[0].tolist()
        for own, flag in zip(flags, (terminated, truncated), strict=True):
            assert own == {first: flag[0], second: flag[0]}
        for player, name in enumerate((first, second)):
            assert infos[name]["episode_return"] == info["episode_return"][0, player]
            assert infos[name]["lives"] == info["lives"][0]
        if terminated[0]:
            ends += 1
            assert game.agents == [], "both are out"
            assert infos[second]["episode"].keys() == {"r", "l", "frames"}
            assert infos[second]["episode"]["r"] == info["episode"]["r"][0, 1]
            assert infos[second]["episode"]["l"] == info["episode"]["l"][0]
            json.dumps(infos[second]["episode"])
            obs, infos = game.reset()
            theirs, _ = batch.reset()
            assert "episode" not in infos[first]
    assert ends >= 1
    game.close()
    batch.close()


def test_the_screen_is_shown() -> None:
    game = parallel_env(PONG, render_mode="rgb_array")
    game.reset(seed=0)
    screen = game.render()
    assert screen is not None
    assert (screen.shape, screen.dtype) == ((210, 160, 3), np.uint8)
    assert (str(game), game.max_num_agents, game.num_agents) == (PONG, 2, 2)
    assert game.metadata["render_fps"] == 15, "four frames a step"


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ({"first_0": 0}, "actions of first_0, second_0 are needed, not of first_0"),
        ({}, "not of nobody"),
        ({"first_0": 0, "second_0": 6}, r"action of second_0, 6, is outside of Discrete\(6\)"),
        ({"first_0": 0.5, "second_0": 0}, "action of first_0, 0.5, is outside"),
    ],
)
def test_actions_are_checked(actions: dict[str, Any], words: str) -> None:
    game = parallel_env(PONG)
    game.reset()
    with pytest.raises(ValueError, match=words):
        game.step(actions)
    game.step({"second_0": np.int64(1), "first_0": 0})


def test_calls_out_of_order_and_settings_are_told() -> None:
    game = parallel_env(PONG, autoreset=AutoresetMode.DISABLED)
    with pytest.raises(ResetNeededError, match="nobody plays; call reset first"):
        game.step({"first_0": 0, "second_0": 0})
    game.reset()
    game.close()
    with pytest.raises(gym.error.ClosedEnvironmentError):
        game.reset()
    refused: list[tuple[str, dict[str, Any], str]] = [
        (PONG, {"num_players": 1}, "num_players must be 2"),
        (PONG, {"autoreset": "same-step"}, "autoreset must be 'disabled'"),
        (PONG, {"batch_size": 1}, "leave batch_size at 0"),
        (PONG, {"render_mode": "human"}, 'render_mode must be "rgb_array"'),
        ("BreakoutNoFrameskip-v4", {}, "is no game for two"),
    ]
    for env_id, settings, words in refused:
        with pytest.raises(UnsupportedError, match=re.escape(words)):
            parallel_env(env_id, **settings)
    with pytest.raises(TypeError, match="no setting stak"):
        parallel_env(PONG, stak=4)  # type: ignore[call-arg]
