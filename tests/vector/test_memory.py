"""Where observations are written to, and how long they may be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backends import BACKENDS, HOSTED, PARTS, TWIN

from atari_wrappers import NoPendingStepError, PendingStepError, VecEnv

GAME = "SpaceInvadersNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]


def play(vec: VecEnv, steps: int, **kwargs: Any) -> list[np.ndarray]:
    """Return the observations of some steps, as they were when they came."""
    rng = np.random.default_rng(0)
    return [vec.step(rng.integers(6, size=vec.num_envs), **kwargs)[0].copy() for _ in range(steps)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_callers_own_buffer_is_filled_and_returned(backend: str, open_vec: OpenVec) -> None:
    vec, twin = (open_vec(GAME, 2, backend=name) for name in (backend, TWIN))
    rollout = np.zeros((4, *vec.observation_space.shape), np.uint8)
    obs, _ = vec.reset(seed=0, out=rollout[0])
    assert np.shares_memory(obs, rollout)
    first = twin.reset(seed=0)[0]
    np.testing.assert_array_equal(rollout[0], first)
    for step in range(1, 4):
        result = vec.step([step, 1], out=rollout[step])
        assert np.shares_memory(result[0], rollout[step])
        np.testing.assert_array_equal(rollout[step], twin.step([step, 1])[0])
    np.testing.assert_array_equal(rollout[0], first, "the earlier slots are left alone")


@pytest.mark.parametrize("backend", BACKENDS)
def test_buffers_that_do_not_fit_are_refused_before_anything_moves(
    backend: str, open_vec: OpenVec
) -> None:
    vec, twin = (open_vec(GAME, 2, backend=name) for name in (backend, TWIN))
    vec.reset(seed=0)
    twin.reset(seed=0)
    good = np.zeros(vec.observation_space.shape, np.uint8)
    read_only = good.copy()
    read_only.flags.writeable = False
    bad = [good[:1], good.astype(np.float32), good[..., ::-1], read_only]
    vec.send([1, 2])
    for buffer in bad:
        with pytest.raises(ValueError, match=r"out must be uint8 \[2, 4, 84, 84\], writable"):
            vec.recv(out=buffer)
    with pytest.raises(TypeError, match="out must be an array or a tensor, not list"):
        vec.recv(out=good.tolist())
    np.testing.assert_array_equal(vec.recv(out=good)[0], twin.step([1, 2])[0])
    with pytest.raises(ValueError, match="out must be"):
        vec.reset(out=bad[0])
    vec.step([0, 0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("buffers", [2, 3])
def test_a_ring_lends_each_buffer_until_the_call_that_comes_round(
    backend: str, buffers: int, open_vec: OpenVec
) -> None:
    vec = open_vec(GAME, 2, backend=backend, obs_buffers=buffers)
    twin = open_vec(GAME, 2, backend=TWIN)
    expected = [twin.reset(seed=0)[0], *play(twin, 20)]
    rng = np.random.default_rng(0)
    lent = [vec.reset(seed=0)[0]]
    for step in range(1, 21):
        lent.append(vec.step(rng.integers(6, size=2))[0])
        # Readable: the last `buffers` ones, this call's included.
        for age in range(min(buffers, step + 1)):
            np.testing.assert_array_equal(lent[step - age], expected[step - age])
    addresses = [array.ctypes.data for array in lent]
    assert len(set(addresses)) == buffers
    assert addresses[0] == addresses[buffers]


@pytest.mark.parametrize("backend", BACKENDS)
def test_lent_arrays_outlive_the_batch(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend, obs_buffers=2)
    vec.reset(seed=0)
    obs = vec.step([0, 0])[0]
    kept = obs.copy()
    vec.close()
    del vec
    np.testing.assert_array_equal(obs, kept)


@pytest.mark.parametrize("backend", PARTS)
def test_a_ring_keeps_the_rows_of_a_partial_reset(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 3, backend=backend, obs_buffers=2)
    vec.reset(seed=0)
    before = vec.step([0, 0, 0])[0].copy()
    obs, _ = vec.reset_at(1, seed=5)
    assert not np.array_equal(obs, before[1])
    whole, _ = vec.reset(mask=np.array([False, True, False]), seed=[None, 5, None])
    np.testing.assert_array_equal(whole[[0, 2]], before[[0, 2]])
    np.testing.assert_array_equal(whole[1], obs)


@pytest.mark.parametrize("backend", PARTS)
def test_what_is_written_to_lent_rows_is_seen_by_nobody_else(
    backend: str, open_vec: OpenVec
) -> None:
    vec = open_vec(GAME, 3, backend=backend, obs_buffers=2, num_workers=2 * (backend == "async"))
    vec.reset(seed=0)
    states = vec.save_state()
    lent = vec.step([0, 0, 0])[0]
    shown = lent.copy()
    lent[:] = 7
    lent, _ = vec.reset(mask=[False, True, False])
    np.testing.assert_array_equal(lent[[0, 2]], shown[[0, 2]])
    shown = lent.copy()
    lent[:] = 7
    lent, _ = vec.restore_state(states[:1], indices=0)
    np.testing.assert_array_equal(lent[1:], shown[1:])
    lent[:] = 7
    vec.step([1], env_id=[2])
    np.testing.assert_array_equal(vec.reset(mask=[True, False, False])[0][1], shown[1])


@pytest.mark.parametrize("backend", PARTS)
def test_a_ring_and_steps_of_some_envs(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 3, backend=backend, obs_buffers=2)
    twin = open_vec(GAME, 3, backend=TWIN)
    vec.reset(seed=0)
    twin.reset(seed=0)
    for ids in ([2, 0], [1], [0, 1, 2], [1, 2]):
        mine, other = (env.step([1] * len(ids), env_id=ids)[0] for env in (vec, twin))
        np.testing.assert_array_equal(mine, other)
    for env in (vec, twin):
        env.send([1], env_id=[2])
        env.send([1], env_id=[0])
    np.testing.assert_array_equal(vec.recv()[0], twin.recv()[0])


@pytest.mark.parametrize("backend", PARTS)
def test_a_ring_and_resets_in_small_batches(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 4, backend=backend, batch_size=2, obs_buffers=3)
    first = vec.reset(seed=0)[0]
    kept = first.copy()
    obs, _ = vec.reset(mask=[True, False, False, False], seed=[9, None, None, None])
    np.testing.assert_array_equal(obs[1:], kept[1:])
    vec.send([1] * 4)
    assert [vec.recv()[0].shape for _ in range(2)] == [(2, 4, 84, 84)] * 2
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("backend", PARTS)
def test_a_restored_state_leaves_what_is_lent(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend, obs_buffers=2)
    start = vec.reset(seed=0)[0].copy()
    states = vec.save_state()
    lent = vec.step([1, 1])[0]
    kept = lent.copy()
    obs, _ = vec.restore_state(states[:1], indices=0)
    np.testing.assert_array_equal(obs, [start[0], kept[1]])
    np.testing.assert_array_equal(lent, kept)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("buffers", [0, 2])
def test_the_destination_may_be_known_when_actions_are_sent(
    backend: str, buffers: int, open_vec: OpenVec
) -> None:
    vec = open_vec(GAME, 2, backend=backend, obs_buffers=buffers)
    twin = open_vec(GAME, 2, backend=TWIN)
    rollout = np.zeros((3, *vec.observation_space.shape), np.uint8)
    first = twin.reset(seed=0)[0]
    vec.reset_async(seed=0, out=rollout[0])
    for call in (lambda: vec.reset_wait(out=rollout[1]), lambda: vec.reset_wait(out=rollout[:1])):
        with pytest.raises(ValueError, match="out"):
            call()
    assert vec.reset_wait()[0].ctypes.data == rollout[0].ctypes.data
    second = twin.step([1, 2])[0]
    with pytest.raises(ValueError, match="out must be"):
        vec.send([1, 2], out=rollout[0][:1])
    vec.send([1, 2], out=rollout[1])
    with pytest.raises(ValueError, match="recv: out was given before"):
        vec.recv(out=rollout[2])
    assert vec.recv()[0].ctypes.data == rollout[1].ctypes.data
    np.testing.assert_array_equal(rollout[:2], [first, second])
    expected = twin.step([3, 4])[0]
    np.testing.assert_array_equal(vec.step([3, 4])[0], expected)
    np.testing.assert_array_equal(rollout[:2], [first, second])
    assert not rollout[2].any()
    mask, seeds = [False, True], [None, 9]
    obs, _ = vec.reset(mask=mask, seed=seeds, out=rollout[2])
    assert obs.ctypes.data == rollout[2].ctypes.data
    np.testing.assert_array_equal(obs, twin.reset(mask=mask, seed=seeds)[0])
    np.testing.assert_array_equal(obs[0], expected[0])


@pytest.mark.parametrize("backend", PARTS)
def test_the_next_results_go_to_the_destination_though_more_is_in_flight(
    backend: str, open_vec: OpenVec
) -> None:
    vec = open_vec(GAME, 4, backend=backend, batch_size=2)
    twin = open_vec(GAME, 4, backend=TWIN)
    for env in (vec, twin):
        env.reset(seed=0)
    expected = twin.step([1, 2, 3, 4])[0]
    out = np.zeros((2, *vec.single_observation_space.shape), np.uint8)
    vec.send([1, 2], env_id=[0, 1])
    vec.send([3, 4], env_id=[2, 3], out=out)
    first, second = vec.recv(), vec.recv()
    assert first[0] is out
    assert not np.shares_memory(second[0], out)
    for obs, _, _, _, info in (first, second):
        np.testing.assert_array_equal(obs, expected[info["env_id"]])


@pytest.mark.parametrize("backend", HOSTED)
def test_the_destination_of_a_part_is_given_with_its_last_envs(
    backend: str, open_vec: OpenVec
) -> None:
    vec = open_vec("scripted:Dice-v0", 4, backend=backend, batch_size=2)
    shape = vec.single_observation_space.shape
    out, whole = np.zeros((2, *shape)), np.zeros((4, *shape))
    vec.reset_async(seed=0, out=whole)
    with pytest.raises(NoPendingStepError, match="call reset_wait"):
        vec.recv()
    np.testing.assert_array_equal(vec.reset_wait()[0], whole)
    with pytest.raises(ValueError, match="with the envs that complete a batch of 2, not with 1"):
        vec.send([0], env_id=[3], out=out[:1])
    vec.send([0], env_id=[3])
    vec.send([0], env_id=[0], out=out)
    with pytest.raises(PendingStepError, match="the `out` given before"):
        vec.send([0], env_id=[1], out=out)
    vec.send([0], env_id=[1])
    obs = vec.recv()[0]
    assert obs is out
    assert obs.any()

    steps = open_vec("scripted:Dice-v0", 3, backend=backend)
    steps.reset(seed=0)
    steps.send([0, 0], env_id=[2, 0], out=out)
    with pytest.raises(PendingStepError, match="the `out` given before; call recv"):
        steps.send([0], env_id=[1])
    assert steps.recv()[0] is out


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_step_with_a_buffer_that_does_not_fit_sends_nothing(
    backend: str, open_vec: OpenVec
) -> None:
    vec, twin = (open_vec(GAME, 2, backend=name) for name in (backend, TWIN))
    vec.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(ValueError, match="out must be"):
        vec.step([1, 1], out=np.zeros(3, np.uint8))
    np.testing.assert_array_equal(vec.step([2, 3])[0], twin.step([2, 3])[0])
