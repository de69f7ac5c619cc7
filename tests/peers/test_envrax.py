"""What envrax's tests ask of its `VecEnv` (`VmapEnv` in its early versions).

Envrax at commits 246fc5b and 198f376, `tests/`. Its envs are pure functions of a state, which ours
match by saving and restoring states. Each test names its source.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
from peer_envs import SPACES

from atari_wrappers import UnknownEnvError, VecEnv

OpenVec = Callable[..., VecEnv]


@pytest.mark.parametrize("name", ["Picture", "Box"])
def test_everything_has_the_batch_as_its_first_axis(name: str, open_hosted: OpenVec) -> None:
    """`test_make.py::TestMakeVec`, `test_wrappers.py::TestVmapEnv`."""
    vec = open_hosted(f"peer_envs:{name}-v0", 4)
    assert vec.num_envs == 4
    shape = SPACES[name].shape
    obs, _ = vec.reset(seed=0)
    assert obs.shape == (4, *shape)
    obs, reward, terminated, truncated, _ = vec.step(vec.action_space.sample())
    assert obs.shape == (4, *shape)
    assert reward.shape == terminated.shape == truncated.shape == (4,)


def test_spaces_are_batched_and_single(open_hosted: OpenVec) -> None:
    """`test_multi_vec_env.py::test_observation_spaces_are_batched`,
    `::test_action_spaces_are_batched`, `::test_single_action_spaces_are_unbatched`."""
    vec = open_hosted("CartPole-v1", 4)
    assert vec.observation_space.shape == (4, 4)
    assert vec.single_observation_space.shape == (4,)
    assert vec.action_space == gym.spaces.MultiDiscrete([2, 2, 2, 2])
    assert vec.single_action_space.n == 2


def test_unknown_names_are_refused(open_hosted: OpenVec) -> None:
    """`test_make.py::test_unknown_name_raises`."""
    with pytest.raises(ValueError, match="DoesNotExist-v0") as raised:
        open_hosted("DoesNotExist-v0", 2)
    assert isinstance(raised.value, UnknownEnvError)


@pytest.mark.parametrize("count", [0, -1])
def test_an_empty_batch_is_refused(count: int, open_hosted: OpenVec) -> None:
    """`test_multi_vec_env.py::test_empty_raises`."""
    with pytest.raises(ValueError, match=f"num_envs must be at least 1, not {count}"):
        open_hosted("CartPole-v1", count)


@pytest.mark.parametrize("count", [2, 4])
def test_too_few_or_many_actions_are_refused(count: int, open_hosted: OpenVec) -> None:
    """`test_multi_vec_env.py::test_step_too_few_actions_raises`, `::..._too_many_states_raises`."""
    vec = open_hosted("CartPole-v1", 3)
    vec.reset(seed=0)
    with pytest.raises(ValueError, match=rf"actions have shape \[{count}\]; 3 envs take \[3\]"):
        vec.step([0] * count)
    states = vec.save_state()
    with pytest.raises(ValueError, match=f"{count} states for 3 envs"):
        vec.restore_state((states * 2)[:count])
    assert vec.step([0, 0, 0])[4]["episode_length"].tolist() == [1, 1, 1]


def test_envs_start_apart_and_again_alike(open_hosted: OpenVec) -> None:
    """`VecEnv.reset`: one key is split for all envs."""
    vec = open_hosted("CartPole-v1", 4)
    first, _ = vec.reset(seed=7)
    assert len(np.unique(first, axis=0)) == 4
    np.testing.assert_array_equal(vec.reset(seed=7)[0], first)
    assert not np.array_equal(vec.reset(seed=8)[0], first)


def test_a_step_is_a_function_of_state_and_actions(open_hosted: OpenVec) -> None:
    """`VecEnv.step(state, actions)`, auto-reset included: the same state, the same future."""
    vec = open_hosted("CartPole-v1", 3)
    vec.reset(seed=0)
    state = vec.save_state()
    futures = []
    for _ in range(2):
        vec.restore_state(state)
        futures.append([vec.step([1, 0, 1])[:4] for _ in range(30)])
    assert any(result[2].any() for result in futures[0])
    for mine, other in zip(*futures, strict=True):
        for left, right in zip(mine, other, strict=True):
            np.testing.assert_array_equal(left, right)


def test_one_env_of_the_batch_is_drawn(open_hosted: OpenVec) -> None:
    """`test_batched_env.py::test_render_slot_returns_rgb_frame`."""
    vec = open_hosted("peer_envs:Box-v0", 2)
    vec.reset()
    vec.step(vec.action_space.sample()[:1], env_id=[1])
    assert [int(vec.render_at(index).max()) for index in range(2)] == [0, 1]
    frame = vec.render_at(1)
    assert (frame.dtype, frame.shape) == (np.uint8, (4, 6, 3))


def test_the_state_of_one_env_moves_to_another_batch(open_hosted: OpenVec) -> None:
    """`test_batched_env.py::test_slot_state_removes_leading_dim`."""
    vec, other = (open_hosted("CartPole-v1", count) for count in (3, 2))
    vec.reset(seed=0)
    other.reset(seed=9)
    seen = vec.step([1, 0, 1])[0]
    [state] = vec.save_state(1)
    obs, _ = other.restore_state([state], indices=[0])
    np.testing.assert_array_equal(obs[0], seen[1])
    np.testing.assert_array_equal(other.step([0, 0])[0][0], vec.step([0, 0, 0])[0][1])
