"""Seeds: the same games wherever they run, and different ones in each env."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from backends import BACKENDS
from trajectory import same, trajectory

from atari_wrappers import VecEnv, make_env

GAME = "SpaceInvadersNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_seed_decides_the_trajectory(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 3, backend=backend, sticky_actions=0.25)
    first = trajectory(vec, 9)
    assert same(first, trajectory(open_vec(GAME, 3, backend=backend, sticky_actions=0.25), 9))
    assert same(first, trajectory(vec, [9, 10, 11])), "the used batch, whose env i gets seed + i"
    assert not same(first, trajectory(vec, 8))
    last = vec.step([0] * 3)[0]
    assert not np.array_equal(last[0], last[1])
    assert not np.array_equal(last[1], last[2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_a_seed_games_go_on_differing(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    games = [trajectory(vec, 9), *(trajectory(vec, None) for _ in range(3))]
    assert not any(same(*pair) for pair in combinations(games, 2))


@pytest.mark.parametrize(("preset", "game"), [("default", "SpaceInvaders"), ("ale", "Breakout")])
def test_a_seed_gives_the_same_games_on_every_backend_and_number_of_threads_or_workers(
    preset: str, game: str, open_vec: OpenVec
) -> None:
    runs = {name: {"backend": name} for name in ("ale", "sync")}
    runs |= {f"native {n}": {"backend": "native", "num_threads": n} for n in (1, 3)}
    runs["async"] = {"backend": "async", "num_workers": 2}
    played = {}
    for name, run in runs.items():
        vec = open_vec(
            f"{game}NoFrameskip-v4",
            3,
            preset=preset,
            **run,
            sticky_actions=0.25,
            max_episode_frames=600,
        )
        played[name] = trajectory(vec, 3, steps=320, actions=4)
    assert len(played["ale"]) > 1 + 7 * 320, "games ended"
    for name in played:
        assert same(played["ale"], played[name]), name


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_env_i_is_the_single_env_with_seed_plus_i(backend: str, open_vec: OpenVec) -> None:
    obs, _ = open_vec(GAME, 3, backend=backend).reset(seed=20)
    for index in range(3):
        single = make_env(GAME, backend=backend)
        np.testing.assert_array_equal(obs[index], single.reset(seed=20 + index)[0])


@pytest.mark.parametrize("backend", ["ale", "native", "sync"])
def test_bad_seeds_are_refused(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    bad: list[tuple[Any, type[Exception], str]] = [
        (-1, ValueError, r"seed -1 of env 0 lies outside of \[0, 2147483647\)"),
        (2**31 - 2, ValueError, "seed 2147483647 of env 1 lies outside"),
        (True, TypeError, "seed must be an integer, not True"),
        ("7", TypeError, "seed must be an integer, not '7'"),
        ([1, 2, 3], ValueError, "3 seeds for 2 envs"),
        (0.5, TypeError, "seed must be an integer, not 0.5"),
    ]
    for seed, error, message in bad:
        with pytest.raises(error, match=message):
            vec.reset(seed=seed)


def test_seeds_come_in_any_form(open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend="sync")
    first = vec.reset(seed=7)[0]
    for seed in (np.int64(7), np.array(7), (7, 8), np.array([7, 8])):
        np.testing.assert_array_equal(vec.reset(seed=seed)[0], first)


@pytest.mark.trainer
def test_seeds_may_be_tensors(open_vec: OpenVec) -> None:
    import torch

    vec = open_vec(GAME, 2, backend="sync")
    first = vec.reset(seed=7)[0]
    for seed in (torch.tensor(7), torch.tensor([7, 8])):
        np.testing.assert_array_equal(vec.reset(seed=seed)[0], first)


@pytest.mark.parametrize("backend", BACKENDS)
def test_largest_seeds_work(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    first = vec.reset(seed=2**31 - 3)[0]
    np.testing.assert_array_equal(vec.reset(seed=[2**31 - 3, 2**31 - 2])[0], first)
