"""Games for two in a batch, on every backend that has them, beside single envs on ale-py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from any_settings import any_settings
from backends import PARTS
from pettingzoo_games import IDS

from atari_wrappers import VecEnv
from atari_wrappers.backends import choose_backend
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.request import request_batch
from atari_wrappers.settings import Settings
from atari_wrappers.single_env import make_env
from atari_wrappers.two_players import DEFAULT_MODES

Open = Callable[..., VecEnv]
INVADERS = IDS["space_invaders"]
# Of the games of `two_player_emulator`, those that `native` refuses.
NOT_PROVED = {"backgammon"}


def test_a_batch_plays_what_single_envs_play(open_vec: Open) -> None:
    envs = [
        open_vec(INVADERS, 2, num_players=2, backend=backend, num_workers=2 * (backend == "async"))
        for backend in PARTS
    ]
    settings = Settings(num_players=2)
    singles = [make_env(INVADERS, settings, index) for index in range(2)]
    first = [single.reset(seed=3 + index)[0] for index, single in enumerate(singles)]
    for env in envs:
        assert env.observation_space.shape == (2, 2, 4, 84, 84)
        np.testing.assert_array_equal(env.reset(seed=3)[0], first)
    rng, ends = np.random.default_rng(0), 0
    returns = np.zeros((2, 2))
    for _ in range(700):
        actions = rng.integers(0, 6, (2, 2))
        results = [env.step(actions) for env in envs]
        for index, single in enumerate(singles):
            last, *expected, record = single.step(actions[index])
            returns[index] += record["raw_reward"]
            shown = single.reset()[0] if expected[1] else last
            for obs, reward, terminated, truncated, info in results:
                assert_rows_equal((reward, terminated, truncated), index, expected)
                for name in ("raw_reward", "game_terminated", "episode_return", "episode_length"):
                    np.testing.assert_array_equal(info[name][index], record[name])
                if terminated[index]:
                    np.testing.assert_array_equal(info["final_obs"][index], last)
                np.testing.assert_array_equal(obs[index], shown)
                if record["game_terminated"]:
                    assert info["_episode"][index]
                    np.testing.assert_array_equal(info["episode"]["r"][index], returns[index])
            if record["game_terminated"]:
                ends += 1
                returns[index] = 0
    assert ends >= 2


def assert_rows_equal(arrays: tuple[np.ndarray, ...], index: int, expected: list[Any]) -> None:
    for array, value in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array[index], value)


@pytest.mark.parametrize("backend", PARTS)
def test_shapes_and_types(open_vec: Open, backend: str) -> None:
    env = open_vec(IDS["pong"], 3, num_players=2, backend=backend)
    assert env.single_action_space.nvec.tolist() == [6, 6]
    env.reset(seed=0)
    obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert env.observation_space.contains(obs)
    assert (reward.shape, reward.dtype) == ((3, 2), np.float32)
    assert terminated.shape == truncated.shape == (3,)
    assert (info["raw_reward"].shape, info["raw_reward"].dtype) == ((3, 2), np.float32)
    assert (info["episode_return"].shape, info["episode_return"].dtype) == ((3, 2), np.float64)
    assert info["lives"].shape == info["episode_length"].shape == (3,)
    assert [frame.shape for frame in env.render()] == [(210, 160, 3)] * 3


@pytest.mark.parametrize("mode", ["next-step", "disabled"])
@pytest.mark.parametrize("backend", PARTS)
def test_a_game_over_waits_for_its_reset(open_vec: Open, backend: str, mode: str) -> None:
    env = open_vec(INVADERS, 1, num_players=2, autoreset=mode, preset="ale", backend=backend)
    env.reset(seed=0)
    fire = np.ones((1, 2), int)
    terminated = np.zeros(1, bool)
    while not terminated.any():
        _, _, terminated, _, info = env.step(fire)
    assert info["lives"] == 0
    assert info["episode"]["r"].shape == (1, 2)
    _, info = env.reset() if mode == "disabled" else env.step(fire)[::4]
    assert (info["lives"], info["episode_length"]) == (3, 0)
    assert not info["episode_return"].any()


@pytest.mark.parametrize("backend", PARTS)
def test_states_are_restored(open_vec: Open, backend: str) -> None:
    env = open_vec(INVADERS, 2, num_players=2, backend=backend, sticky_actions=0.25)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    plan = rng.integers(0, 6, (60, 2, 2))
    for actions in plan[:20]:
        env.step(actions)
    states = env.save_state()
    first = [env.step(actions)[:2] for actions in plan]
    env.restore_state(states)
    for (obs, reward), actions in zip(first, plan, strict=True):
        again = env.step(actions)
        np.testing.assert_array_equal(again[0], obs)
        np.testing.assert_array_equal(again[1], reward)


@pytest.mark.parametrize("backend", PARTS)
def test_bad_actions_are_refused_before_any_env_steps(open_vec: Open, backend: str) -> None:
    env = open_vec(IDS["pong"], 2, num_players=2, backend=backend)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"env 1 is outside of MultiDiscrete"):
        env.step([[0, 5], [0, 6]])
    with pytest.raises(ValueError, match=r"2 envs take \[2, 2\]"):
        env.step([0, 5])
    assert env.step([[0, 5], [5, 0]])[4]["episode_length"].tolist() == [1, 1]


@pytest.mark.parametrize("rom", DEFAULT_MODES)
def test_native_comes_first_where_it_is_proved_and_else_says_why(rom: str) -> None:
    name = rom.title().replace("_", "")

    def chosen(**settings: Any) -> str:
        request = request_batch(
            f"ALE/{name}-v5", 2, any_settings(num_players=2, sticky_actions=0.0, **settings)
        )
        return choose_backend(request).name

    if rom not in NOT_PROVED:
        assert chosen() == chosen(backend="native") == "native"
        return
    assert chosen() == "sync"
    with pytest.raises(UnsupportedError, match=r'"native" cannot serve .*: .*multi_agent_ale_py'):
        chosen(backend="native")


def test_without_pettingzoos_ale_native_plays_what_it_has(
    open_vec: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "multi_agent_ale_py", None)
    env = open_vec(IDS["pong"], 1, num_players=2, mode=14)
    assert env.backend == "native"
    env.reset(seed=0)
    install = r"pip install 'atari-wrappers\[two-player\]'"
    for env_id, settings, message in (
        (IDS["pong"], {"backend": "sync"}, rf'"sync" cannot serve .*{install}.*"native"$'),
        (IDS["pong"], {"mode": 1}, r'"native": pong has no mode 1; it has \[3, 4, '),
        ("ALE/Backgammon-v5", {"preset": "gymnasium"}, f"no backend can serve .*{install}"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            open_vec(env_id, 1, num_players=2, **settings)
    with pytest.raises(UnsupportedError, match=install):
        make_env(IDS["pong"], Settings(num_players=2))


def test_parts_of_a_batch_come_as_they_are_ready(open_vec: Open) -> None:
    env = open_vec(IDS["pong"], 4, num_players=2, backend="native", batch_size=2, num_threads=2)
    twin = open_vec(IDS["pong"], 4, num_players=2, backend="sync")
    obs, _ = env.reset(seed=3)
    expected = [[first] for first in twin.reset(seed=3)[0]]
    actions = np.random.default_rng(0).integers(0, 6, (30, 4, 2))
    for step in actions:
        for rows, row in zip(expected, twin.step(step)[0], strict=True):
            rows.append(row)
    taken, ids = [0] * 4, np.arange(4)
    env.send(actions[0].copy(order="F"))
    for _ in range(40):
        obs, *_, info = env.recv()
        ids = info["env_id"]
        for row, index in enumerate(ids):
            taken[index] += 1
            np.testing.assert_array_equal(obs[row], expected[index][taken[index]])
        env.send([actions[taken[index], index] for index in ids], ids)
    assert sum(taken) == 80


@pytest.mark.parametrize(
    ("env_id", "settings", "message"),
    [
        ("BreakoutNoFrameskip-v4", {}, "is no game for two"),
        (IDS["pong"], {"backend": "ale"}, "num_players=2"),
        (IDS["pong"], {"backend": "async", "mode": 1}, "mode of pong for two players"),
    ],
)
def test_what_cannot_be_is_refused_before_an_env_is_made(
    open_vec: Open, env_id: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnsupportedError, match=message):
        open_vec(env_id, 2, num_players=2, **settings)
