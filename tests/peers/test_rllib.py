"""What RLlib asks of its `VectorEnv` and tests of the env runners above it.

Ray 2.60.0. The interface is `rllib/env/vector_env.py`; its tests are
`rllib/tests/test_vector_env.py` and, for failing envs, those of the env runners,
`rllib/env/tests/test_env_runner_failures.py`. Its `VectorEnv.vectorize_gym_envs` is the oracle: it
restarts no env by itself, as `autoreset="disabled"`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from peer_envs import FATAL_ACTION

from atari_wrappers import VecEnv, WorkerError

OpenVec = Callable[..., VecEnv]
COUNTING = "peer_envs:Counting-v0"


@pytest.fixture
def oracle() -> Any:
    """RLlib's batch of three poles."""
    pytest.importorskip("ray.rllib", reason="ray is optional")
    from ray.rllib.env.vector_env import VectorEnv

    return VectorEnv.vectorize_gym_envs(
        make_env=lambda _: gym.make("CartPole-v1", render_mode="rgb_array"), num_envs=3
    )


def test_envs_play_as_rllibs_own(oracle: Any, open_hosted: OpenVec) -> None:
    """`vector_reset` with a list of seeds, `vector_step`, and `reset_at` of what ended."""
    vec = open_hosted("CartPole-v1", 3, autoreset="disabled")
    obs, _ = vec.reset(seed=[5, 3, 4])
    np.testing.assert_array_equal(obs, oracle.vector_reset(seeds=[5, 3, 4])[0])
    rng = np.random.default_rng(0)
    ends = 0
    for step in range(80):
        actions = rng.integers(2, size=3)
        mine, theirs = vec.step(actions), oracle.vector_step(actions.tolist())
        for left, right in zip(mine[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(left, right)
        for index in np.flatnonzero(mine[2] | mine[3]).tolist():
            seed = step if ends % 2 else None
            row, info = vec.reset_at(index, seed=seed)
            np.testing.assert_array_equal(row, oracle.reset_at(index, seed=seed)[0])
            assert info["episode_length"] == 0
            ends += 1
    assert ends > 4


def test_one_env_is_reset_with_its_own_seed_and_options(open_hosted: OpenVec) -> None:
    """`VectorEnv.reset_at`."""
    vec = open_hosted(COUNTING, 3)
    vec.set_attr("max_count", 1000)
    vec.reset(options={"start": 10})
    assert vec.step([0, 0, 0])[0].tolist() == [11, 11, 11]
    row, _ = vec.reset_at(1, seed=8, options={"start": 70})
    assert int(row) == 70
    assert vec.get_attr("np_random_seed", indices=1) == (8,)
    assert vec.step([0, 0, 0])[0].tolist() == [12, 71, 12]


def test_an_env_is_drawn_alone(oracle: Any, open_hosted: OpenVec) -> None:
    """`VectorEnv.try_render_at`."""
    vec = open_hosted("CartPole-v1", 3)
    vec.reset(seed=0)
    oracle.vector_reset(seeds=[0, 1, 2])
    for index in range(3):
        np.testing.assert_array_equal(vec.render_at(index), oracle.try_render_at(index))


def test_sub_environments_are_those_that_step(open_hosted: OpenVec) -> None:
    """`VectorEnv.get_sub_environments`."""
    vec = open_hosted(COUNTING, 3)
    vec.reset()
    vec.step([0, 0], env_id=[0, 2])
    envs = vec.get_sub_environments()
    assert [int(env.get_wrapper_attr("count")) for env in envs] == [1, 0, 1]


def test_an_info_may_be_any_kind_of_dictionary(open_hosted: OpenVec) -> None:
    """`test_vector_env.py::test_vector_step`."""
    vec = open_hosted("peer_envs:Talking-v0", 3)
    vec.reset()
    assert vec.step([2, 0, 1])[4]["action"].tolist() == [2, 0, 1]


def test_a_failed_env_is_made_anew_beside_the_others(open_hosted: OpenVec) -> None:
    """`VectorEnv.restart_at`,
    `test_env_runner_failures.py::test_env_crash_during_sampling_but_restart_crashed_sub_envs`."""
    vec = open_hosted(COUNTING, 3, on_worker_failure="restart")
    vec.set_attr("max_count", 1000)
    vec.reset()
    vec.set_attr("tag", "old")
    assert vec.step([1, 1, 1])[0].tolist() == [1, 1, 1]
    obs, reward, terminated, truncated, info = vec.step([1, FATAL_ACTION, 1])
    assert obs.tolist() == [2, 0, 2]
    assert reward.tolist() == [1, 0, 1]
    assert not terminated.any()
    assert truncated.tolist() == info["worker_restarted"].tolist() == [False, True, False]
    assert info["final_obs"][1] == 1
    assert vec.get_attr("tag", indices=[0]) == ("old",)
    obs, _, _, truncated, info = vec.step([1, 1, 1])
    assert (obs.tolist(), truncated.any()) == ([3, 1, 3], False)
    assert "worker_restarted" not in info


def test_a_failed_env_stops_the_step_unless_restarts_are_asked_for(open_hosted: OpenVec) -> None:
    """`test_env_runner_failures.py::test_fatal_single_agent`."""
    vec = open_hosted(COUNTING, 3)
    vec.reset()
    with pytest.raises(WorkerError, match="action 4 is not for me") as told:
        vec.step([1, FATAL_ACTION, 1])
    assert told.value.env_indices == [1]
    assert vec.restart_workers([1]) == [1]
    assert vec.recv()[0].tolist() == [1, 0, 1]


def test_env_runs_on_after_many_failures(open_hosted: OpenVec) -> None:
    """`test_env_runner_failures.py`: recovery "should also work several times"."""
    vec = open_hosted(COUNTING, 2, on_worker_failure="restart")
    vec.reset(seed=0)
    for turn in range(6):
        failing = turn % 2
        actions = [1, 1]
        actions[failing] = FATAL_ACTION
        truncated = vec.step(actions)[3]
        assert truncated[failing]
        assert not vec.step([1, 1])[3].any()
