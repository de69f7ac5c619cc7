"""What gymnasium's tests ask of its `SyncVectorEnv` and `AsyncVectorEnv`: stepping and restarting.

Gymnasium 1.4.0, `tests/vector/`. Each test names its source; the order of calls, time limits and
errors are in `test_gymnasium_async.py`. Gymnasium's own `SyncVectorEnv` is the oracle where it can
run the same env.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from backends import BACKENDS
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorWrapper
from peer_envs import SPACES

from atari_wrappers import ResetNeededError, UnsupportedError, VecEnv

OpenVec = Callable[..., VecEnv]
MODES = {
    "next-step": AutoresetMode.NEXT_STEP,
    "same-step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}
NOBODY = [False, False, False]


def counters(open_hosted: OpenVec, autoreset: str) -> VecEnv:
    """Return three counters that end with step 2, 3 and 3; they are reset."""
    vec = open_hosted("peer_envs:Counting-v0", 3, autoreset=autoreset)
    vec.set_attr("max_count", [2, 3, 3])
    assert vec.reset()[0].tolist() == [0, 0, 0]
    return vec


def step(vec: VecEnv) -> tuple[list, list, list, dict[str, Any]]:
    obs, reward, terminated, truncated, info = vec.step([1, 2, 3])
    assert truncated.tolist() == NOBODY
    return obs.tolist(), reward.tolist(), terminated.tolist(), info


def test_ended_envs_restart_with_the_next_step(open_hosted: OpenVec) -> None:
    """`test_autoreset_mode.py::test_autoreset_next_step`."""
    vec = counters(open_hosted, "next-step")
    expected = [
        ([1, 1, 1], [1, 2, 3], NOBODY),
        ([2, 2, 2], [1, 2, 3], [True, False, False]),
        ([0, 3, 3], [0, 2, 3], [False, True, True]),
        ([1, 0, 0], [1, 0, 0], NOBODY),
    ]
    for row in expected:
        *got, info = step(vec)
        assert tuple(got) == row
        assert "final_obs" not in info


def test_ended_envs_restart_within_the_step(open_hosted: OpenVec) -> None:
    """`test_autoreset_mode.py::test_autoreset_within_step`."""
    vec = counters(open_hosted, "same-step")
    expected = [
        ([1, 1, 1], NOBODY, {}),
        ([0, 2, 2], [True, False, False], {0: 2}),
        ([1, 0, 0], [False, True, True], {1: 3, 2: 3}),
        ([0, 1, 1], [True, False, False], {0: 2}),
    ]
    for obs, ends, last in expected:
        *got, info = step(vec)
        assert got == [obs, [1, 2, 3], ends]
        assert ("final_obs" in info, "_final_info" in info) == (bool(last), bool(last))
        if last:
            assert info["_final_obs"].tolist() == info["_final_info"].tolist() == ends
            assert {row: int(info["final_obs"][row]) for row in last} == last
            assert {row: int(info["final_info"]["episode_length"][row]) for row in last} == last


@pytest.mark.parametrize("as_option", [True, False])
def test_ended_envs_wait_for_a_masked_reset(as_option: bool, open_hosted: OpenVec) -> None:
    """`test_autoreset_mode.py::test_autoreset_disabled`."""
    vec = counters(open_hosted, "disabled")

    def reset(mask: list[bool]) -> list[int]:
        mask = np.array(mask)
        return vec.reset(**({"options": {"reset_mask": mask}} if as_option else {"mask": mask}))[
            0
        ].tolist()

    assert step(vec)[:3] == ([1, 1, 1], [1, 2, 3], NOBODY)
    *_, ended, _ = step(vec)
    assert ended == [True, False, False]
    with pytest.raises(ResetNeededError, match=r"envs \[0\] need a reset"):
        step(vec)
    assert reset(ended) == [0, 2, 2]
    assert step(vec)[:3] == ([1, 3, 3], [1, 2, 3], [False, True, True])
    assert reset([False, True, True]) == [1, 0, 0]
    assert step(vec)[:3] == ([2, 1, 1], [1, 2, 3], [True, False, False])


@pytest.mark.parametrize("autoreset", MODES)
def test_metadata_names_the_mode_and_leaves_the_envs_alone(
    autoreset: str, open_vec: OpenVec
) -> None:
    """`test_autoreset_mode.py::test_autoreset_metadata`,
    `test_async_vector_env.py::test_metadata_async_vector_env`."""
    for given in (autoreset, MODES[autoreset], MODES[autoreset].value):
        vec = open_vec("CartPole-v1", 2, backend="sync", autoreset=given)
        own = vec.get_attr("metadata")[0]
        assert vec.metadata == own | {"autoreset_mode": MODES[autoreset]}
        assert vec.autoreset_mode is MODES[autoreset]  # TorchRL's `GymWrapper` reads it there
        assert "autoreset_mode" not in own
        assert vec.metadata["render_fps"] == 50


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_can_be_shown_to_a_human(
    backend: str, open_vec: OpenVec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tests/wrappers/vector/test_human_rendering.py`; a step of four frames is one picture."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pytest.importorskip("pygame")
    vec = open_vec("PongNoFrameskip-v4", 2, backend=backend)
    assert (vec.metadata["render_fps"], vec.render_mode) == (15, "rgb_array")
    shown = gym.wrappers.vector.HumanRendering(vec)
    shown.reset(seed=0)
    shown.step([0, 0])
    shown.close()


def assert_same_step(mine: tuple, other: tuple) -> None:
    for left, right in zip(mine[:4], other[:4], strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(mine[4].get("_final_obs"), other[4].get("_final_obs"))
    for row in np.flatnonzero(mine[4].get("_final_obs", [])):
        np.testing.assert_array_equal(mine[4]["final_obs"][row], other[4]["final_obs"][row])


@pytest.mark.parametrize("autoreset", MODES)
def test_envs_play_as_gymnasiums_own(autoreset: str, open_hosted: OpenVec) -> None:
    """`test_vector_env.py::test_vector_env_equal`, against gymnasium's `SyncVectorEnv`."""
    vec = open_hosted("CartPole-v1", 4, autoreset=autoreset)
    oracle = gym.make_vec(
        "CartPole-v1", 4, "sync", vector_kwargs={"autoreset_mode": MODES[autoreset]}
    )
    for name in ("observation_space", "single_observation_space", "single_action_space"):
        assert getattr(vec, name) == getattr(oracle, name)
    for space in (vec.action_space, oracle.action_space):
        space.seed(3)
    for seed in (7, [5, 4, 3, 2], None):
        np.testing.assert_array_equal(vec.reset(seed=seed)[0], oracle.reset(seed=seed)[0])
        ends = 0
        for _ in range(60):
            actions = vec.action_space.sample()
            np.testing.assert_array_equal(actions, oracle.action_space.sample())
            mine, other = vec.step(actions), oracle.step(actions)
            assert_same_step(mine, other)
            ended = mine[2] | mine[3]
            ends += int(ended.sum())
            if autoreset == "disabled" and ended.any():
                obs, _ = vec.reset(mask=ended)
                np.testing.assert_array_equal(
                    obs, oracle.reset(options={"reset_mask": ended.copy()})[0]
                )
        assert ends >= 4
    oracle.close()


@pytest.mark.parametrize("name", SPACES)
def test_spaces_that_are_arrays_are_batched(name: str, open_hosted: OpenVec) -> None:
    """`test_vector_env.py::test_vector_obs_action_spaces`,
    `test_async_vector_env.py::test_float16_async_vector_env_shared_memory`."""
    vec = open_hosted(f"peer_envs:{name}-v0", 3)
    assert vec.single_observation_space == SPACES[name]
    assert vec.observation_space == gym.vector.utils.batch_space(SPACES[name], 3)
    assert vec.action_space == vec.observation_space
    obs, _ = vec.reset(seed=0)
    assert obs in vec.observation_space
    vec.action_space.seed(0)
    for _ in range(9):
        obs, reward, terminated, truncated, info = vec.step(vec.action_space.sample())
        assert obs in vec.observation_space
        described = [(array.dtype, array.shape) for array in (reward, terminated, truncated)]
        assert described == [(np.float32, (3,)), (bool, (3,)), (bool, (3,))]
        for row in np.flatnonzero(info.get("_final_obs", [])):
            assert info["final_obs"][row] in vec.single_observation_space


def test_a_space_that_is_no_array_is_refused(open_hosted: OpenVec) -> None:
    """`test_async_vector_env.py::test_custom_space_async_vector_env_shared_memory`."""
    with pytest.raises(UnsupportedError, match="Text") as raised:
        open_hosted("peer_envs:Text-v0", 2)
    assert isinstance(raised.value, ValueError)


def test_infos_are_gathered_with_masks(open_hosted: OpenVec) -> None:
    """`test_vector_env.py::test_final_obs_info`,
    `test_vector_env_info.py::test_vector_env_info_concurrent_termination`."""
    vec = open_hosted("peer_envs:Talking-v0", 3)
    vec.set_attr("max_count", [2, 2, 5])
    _, info = vec.reset()
    assert (info["was_reset"].tolist(), info["_was_reset"].tolist()) == ([True] * 3, [True] * 3)
    assert "action" not in info
    _, _, _, _, info = vec.step([0, 1, 2])
    assert (info["action"].tolist(), info["_action"].tolist()) == ([0, 1, 2], [True] * 3)
    assert "was_reset" not in info
    _, _, terminated, _, info = vec.step([3, 2, 1])
    ended = [True, True, False]
    assert terminated.tolist() == info["_final_info"].tolist() == ended
    assert info["_was_reset"].tolist() == ended
    assert info["_action"].tolist() == [False, False, True]
    assert info["action"][2] == 1
    assert info["final_info"]["_action"].tolist() == ended
    assert info["final_info"]["action"][:2].tolist() == [3, 2]


def test_seeds_are_those_given_until_others_are(open_hosted: OpenVec) -> None:
    """`test_vector_env.py::test_random_seeding_basics`."""
    vec = open_hosted("CartPole-v1", 4)
    for seed, seeds in ((42, (42, 43, 44, 45)), (None, (42, 43, 44, 45)), ([9, 1, 5, 3],) * 2):
        vec.reset(seed=seed)
        assert vec.get_attr("np_random_seed") == tuple(seeds) == vec.np_random_seed
    first = vec.np_random
    vec.reset(seed=seed)
    assert [one.random() for one in first] == [one.random() for one in vec.np_random]


@pytest.mark.parametrize("backend", ["ale", "native", "sync"])
def test_the_batch_knows_its_seeds(backend: str, open_vec: OpenVec) -> None:
    """`test_vector_env.py`: `np_random_seed` is of the last reset that had a seed."""
    vec = open_vec("PongNoFrameskip-v4", 3, backend=backend)
    assert vec.np_random_seed == (-1, -1, -1)
    vec.reset(seed=[7, None, 9])
    assert vec.np_random_seed == (7, -1, 9)
    vec.reset(mask=[True, False, False], seed=[1, 2, 3])
    vec.reset()
    assert vec.np_random_seed == (1, -1, 9)


def test_a_masked_reset_seeds_and_restarts_those_envs_only(open_hosted: OpenVec) -> None:
    """`test_vector_env.py::test_partial_reset`."""
    vec = open_hosted("CartPole-v1", 3, autoreset="disabled")
    first, _ = vec.reset(seed=[0, 1, 2])
    for actions in ([0, 1, 0], [1, 1, 0], [0, 0, 1]):
        obs = vec.step(actions)[0]
    mixed, info = vec.reset(seed=[0, 1, 0], mask=np.array([True, True, False]))
    np.testing.assert_array_equal(mixed[:2], first[:2])
    np.testing.assert_array_equal(mixed[2], obs[2])
    assert info["episode_length"].tolist() == [0, 0, 3]


def test_masks_that_do_not_fit_are_refused(open_hosted: OpenVec) -> None:
    """`test_vector_env.py::test_partial_reset_failure`."""
    vec = open_hosted("CartPole-v1", 3, autoreset="disabled")
    with pytest.raises(ResetNeededError, match="the first reset must be of all envs"):
        vec.reset(options={"reset_mask": np.array([True, True, False])})
    vec.reset(options={"reset_mask": np.array([True, True, True])})
    for mask in (
        [True],
        [True, True, False, False],
        [[True, True, True]],
        [False, False, False],
    ):
        with pytest.raises(ValueError, match=r"a reset mask must be bool \[3\]"):
            vec.reset(options={"reset_mask": np.array(mask)})
    for mask in ([1, 1, 0], [1.0, 1.0, 0.0]):
        with pytest.raises(TypeError, match=r"a reset mask must be bool \[3\]"):
            vec.reset(options={"reset_mask": np.array(mask)})
    assert vec.step([0, 0, 0])[4]["episode_length"].tolist() == [1, 1, 1]


def test_sampled_actions_repeat_with_their_seed(open_vec: OpenVec) -> None:
    """`test_sync_vector_env.py::test_sync_vector_determinism`, `::test_sync_vector_env_seed`."""
    vec, twin = (open_vec("Pendulum-v1", 3, backend="sync") for _ in range(2))
    for env in (vec, twin):
        env.action_space.seed(123)
    samples = [vec.action_space.sample() for _ in range(20)]
    np.testing.assert_array_equal(samples, [twin.action_space.sample() for _ in range(20)])
    assert len(np.unique(samples)) > 50


def test_attributes_and_methods_of_the_envs(open_hosted: OpenVec) -> None:
    """`test_sync_vector_env.py::test_call_sync_vector_env`, `::test_set_attr_sync_vector_env`,
    `::test_render_sync_vector`, and their twins in `test_async_vector_env.py`."""
    vec = open_hosted("CartPole-v1", 4)
    vec.reset(seed=0)
    assert vec.call("gravity") == vec.get_attr("gravity") == (9.8,) * 4
    vec.set_attr("gravity", [9.81, 3.72, 8.87, 1.62])
    assert vec.get_attr("gravity") == (9.81, 3.72, 8.87, 1.62)
    vec.set_attr("note", list("abcd"))
    assert vec.get_attr("note") == tuple("abcd")
    assert [env.note for env in vec.get_attr("unwrapped")] == list("abcd"), "not of our wrappers"
    frames = vec.render()
    assert vec.render_mode == "rgb_array"
    assert isinstance(frames, tuple)
    oracle = gym.make_vec("CartPole-v1", 4, "sync", render_mode="rgb_array")
    oracle.reset(seed=0)
    for mine, called, other in zip(frames, vec.call("render"), oracle.render(), strict=True):
        np.testing.assert_array_equal(mine, other)
        np.testing.assert_array_equal(called, other)
    oracle.close()


def test_vector_wrappers_fit_around_it(open_hosted: OpenVec) -> None:
    """`test_vector_wrapper.py`: gymnasium's wrappers see what they expect."""
    inner = open_hosted("CartPole-v1", 3, autoreset="next-step")
    count = partial(gym.wrappers.vector.RecordEpisodeStatistics, stats_key="counted")
    oracle = count(gym.make_vec("CartPole-v1", 3, "sync"))
    vec = count(VectorWrapper(inner))
    assert vec.unwrapped is inner
    vec.reset(seed=1)
    oracle.reset(seed=1)
    ends = 0
    for _ in range(40):
        mine, other = vec.step([1, 0, 1])[4], oracle.step([1, 0, 1])[4]
        np.testing.assert_array_equal(mine.get("_counted"), other.get("_counted"))
        for row in np.flatnonzero(mine.get("_counted", [])):
            for name in ("r", "l"):
                assert mine["counted"][name][row] == other["counted"][name][row]
                assert mine["counted"][name][row] == mine["episode"][name][row]
            ends += 1
    assert ends > 2
    oracle.close()
    assert isinstance(oracle.unwrapped, SyncVectorEnv)
