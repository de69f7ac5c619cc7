from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from displays import screenshot
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import atari_wrappers.adapters.gymnasium  # noqa: F401 - registers ids
from atari_wrappers import UnknownEnvError, UnsupportedError, VecEnv, make_env, make_vec
from atari_wrappers.adapters.gymnasium import register
from atari_wrappers.recipes import PRESETS

PONG = "atari_wrappers/Pong-v0"


@pytest.fixture
def registered() -> Iterator[list[str]]:
    """A list of ids, which the registry forgets after the test."""
    ids: list[str] = []
    yield ids
    for name in ids:
        gym.registry.pop(name)


def test_every_game_is_registered() -> None:
    games = {
        spec.kwargs["game"]
        for spec in gym.registry.values()
        if str(spec.entry_point).startswith("ale_py.")
    }
    ours = [name for name in gym.registry if name.startswith("atari_wrappers/")]
    assert len(ours) == len(games) > 100


def test_make_vec_makes_our_batch(open_vec: Callable[..., VecEnv]) -> None:
    envs = gym.make_vec(f"atari_wrappers.adapters.gymnasium:{PONG}", num_envs=2, noop_max=0)
    ours = open_vec("ALE/Pong-v5", 2, noop_max=0, sticky_actions=0.0)
    assert isinstance(envs, VecEnv)
    assert (envs.backend, envs.settings) == (ours.backend, ours.settings)
    np.testing.assert_array_equal(envs.reset(seed=1)[0], ours.reset(seed=1)[0])
    assert envs.spec.id == PONG
    envs.close()
    shown = gym.make_vec(PONG, num_envs=1, render_mode="rgb_array")
    shown.reset(seed=0)
    assert shown.render()[0].shape == (210, 160, 3)
    shown.close()


@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
def test_both_ways_to_a_batch_play_alike(mode: str, open_vec: Callable[..., VecEnv]) -> None:
    settings = {"preset": "baselines", "autoreset": "next-step"}
    envs = gym.make_vec(PONG, num_envs=2, vectorization_mode=mode, **settings)
    ours = open_vec("ALE/Pong-v5", 2, sticky_actions=0.0, **settings)
    np.testing.assert_array_equal(envs.reset(seed=4)[0], ours.reset(seed=4)[0])
    rng = np.random.default_rng(0)
    for _ in range(50):
        actions = rng.integers(6, size=2)
        for theirs, mine in zip(envs.step(actions)[:4], ours.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(theirs, mine)
    envs.close()


@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
def test_our_ids_have_no_sticky_actions_unless_given(mode: str) -> None:
    for settings in ({}, {"preset": "gymnasium"}, {"sticky_actions": 0.25}):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            envs = gym.make_vec(PONG, num_envs=1, vectorization_mode=mode, **settings)
        assert not [one for one in told if "sticky_actions" in str(one.message)]
        recipe = envs.recipe if mode != "sync" else envs.envs[0].unwrapped.recipe
        assert recipe.sticky_actions == settings.get("sticky_actions", 0.0)
        envs.close()


@pytest.mark.parametrize("backend", ["auto", "native"])
def test_make_makes_one_env_of_it(backend: str) -> None:
    env = gym.make(PONG, render_mode="rgb_array", frame_stack=2, backend=backend)
    check_env(env.unwrapped)
    obs, info = env.reset(seed=0)
    assert obs.shape == (2, 84, 84)
    assert info["episode_length"] == 0
    assert env.render().shape == (210, 160, 3)
    assert env.spec.id == PONG
    assert env.metadata["render_fps"] == 15, "four frames a step"
    env.close()


@pytest.mark.parametrize("env_id", ["ALE/Breakout-v5", "CartPole-v1"])
@pytest.mark.parametrize("render_mode", [None, "rgb_array"])
def test_a_spec_makes_the_same_env(env_id: str, render_mode: str | None, tmp_path: Path) -> None:
    """With its settings, wrappers and recordings; a game as JSON has it, too."""
    is_game = env_id.startswith("ALE")
    settings: dict[str, Any] = {"clip_reward": True, "max_episode_steps": 9, "img_dir": tmp_path}
    if is_game:
        settings |= {"sticky_actions": 0.1, "frame_stack": 2, "backend": "native"}
    with closing(make_env(env_id, env_index=3, render_mode=render_mode, **settings)) as env:
        spec = EnvSpec.from_json(env.spec.to_json()) if is_game else env.spec
        assert spec.id == env_id
        with closing(gym.make(spec)) as twin:
            # Gymnasium adds its checks and its limit once more to an env that has them.
            assert str(env) in str(twin)
            results = [_played(each) for each in (env, twin)]
    np.testing.assert_equal(*results)
    assert list(tmp_path.glob("out3-*.png"))


def _played(env: gym.Env) -> list[Any]:
    """Return what a reset and steps up to an end give."""
    env.action_space.seed(2)
    results: list[Any] = [env.reset(seed=1)]
    while len(results) == 1 or not any(results[-1][2:4]):
        results.append(env.step(env.action_space.sample()))
    return results


@pytest.mark.parametrize("env_id", ["CartPole-v1", "ALE/Pong-v5", ["ALE/Pong-v5"] * 2])
@pytest.mark.parametrize(
    ("output", "how"),
    [
        ("numpy", {"preset": "gymnasium"}),
        ("torch", {"recipe": replace(PRESETS["ale"], pooling="rgb")}),
    ],
)
def test_a_spec_makes_the_same_batch(
    env_id: str | list[str], output: str, how: dict[str, Any]
) -> None:
    settings: dict[str, Any] = {"autoreset": "next-step", "max_episode_steps": 9}
    if env_id != "CartPole-v1":
        settings |= {**how, "full_action_space": True}
    with make_vec(env_id, 2, output=output, **settings) as vec:
        spec = EnvSpec.from_json(vec.spec.to_json())
        with gym.make_vec(spec) as twin:
            assert type(twin) is type(vec)
            assert (twin.settings, twin.backend) == (vec.settings, vec.backend)
            for theirs, ours in zip(twin.reset(seed=1), vec.reset(seed=1), strict=True):
                assert str(theirs) == str(ours)


def test_other_ids_and_settings_get_a_name(registered: list[str]) -> None:
    registered.append(register("CartPole-v1", clip_reward=True))
    assert registered == ["atari_wrappers/CartPole-v1"]
    registered.append(register("CartPole-v1", "Poles-v3", backend="async"))
    register(
        "CartPole-v1", "Poles-v3", backend="sync"
    )  # replaces the one before, without a warning
    envs = gym.make_vec("Poles-v3", num_envs=3)
    assert (envs.backend, envs.num_envs) == ("sync", 3)
    envs.close()


def test_our_ids_are_for_gymnasiums_calls(registered: list[str]) -> None:
    """Elsewhere they would be envs like any other, made with settings that the batch cannot see."""
    registered.append(register("CartPole-v1", clip_reward=True))
    registered.append(register("CartPole-v1", "Plain-v0"))
    for name, meant in (
        (PONG, "`ALE/Pong-v5` with sticky_actions=0.0"),
        (f"atari_wrappers.adapters.gymnasium:{PONG}", "`ALE/Pong-v5` with sticky_actions=0.0"),
        (registered[0], "`CartPole-v1` with clip_reward=True"),
        (registered[1], "`CartPole-v1`"),
    ):
        says = f"^`{name}` is an id for gymnasium.make_vec and gymnasium.make; .* {meant}$"
        for call in (make_vec, make_env, register):
            with pytest.raises(UnsupportedError, match=says):
                call(name)


def test_what_cannot_be_made_is_not_registered() -> None:
    before = set(gym.registry)
    with pytest.raises(UnknownEnvError, match="NoSuchGame"):
        register("NoSuchGame-v0")
    with pytest.raises(ValueError, match="preset must be one of"):
        register("CartPole-v1", preset="none")
    with pytest.raises(TypeError, match="no_such_setting"):
        register("CartPole-v1", no_such_setting=1)
    assert set(gym.registry) == before
    for make, mode in ((gym.make, "ansi"), (gym.make_vec, "human")):
        with pytest.raises(UnsupportedError, match="rgb_array"):
            make(PONG, render_mode=mode)


@pytest.mark.parametrize("backend", ["sync", "native"])
def test_a_window_shows_each_step(
    backend: str, display: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pygame", reason="the window is pygame's")
    monkeypatch.setenv("DISPLAY", display)
    with closing(gym.make(PONG, render_mode="human", backend=backend)) as env:
        assert env.metadata["render_fps"] == 15, "four frames a step"
        env.reset(seed=1)
        env.step(3)
        picture = env.unwrapped.render().repeat(3, axis=0).repeat(5, axis=1)
        screen = screenshot(display)
    top, left = np.argwhere(screen.any(axis=2)).min(axis=0)
    assert np.array_equal(screen[top : top + 630, left : left + 800], picture)
    assert not screenshot(display).any()
    with pytest.raises(UnsupportedError, match="draws no pictures"):
        make_env("FrozenLake-v1", env_kwargs={"render_mode": None}, render_mode="human")
