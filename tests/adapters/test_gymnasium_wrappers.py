"""gymnasium's vector wrappers around a batch of ours, made by `gymnasium.make_vec`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import vector

import atari_wrappers  # noqa: F401 - registers ids

PONG = "atari_wrappers/Pong-v0"
OpenVec = Callable[..., Any]


@pytest.fixture
def open_pong() -> Iterator[OpenVec]:
    """gymnasium's `make_vec` of Pong, in the mode that its wrappers of observations ask for."""
    opened: list[Any] = []

    def open_one(**settings: Any) -> Any:
        settings = {"num_envs": 2, "autoreset": "next-step", "noop_max": 0} | settings
        opened.append(gym.make_vec(PONG, **settings))
        return opened[-1]

    yield open_one
    for envs in opened:
        envs.close()


def test_statistics_are_those_of_our_infos(open_pong: OpenVec) -> None:
    """Under another key than `episode`, which is ours already."""
    envs = vector.RecordEpisodeStatistics(
        open_pong(max_episode_frames=80, clip_reward=False), stats_key="stats"
    )
    envs.reset(seed=0)
    ended = 0
    for _ in range(45):
        *_, info = envs.step(np.array([0, 2]))
        if "stats" in info:
            np.testing.assert_array_equal(info["_stats"], info["_episode"])
            np.testing.assert_array_equal(info["stats"]["r"], info["episode"]["r"])
            np.testing.assert_array_equal(info["stats"]["l"], info["episode"]["l"])
            ended += 1
    assert ended >= 2


def test_observations_and_rewards_are_transformed(open_pong: OpenVec) -> None:
    plain, envs = open_pong(), open_pong()
    envs = vector.DtypeObservation(envs, np.float32)
    envs = vector.TransformReward(envs, lambda reward: reward * 2)
    obs, _ = envs.reset(seed=3)
    assert obs.dtype == np.float32
    np.testing.assert_array_equal(obs, plain.reset(seed=3)[0])
    for _ in range(70):
        obs, reward, *_ = envs.step(np.array([0, 0]))
        theirs, raw, *_ = plain.step(np.array([0, 0]))
        np.testing.assert_array_equal(obs, theirs)
        np.testing.assert_array_equal(reward, 2 * raw)
    assert reward.shape == (2,)


def test_rewards_are_normalized(open_pong: OpenVec) -> None:
    envs = vector.NormalizeReward(open_pong())
    envs.reset(seed=0)
    rewards = np.stack([envs.step(np.array([0, 0]))[1] for _ in range(100)])
    assert (rewards < 0).any()
    assert not np.isin(rewards[rewards < 0], [-1.0]).all()


def test_render_modes_have_pictures(open_pong: OpenVec) -> None:
    envs = open_pong(render_mode="rgb_array")
    envs.reset(seed=0)
    assert [frame.shape for frame in envs.render()] == [(210, 160, 3)] * 2


def test_within_the_step_wrappers_of_observations_say_so(open_pong: OpenVec) -> None:
    with pytest.raises(ValueError, match="Expected autoreset_mode to be NEXT_STEP"):
        vector.DtypeObservation(open_pong(autoreset="same-step"), np.float32)
    envs = vector.RecordEpisodeStatistics(open_pong(autoreset="same-step"), stats_key="stats")
    envs.reset(seed=0)
    assert envs.step(np.array([0, 0]))[0].shape == (2, 4, 84, 84)


def test_tensors_come_from_gymnasiums_make_vec_too(open_pong: OpenVec) -> None:
    torch = pytest.importorskip("torch")
    obs, _ = open_pong(output="torch").reset(seed=0)
    assert isinstance(obs, torch.Tensor)
