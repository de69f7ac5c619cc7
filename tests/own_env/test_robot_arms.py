"""Several agents in Rust as an environment of PettingZoo's parallel API."""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from displays import screenshot
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test

# One process builds the package.
pytestmark = [pytest.mark.xdist_group("robot_arm"), pytest.mark.usefixtures("robot_arm")]


@pytest.fixture
def arms(robot_arm: ModuleType) -> Any:
    """The module in the module."""
    return robot_arm.robot_arms_v0


def some_actions(env: Any, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw an action of each that takes part."""
    return {name: rng.uniform(-1, 1, 2).astype(np.float32) for name in env.agents}


def reaching(obs: np.ndarray) -> np.ndarray:
    """Return an action that brings the hand nearer to the target."""
    cos, sin, cos2, sin2, x, y = obs
    both = cos * cos2 - sin * sin2, sin * cos2 + cos * sin2
    second = -both[1] * x + both[0] * y
    return np.clip([second - sin * x + cos * y, second], -1, 1).astype(np.float32)


def test_pettingzoo_finds_no_fault(arms: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(arms.parallel_env(num_arms=3, max_steps=30), num_cycles=100)
        parallel_seed_test(lambda: arms.parallel_env(max_steps=30), num_cycles=20)
    api_test(arms.env(max_steps=10), num_cycles=50)


def test_each_agent_is_a_single_arm(arms: Any) -> None:
    env = arms.parallel_env(num_arms=3, max_steps=200)
    singles = {
        f"arm_{index}": gym.make("robot_arm:RobotArm-v0", max_steps=200) for index in range(3)
    }
    assert env.possible_agents == list(singles)
    assert (str(env), env.metadata["render_fps"]) == ("robot_arms_v0", 20)
    rng = np.random.default_rng(0)
    ends: list[tuple[int, bool]] = []
    for seed in (4, 17):
        obs, info = env.reset(seed=seed)
        assert info == {name: {} for name in singles}
        for index, (name, single) in enumerate(singles.items()):
            assert env.observation_space(name) == single.observation_space
            assert env.action_space(name) == single.action_space
            np.testing.assert_array_equal(obs[name], single.reset(seed=seed * 3 + index)[0])
        for step in range(200):
            # Two reach for their targets, so that ends are of both kinds.
            actions = some_actions(env, rng)
            actions |= {name: reaching(obs[name]) for name in env.agents if name != "arm_2"}
            obs, *others = env.step(actions)
            for name, action in actions.items():
                theirs, *their_others, _ = singles[name].step(action)
                np.testing.assert_array_equal(obs[name], theirs)
                assert obs[name].dtype == theirs.dtype
                assert [other[name] for other in others] == [*their_others, {}]
                if their_others[1] or their_others[2]:
                    assert name not in env.agents
                    ends.append((step, bool(their_others[1])))
            for told in (obs, *others):
                assert told.keys() == actions.keys()
            if not env.agents:
                break
    assert len(ends) == 6
    assert len(set(ends)) > 3, "they end apart"
    assert {is_there for _, is_there in ends} == {True, False}


def test_it_goes_on_from_a_saved_state(arms: Any) -> None:
    env, other = (arms.parallel_env(max_steps=20) for _ in range(2))
    first, second = env.reset()[0], other.reset()[0]
    assert not np.array_equal(first["arm_0"], second["arm_0"]), "without seeds they differ"
    rng = np.random.default_rng(0)
    env.step(some_actions(env, rng))
    state = env.save_state()
    restored = other.restore_state(state)
    actions = some_actions(env, rng)
    assert restored.keys() == actions.keys()
    ours, theirs = env.step(actions), other.step(actions)
    np.testing.assert_equal(ours, theirs)
    for bad in (b"", state[:-1], state + b"\0"):
        with pytest.raises(ValueError, match="none of this environment"):
            other.restore_state(bad)
    assert other.save_state() == env.save_state()


def test_pictures_and_a_window_show_the_arms(
    arms: Any, display: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = arms.parallel_env(render_mode="rgb_array")
    env.reset(seed=1)
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((320, 640, 3), np.uint8)
    with pytest.raises(ValueError, match="render_mode must be one of"):
        arms.parallel_env(render_mode="ansi")
    monkeypatch.setenv("DISPLAY", display)
    watched = arms.parallel_env(render_mode="human")
    watched.reset(seed=1)
    assert watched.render() is None
    shown = screenshot(display)
    watched.close()
    assert (shown.reshape(-1, 3) == (220, 60, 50)).all(axis=1).sum() > 50


@pytest.mark.parametrize(
    ("actions", "kind", "words"),
    [
        ({"arm_0": [0, 0]}, RuntimeError, "agent `arm_1` needs an action"),
        ({"arm_0": [0, 0], "arm_2": [0, 0]}, ValueError, "`arm_2` is none of the agents"),
        ({"arm_0": [0, 0], "arm_1": [0]}, ValueError, r"`arm_1` has shape \[1\], not \[2\]"),
        ({"arm_0": [0, 0], "arm_1": [0, 1.5]}, ValueError, r"`arm_1`, \[0, 1.5\], is outside of"),
        ({"arm_0": [0, 0], "arm_1": [np.nan, 0]}, ValueError, "is outside of Box"),
        ({"arm_0": [0, 0], "arm_1": ["a", "b"]}, TypeError, "`arm_1` must be float32"),
    ],
)
def test_actions_are_checked(arms: Any, actions: Any, kind: type[Exception], words: str) -> None:
    env = arms.parallel_env()
    env.reset(seed=0)
    before = env.save_state()
    with pytest.raises(kind, match=words):
        env.step(actions)
    assert env.save_state() == before
    env.step({"arm_0": [0, 0], "arm_1": np.float64([1, -1])})


def test_calls_out_of_order_and_settings_are_told(arms: Any, robot_arm: ModuleType) -> None:
    env = arms.parallel_env(num_arms=1, max_steps=1)
    for call in (lambda: env.step({}), env.save_state):
        with pytest.raises(gym.error.ResetNeeded, match="call reset first"):
            call()
    env.reset()
    env.step({"arm_0": [0, 0]})
    with pytest.raises(robot_arm.ResetNeededError, match="no agent takes part"):
        env.step({"arm_0": [0, 0]})
    with pytest.raises(ValueError, match="seed must be 0 to"):
        env.reset(seed=-1)
    env.close()
    env.close()
    for call in (lambda: env.step({}), env.reset, env.save_state, env.render):
        with pytest.raises(gym.error.ClosedEnvironmentError, match="is closed"):
            call()
    with pytest.raises(ValueError, match="must be at least 1"):
        arms.parallel_env(num_arms=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'num_arm'"):
        arms.parallel_env(num_arm=1)


def test_the_module_can_be_imported_by_its_name(arms: Any) -> None:
    name = "robot_arm.robot_arms_v0"
    assert importlib.import_module(name) is arms
    assert arms.__name__ == arms.parallel_env.__module__ == name
    assert arms.__doc__.startswith("Several arms, each of which reaches")
    assert "render_mode" in arms.parallel_env.__doc__


def test_pettingzoo_is_asked_for_where_it_is_missing(
    arms: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parallel = sys.modules[arms.parallel_env.__base__.__module__]
    monkeypatch.setattr(parallel, "ParallelEnv", object)
    with pytest.raises(gym.error.DependencyNotInstalled, match="pip install pettingzoo"):
        arms.parallel_env()
