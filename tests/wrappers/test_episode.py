"""The record of a game that is no Atari game."""

from __future__ import annotations

import gymnasium as gym
from scripted import CarelessEnv, ScriptedGame

from atari_wrappers.backends.results import RECORD
from atari_wrappers.wrappers import EpisodeRecord


def test_every_info_has_the_whole_record() -> None:
    env = EpisodeRecord(ScriptedGame(end=2, lives={0: 3, 2: 1}, rewards={1: 1.5, 2: -4.0}))
    assert env.reset()[1] == {
        "raw_reward": 0.0,
        "lives": 3,
        "game_terminated": False,
        "game_truncated": False,
        "episode_return": 0.0,
        "episode_length": 0,
        "episode_frames": 0,
    }
    env.step(0)
    info = env.step(0)[4]
    assert info.keys() == RECORD.keys()
    assert info == {
        "raw_reward": -4.0,
        "lives": 1,
        "game_terminated": True,
        "game_truncated": False,
        "episode_return": -2.5,
        "episode_length": 2,
        "episode_frames": 2,
    }


def test_a_reset_begins_a_new_record() -> None:
    env = EpisodeRecord(CarelessEnv(length=3))
    for _ in range(2):
        info = env.reset()[1]
        assert (info["episode_return"], info["episode_length"]) == (0.0, 0)
        returns = [env.step(5)[4]["episode_return"] for _ in range(3)]
        assert returns == [2.5, 5.0, 7.5]


def test_truncation_is_told_apart_and_own_infos_are_kept() -> None:
    env = EpisodeRecord(gym.wrappers.TimeLimit(ScriptedGame(truncates=True), 2))
    env.reset()
    env.step(0)
    info = env.step(0)[4]
    assert (info["game_terminated"], info["game_truncated"]) == (False, True)
    assert EpisodeRecord(gym.make("FrozenLake-v1")).reset(seed=0)[1]["prob"] == 1.0


def test_lives_are_zero_where_the_env_has_none() -> None:
    assert EpisodeRecord(gym.make("CartPole-v1")).reset(seed=0)[1]["lives"] == 0
