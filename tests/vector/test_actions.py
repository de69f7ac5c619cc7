"""Bad actions are refused before any env sees them; ALE would wait for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from backends import TWIN

from atari_wrappers import UnsupportedError, VecEnv
from atari_wrappers.vector.actions import action_check

BAD_ACTIONS = [
    ([0, 0], ValueError, r"actions have shape \[2\]; 3 envs take \[3\]"),
    ([], ValueError, r"shape \[0\]"),
    ([[0], [0], [0]], ValueError, r"shape \[3, 1\]"),
    (0, ValueError, r"shape \[\]"),
    ([0, [1], 2], ValueError, r"same shape for each env, not \[0, \[1\], 2\]"),
    ([0.0, 1.0, 2.0], TypeError, "must be integers, not float64"),
    ([True, False, True], TypeError, "must be integers, not bool"),
    ([None, 0, 0], TypeError, "must be integers, not object"),
    ([0, 4, 0], ValueError, "action 4 of env 1 is outside of the valid range 0 to 3"),
    ([0, 0, -1], ValueError, "action -1 of env 2 is outside of the valid range 0 to 3"),
    (np.array([2**63, 0, 0], np.uint64), ValueError, f"action {2**63} of env 0"),
    ([-(2**63), 0, 0], ValueError, f"action -{2**63} of env 0"),
    (np.array([0, 255, 0], np.uint8), ValueError, "action 255 of env 1"),
    (np.array([0, -128, 9], np.int8), ValueError, "action -128 of env 1"),
]


@pytest.mark.parametrize(("actions", "error", "message"), BAD_ACTIONS)
def test_bad_actions_are_named(actions: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        action_check(gym.spaces.Discrete(4), 3)(actions)


@pytest.mark.parametrize("backend", ["ale", "native", "sync"])
def test_bad_actions_move_no_env(backend: str, open_vec: Callable[..., VecEnv]) -> None:
    vec, twin = (open_vec("BreakoutNoFrameskip-v4", 3, backend=name) for name in (backend, TWIN))
    vec.reset(seed=0)
    twin.reset(seed=0)
    for actions, error, message in BAD_ACTIONS:
        with pytest.raises(error, match=message):
            vec.step(actions)
        with pytest.raises(error, match=message):
            vec.send(actions)
    np.testing.assert_array_equal(vec.step([1, 2, 3])[0], twin.step([1, 2, 3])[0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_any_integers_become_a_fresh_array_of_the_spaces_dtype(dtype: type) -> None:
    small = gym.spaces.Discrete(4, dtype=np.int32)
    assert action_check(small, 2)(np.array([3, 0], dtype)).dtype == np.int32
    check = action_check(gym.spaces.Discrete(4), 3)
    given = np.array([3, 9, 0, 9, 1], dtype)[::2]
    checked = check(given)
    assert (checked.dtype, checked.tolist()) == (np.int64, [3, 0, 1])
    assert checked.flags.c_contiguous
    assert not np.shares_memory(checked, given)
    assert check((3, 0, 1)).tolist() == [3, 0, 1]


def test_actions_may_begin_elsewhere_than_at_zero() -> None:
    for first in (5, -2):
        check = action_check(gym.spaces.Discrete(3, start=first), 2)
        assert check([first, first + 2]).tolist() == [first, first + 2]
        for action in (first - 1, first + 3):
            with pytest.raises(ValueError, match=f"action {action} of env 1 .* {first} to"):
                check([first, action])


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_envs_get_actions_that_their_space_contains(
    backend: str, open_vec: Callable[..., VecEnv]
) -> None:
    vec = open_vec("scripted:Strict-v0", 2, backend=backend)
    vec.reset()
    assert vec.step([1, 4])[0].tolist() == [1, 4]
    assert vec.step(vec.action_space.sample())[0] in vec.action_space


SPACES = [
    (gym.spaces.Box(-1, 1, (2, 2), np.float32), [2.0, -1.5, np.nan]),
    (gym.spaces.Box(0, 9, (2, 2), np.int8), [10, -1, 256]),
    (gym.spaces.MultiDiscrete([[3, 4], [5, 6]], start=[[1, 1], [1, 1]]), [0, 4, 2**40]),
    (gym.spaces.MultiBinary((2, 2)), [2, -1, 257]),
]


@pytest.mark.parametrize(("space", "bad"), SPACES)
def test_arrays_of_actions_are_those_of_the_space(space: gym.Space, bad: list) -> None:
    check = action_check(space, 3)
    batch = gym.vector.utils.batch_space(space, 3)
    for _ in range(20):
        sample = batch.sample()
        checked = check(sample)
        np.testing.assert_array_equal(checked, sample)
        assert (checked.dtype, np.shares_memory(checked, sample)) == (space.dtype, False)
    for value in bad:
        wrong = sample.astype(np.float32 if isinstance(value, float) else np.int64)
        wrong[1, 0, 0] = value
        with pytest.raises(ValueError, match=r"of env 8 is outside of"):
            check(wrong, [7, 8, 9])


def test_bools_are_actions_of_multi_binary_alone() -> None:
    bools = np.ones((2, 2), np.bool_)
    assert action_check(gym.spaces.MultiBinary(2), 2)(bools).tolist() == [[1, 1]] * 2
    with pytest.raises(TypeError, match="actions must be integers, not bool"):
        action_check(gym.spaces.MultiDiscrete([6, 6]), 2)(bools)


def test_box_actions_are_clipped_on_request(open_vec: Callable[..., VecEnv]) -> None:
    vec, twin = (open_vec("Pendulum-v1", 2, clip_actions=clips) for clips in (True, False))
    for env in (vec, twin):
        env.reset(seed=0)
    np.testing.assert_array_equal(vec.step([[np.inf], [-2.5]])[0], twin.step([[2.0], [-2.0]])[0])
    with pytest.raises(ValueError, match="of env 1 is outside"):
        vec.step([[0.5], [np.nan]])
    with pytest.raises(UnsupportedError, match=r"clip_actions: .* Discrete\(2\), not of a Box"):
        open_vec("CartPole-v1", 2, clip_actions=True)


def test_continuous_actions_are_checked_too(open_vec: Callable[..., VecEnv]) -> None:
    vec = open_vec("Pendulum-v1", 2)
    vec.reset(seed=0)
    assert vec.step([[0.5], [-2.0]])[0].shape == (2, 3)
    with pytest.raises(ValueError, match=r"shape \[2\]; 2 envs take \[2, 1\]"):
        vec.step([0.5, 0.5])
    with pytest.raises(ValueError, match="of env 1 is outside"):
        vec.step([[0.5], [-2.5]])
    with pytest.raises(TypeError, match="must be float32, not complex128"):
        vec.step([[0.5], [1j]])


def test_actions_that_are_no_arrays_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="are no arrays"):
        action_check(gym.spaces.Dict({"a": gym.spaces.Discrete(2)}), 2)
