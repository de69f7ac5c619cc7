"""Calls split in two, and batches smaller than the number of envs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from backends import BACKENDS, HOSTED, PARTS, TWIN

from atari_wrappers import NoPendingStepError, PendingStepError, VecEnv, make_vec

GAME = "BreakoutNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]


@pytest.mark.parametrize("backend", BACKENDS)
def test_async_and_wait_are_the_whole_calls_in_two(backend: str, open_vec: OpenVec) -> None:
    vec, twin = (open_vec(GAME, 2, backend=name) for name in (backend, TWIN))
    vec.reset_async(seed=3)
    with pytest.raises(PendingStepError, match="a reset is pending; call reset_wait first"):
        vec.step([0, 0])
    with pytest.raises(NoPendingStepError, match="call reset_wait"):
        vec.step_wait()
    np.testing.assert_array_equal(vec.reset_wait()[0], twin.reset(seed=3)[0])
    with pytest.raises(NoPendingStepError, match="no reset is pending"):
        vec.reset_wait()
    for step in range(20):
        actions = np.array([1, step % 4])
        vec.step_async(actions)
        actions[:] = 0  # the caller's array is the caller's again
        with pytest.raises(PendingStepError, match="a step is pending; call recv first"):
            vec.reset_async()
        with pytest.raises(NoPendingStepError, match="no reset is pending"):
            vec.reset_wait()
        mine, other = vec.step_wait(), twin.step([1, step % 4])
        for left, right in zip(mine[:4], other[:4], strict=True):
            np.testing.assert_array_equal(left, right)
    some = {"mask": [False, True], "seed": [None, 5]}
    vec.reset_async(**some)
    np.testing.assert_array_equal(vec.reset_wait()[0], twin.reset(**some)[0])


@pytest.mark.parametrize(
    ("backend", "batch_size"), [*((name, 0) for name in BACKENDS), *((name, 2) for name in PARTS)]
)
def test_a_reset_of_some_envs_that_is_dropped_fills_its_buffer(
    backend: str, batch_size: int, open_vec: OpenVec
) -> None:
    vec, twin = open_vec(GAME, 3, backend=backend, batch_size=batch_size), open_vec(GAME, 3)
    for env in (vec, twin):
        env.reset(seed=0)
    out = np.zeros(vec.observation_space.shape, np.uint8)
    some = {"mask": np.array([False, True, True]), "seed": [None, 5, 6]}
    vec.reset_async(**some, out=out)
    vec.drop_pending()
    np.testing.assert_array_equal(out, twin.reset(**some)[0])
    assert (vec.pending, vec.num_in_flight) == (None, 0)
    np.testing.assert_array_equal(vec.reset(seed=1)[0], twin.reset(seed=1)[0])


NUM_ENVS, STEPS = 5, 60


@cache
def played_in_step(autoreset: str) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Return actions, and what the reset and the steps with them brought."""
    actions = np.random.default_rng(0).integers(4, size=(STEPS, NUM_ENVS))
    with make_vec(GAME, NUM_ENVS, backend="sync", autoreset=autoreset) as twin:
        first = twin.reset(seed=0)[0]
        return actions, first, [twin.step(row) for row in actions]


@pytest.mark.parametrize("backend", PARTS)
@pytest.mark.parametrize("autoreset", ["next-step", "same-step"])
def test_each_env_plays_the_same_game_in_batches_as_in_step(
    backend: str, autoreset: str, open_vec: OpenVec
) -> None:
    actions, first, expected = played_in_step(autoreset)
    workers = 2 if backend == "async" else 0
    vec = open_vec(
        GAME, NUM_ENVS, backend=backend, autoreset=autoreset, batch_size=2, num_workers=workers
    )
    np.testing.assert_array_equal(vec.reset(seed=0)[0], first)
    assert vec.turn is None, "all are next"
    taken, ends = np.zeros(NUM_ENVS, int), 0
    vec.send(actions[0])
    while taken.min() < STEPS - 1 and taken.max() < STEPS - 1:
        obs, reward, terminated, _, info = vec.recv()
        ids = info["env_id"]
        assert vec.turn == ids.tolist()
        assert obs.shape == (2, 4, 84, 84)
        assert len(set(ids.tolist())) == 2
        for row, env in enumerate(ids):
            whole = expected[taken[env]]
            np.testing.assert_array_equal(obs[row], whole[0][env])
            assert reward[row] == whole[1][env]
            assert terminated[row] == whole[2][env]
            assert info["lives"][row] == whole[4]["lives"][env]
            assert info["episode_frames"][row] == whole[4]["episode_frames"][env]
            ended = bool(whole[4].get("_final_obs", np.zeros(NUM_ENVS, bool))[env])
            assert bool(info.get("_final_obs", np.zeros(2, bool))[row]) == ended
            if ended:
                last = whole[4]["final_obs"][env], whole[4]["final_info"]["lives"][env]
                np.testing.assert_array_equal(info["final_obs"][row], last[0])
                assert info["final_info"]["lives"][row] == last[1]
                ends += 1
        taken[ids] += 1
        vec.send(actions[taken[ids], ids])  # for those received last
    assert taken.max() == STEPS - 1
    assert (ends > 0) == (autoreset == "same-step")


@pytest.mark.parametrize("backend", PARTS)
def test_a_reset_may_be_taken_in_batches(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 4, backend=backend, batch_size=2)
    first = open_vec(GAME, 4, backend="sync").reset(seed=0)[0]
    vec.reset_async(seed=0)
    seen = set()
    for _ in range(2):
        obs, _, _, _, info = vec.recv()
        np.testing.assert_array_equal(obs, first[info["env_id"]])
        seen |= set(info["env_id"].tolist())
    assert seen == {0, 1, 2, 3}


@pytest.mark.parametrize("backend", PARTS)
def test_batches_out_of_order_are_refused(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 4, backend=backend, batch_size=2)
    vec.reset(seed=0)
    with pytest.raises(NoPendingStepError, match="nothing was sent"):
        vec.recv()
    with pytest.raises(NoPendingStepError, match="1 envs are in flight, a batch takes 2"):
        vec.step([0], [3])
    assert vec.num_in_flight == 0
    vec.send([0], env_id=[3])
    with pytest.raises(NoPendingStepError, match="1 envs are in flight, a batch takes 2"):
        vec.recv()
    with pytest.raises(PendingStepError, match=r"envs \[3\] are in flight"):
        vec.send([0, 0], env_id=[2, 3])
    for ids in ([4], [-1], [], [1, 1]):
        with pytest.raises(ValueError, match="env_id"):
            vec.send([0] * len(ids), env_id=ids)
    with pytest.raises(ValueError, match=r"actions have shape \[1\]; 2 envs take \[2\]"):
        vec.send([0], env_id=[0, 1])
    with pytest.raises(ValueError, match="action 9 of env 2"):
        vec.send([0, 9], env_id=[0, 2])
    vec.send([0], env_id=1)
    assert sorted(vec.recv()[4]["env_id"].tolist()) == [1, 3]
    vec.send([0, 0])
    with pytest.raises(PendingStepError):
        vec.reset()
    vec.recv()
    vec.reset(seed=0)


@pytest.mark.parametrize("backend", PARTS)
def test_some_envs_may_step_without_the_others(backend: str, open_vec: OpenVec) -> None:
    vec, twin = (open_vec(GAME, 3, backend=name) for name in (backend, TWIN))
    vec.reset(seed=0)
    twin.reset(seed=0)
    obs, reward, _, _, info = vec.step([1, 2], env_id=[2, 0])
    assert (obs.shape, reward.shape) == ((2, 4, 84, 84), (2,))
    assert info["env_id"].tolist() == [2, 0]
    whole = twin.step([2, 0, 1])[0]
    np.testing.assert_array_equal(obs, whole[[2, 0]])
    assert vec.step([0, 0, 0], env_id=range(3))[4]["episode_length"].tolist() == [2, 1, 2]
    vec.step([0], env_id=[1])
    assert vec.step([0, 0, 0])[4]["episode_length"].tolist() == [3, 3, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_of_all_envs_are_in_their_order(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 3, backend=backend, obs_buffers=2)
    twin = open_vec(GAME, 3, backend=TWIN)
    vec.reset(seed=0)
    twin.reset(seed=0)
    for _ in range(3):
        mine, other = vec.step([1, 2, 3], env_id=[2, 0, 1]), twin.step([2, 3, 1])
        assert mine[4]["env_id"].tolist() == [0, 1, 2]
        for left, right in zip(mine[:4], other[:4], strict=True):
            np.testing.assert_array_equal(left, right)
    # So the next step without `env_id` is for the rows as they came.
    np.testing.assert_array_equal(vec.step([3, 1, 2])[0], twin.step([3, 1, 2])[0])


@pytest.mark.parametrize("backend", PARTS)
def test_batches_of_a_ring_are_lent_in_turn(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 4, backend=backend, batch_size=2, obs_buffers=2)
    vec.reset(seed=0)
    vec.send([0, 0, 0, 0])
    lent = []
    for _ in range(4):
        lent.append(vec.recv()[0])
        vec.send([0, 0])
    assert lent[0] is lent[2]
    assert lent[1] is lent[3]
    assert not np.shares_memory(lent[0], lent[1])


@pytest.mark.parametrize("backend", PARTS)
def test_the_way_out_of_less_than_a_batch_is_named(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 3, backend=backend, batch_size=2)
    vec.reset(seed=0)
    received = vec.step([0, 0, 0])[4]["env_id"]
    with pytest.raises(PendingStepError, match="call send for 1 more envs, then recv first"):
        vec.reset()
    with pytest.raises(NoPendingStepError, match="send for others first, named by env_id"):
        vec.recv()
    vec.send([0], env_id=received[:1])  # whichever came first: the third is still in flight
    vec.recv()
    vec.reset()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("timeout", "error"), [("1", TypeError), (float("nan"), ValueError), (-1, ValueError)]
)
def test_bad_timeouts_close_nothing(
    backend: str, timeout: object, error: type[Exception], open_vec: OpenVec
) -> None:
    vec = open_vec(GAME, 1, backend=backend)
    vec.reset_async()
    with pytest.raises(error, match="timeout must be"):
        vec.reset_wait(timeout)
    vec.reset_wait()
    vec.send([0])
    with pytest.raises(error, match="timeout must be"):
        vec.recv(timeout=timeout)
    vec.recv(timeout=60)


@pytest.mark.parametrize("backend", HOSTED)
def test_a_sample_for_all_envs_steps_those_received_last(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Strict-v0", 4, backend=backend, batch_size=2)
    vec.reset()
    vec.send(vec.action_space.sample())
    vec.recv()
    with pytest.raises(ValueError, match=r"shape \[\]; 2 envs take \[2\]"):
        vec.send(1)
    for _ in range(6):
        ids = vec.recv()[4]["env_id"]
        with pytest.raises(ValueError, match=r"shape \[4\]; 2 envs take \[2\]"):
            vec.send(vec.action_space.sample(), env_id=ids)
        with pytest.raises(ValueError, match=r"shape \[\]; 2 envs take \[2\]"):
            vec.send(1)
        actions = vec.action_space.sample()
        vec.send(actions)
        obs, _, _, _, info = vec.recv()
        assert sorted(info["env_id"]) == sorted(ids)  # workers come in any order
        assert obs.tolist() == actions[info["env_id"]].tolist()
        vec.send(actions)
