"""What UniEnv's `SyncVecEnv` and `AsyncVecEnv` promise.

UniEnv at commit 80b38b1, `unienv_interface/env_base/vec_env.py`; it publishes no tests of them, so
each test names what it takes from the code. Its envs are not gymnasium's, so there is no oracle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from peer_envs import FATAL_ACTION

from atari_wrappers import VecEnv, WorkerError

OpenVec = Callable[..., VecEnv]
COUNTING = "peer_envs:Counting-v0"


def test_each_call_is_its_two_halves(open_hosted: OpenVec) -> None:
    """`AsyncVecEnv.reset` is `reset_async` and `reset_wait`, `step` likewise."""
    vec, twin = (open_hosted("CartPole-v1", 2) for _ in range(2))
    mask = np.array([False, True])
    for turn in range(3):
        vec.reset_async(seed=turn)
        np.testing.assert_array_equal(vec.reset_wait()[0], twin.reset(seed=turn)[0])
        for step in range(5):
            vec.step_async([0, step % 2])
            mine, other = vec.step_wait(), twin.step([0, step % 2])
            for left, right in zip(mine[:4], other[:4], strict=True):
                np.testing.assert_array_equal(left, right)
        vec.reset_async(mask=mask, seed=[None, turn])
        np.testing.assert_array_equal(
            vec.reset_wait()[0], twin.reset(mask=mask, seed=[None, turn])[0]
        )


def test_a_masked_reset_returns_whole_batches(open_hosted: OpenVec) -> None:
    """`reset(mask=...)` with `Env.update_observation_post_reset`, which merges what it returns."""
    vec = open_hosted(COUNTING, 3)
    vec.reset()
    vec.step([0, 0, 0])
    obs, info = vec.reset(mask=np.array([False, True, False]), options={"start": 50})
    assert obs.tolist() == [1, 50, 1]
    assert info["env_id"].tolist() == [0, 1, 2]
    assert info["episode_length"].tolist() == [1, 0, 1]


def test_every_env_is_drawn(open_hosted: OpenVec) -> None:
    """`SyncVecEnv.render` collects a frame from every env; `AsyncVecEnv` has none."""
    vec = open_hosted("peer_envs:Box-v0", 2)
    vec.reset()
    vec.step(vec.action_space.sample())
    assert [(frame.shape, int(frame.min())) for frame in vec.render()] == [((4, 6, 3), 1)] * 2


def test_an_error_names_its_worker(open_hosted: OpenVec) -> None:
    """`AsyncVecEnv._raise_if_error`."""
    vec = open_hosted(COUNTING, 3)
    vec.reset()
    with pytest.raises(WorkerError, match="env 2 ") as told:
        vec.step([0, 0, FATAL_ACTION])
    assert told.value.env_indices == [2]


def test_a_batch_of_one_is_a_batch(open_hosted: OpenVec) -> None:
    """`SyncVecEnv` wants more than one env; ours takes one."""
    vec = open_hosted(COUNTING, 1)
    assert vec.reset()[0].tolist() == [0]
    assert vec.step([3])[1].tolist() == [3]


def test_closing_ends_every_env(open_vec: OpenVec) -> None:
    """`SyncVecEnv.close`."""
    vec = open_vec("peer_envs:Counting-v0", 3, backend="sync")
    closed = []
    for index, env in enumerate(vec.get_sub_environments()):
        env.unwrapped.close = lambda index=index: closed.append(index)
    vec.close()
    assert closed == [0, 1, 2]
