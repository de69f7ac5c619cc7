"""What every backend promises alike: spaces, dtypes, fresh arrays, the order of calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from backends import BACKENDS, TWIN
from gymnasium.vector import AutoresetMode, VectorEnv
from processes import threads_now
from waiting import wait_until

from atari_wrappers import (
    ClosedError,
    NoPendingStepError,
    PendingStepError,
    ResetNeededError,
    UnsupportedError,
    VecEnv,
    make_vec,
)
from atari_wrappers.recording.observations import ObservationRecorder

GAME = "BreakoutNoFrameskip-v4"
INFO = {
    "env_id": np.int32,
    "raw_reward": np.float32,
    "lives": np.int32,
    "game_terminated": bool,
    "game_truncated": bool,
    "episode_return": np.float64,
    "episode_length": np.int64,
    "episode_frames": np.int64,
}
OpenVec = Callable[..., VecEnv]


@pytest.fixture(params=BACKENDS)
def vec(request: pytest.FixtureRequest, open_vec: OpenVec) -> VecEnv:
    return open_vec(GAME, 3, backend=request.param)


def assert_dtypes(vec: VecEnv, result: tuple) -> None:
    obs, reward, terminated, truncated, info = result
    assert obs.flags.c_contiguous
    assert obs in vec.observation_space
    described = [(a.dtype, a.shape) for a in (reward, terminated, truncated)]
    assert described == [(np.float32, (3,)), (bool, (3,)), (bool, (3,))]
    described = {name: (info[name].dtype, info[name].shape) for name in INFO}
    assert described == {name: (np.dtype(dtype), (3,)) for name, dtype in INFO.items()}


def test_a_step_has_the_promised_shapes_and_dtypes(vec: VecEnv) -> None:
    assert isinstance(vec, VectorEnv)
    assert vec.observation_space == gym.spaces.Box(0, 255, (3, 4, 84, 84), np.uint8)
    assert vec.single_observation_space == gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)
    assert vec.single_action_space == gym.spaces.Discrete(4)
    assert vec.action_space == gym.spaces.MultiDiscrete([4, 4, 4])
    assert vec.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    obs, info = vec.reset(seed=0)
    assert obs in vec.observation_space
    assert sorted(info) == sorted(INFO)
    assert info["lives"].tolist() == [5, 5, 5]
    seen: dict[str, Any] = {}
    rng = np.random.default_rng(0)
    for _ in range(200):
        result = vec.step(rng.integers(4, size=3))
        assert_dtypes(vec, result)
        seen |= result[4]
    assert {key: value.dtype for key, value in seen["episode"].items()} == {
        "r": np.float64,
        "l": np.int64,
        "frames": np.int64,
    }
    masks = ("_episode", "_final_obs", "_final_info")
    assert all((seen[name].dtype, seen[name].shape) == (bool, (3,)) for name in masks)
    assert {name: array.dtype for name, array in seen["final_info"].items()} == INFO
    assert (seen["final_obs"].dtype, seen["final_obs"].shape) == (np.uint8, (3, 4, 84, 84))
    assert seen["final_obs"].flags.c_contiguous


def test_arrays_are_never_written_to_again(vec: VecEnv) -> None:
    obs, info = vec.reset(seed=0)
    kept: list[np.ndarray] = [obs, *info.values()]
    rng = np.random.default_rng(0)
    for _ in range(200):
        obs, reward, terminated, truncated, info = vec.step(rng.integers(4, size=3))
        nested = [*info.pop("episode", {}).values(), *info.pop("final_info", {}).values()]
        kept += [obs, reward, terminated, truncated, *info.values(), *nested]
        if len(kept) > 2000:
            break
    copies = [array.copy() for array in kept]
    for _ in range(50):
        vec.step(rng.integers(4, size=3))
    for array, copy in zip(kept, copies, strict=True):
        # ResultArrays of `final_obs` that no mask covers are undefined, but no less constant.
        np.testing.assert_array_equal(array, copy)
    addresses = [array.ctypes.data for array in kept if array.nbytes > 1000]
    assert len(set(addresses)) == len(addresses)


def test_writing_into_results_changes_nothing(open_vec: OpenVec) -> None:
    for backend in ("ale", "native", "sync"):
        spoiled, twin = (open_vec(GAME, 2, backend=name) for name in (backend, TWIN))
        spoiled.reset(seed=0)[1]["lives"][:] = 99
        twin.reset(seed=0)
        for step in range(120):
            mine, other = (env.step([step % 4, 1]) for env in (spoiled, twin))
            for left, right in zip(mine[:4], other[:4], strict=True):
                np.testing.assert_array_equal(left, right)
            np.testing.assert_array_equal(mine[4]["lives"], other[4]["lives"])
            for array in (*mine[:4], mine[4]["raw_reward"], mine[4]["lives"]):
                array[:] = 1


@pytest.mark.parametrize("clips", [True, False])
def test_the_learner_sees_signs_and_the_score_is_kept(clips: bool, open_vec: OpenVec) -> None:
    for backend in ("ale", "native", "sync"):
        vec = open_vec("SpaceInvadersNoFrameskip-v4", 2, backend=backend, clip_reward=clips)
        vec.reset(seed=0)
        rng = np.random.default_rng(0)
        raws = []
        for _ in range(150):
            _, reward, _, _, info = vec.step(rng.integers(6, size=2))
            raw = info["raw_reward"]
            np.testing.assert_array_equal(reward, np.sign(raw) if clips else raw)
            assert not np.shares_memory(reward, raw)
            raws.append(info["raw_reward"])
        assert np.max(raws) >= 5


def test_calls_out_of_order_are_refused_at_once(vec: VecEnv) -> None:
    with pytest.raises(ResetNeededError):
        vec.step([0, 0, 0])
    with pytest.raises(NoPendingStepError):
        vec.recv()
    vec.reset(seed=0)
    with pytest.raises(NoPendingStepError):
        vec.recv()
    vec.send([0, 0, 0])
    with pytest.raises(PendingStepError):
        vec.send([0, 0, 0])
    with pytest.raises(PendingStepError):
        vec.reset()
    vec.recv()
    vec.step([0, 0, 0])
    vec.close()
    vec.close()
    for call in (vec.reset, vec.recv, lambda: vec.send([0, 0, 0]), lambda: vec.step([0, 0, 0])):
        with pytest.raises(ClosedError, match="was closed"):
            call()
    for error in (ClosedError, NoPendingStepError, PendingStepError, ResetNeededError):
        assert issubclass(error, RuntimeError)


def test_observations_that_are_no_arrays_are_refused(open_vec: OpenVec) -> None:
    with pytest.raises(UnsupportedError, match="FlattenObservation"):
        open_vec("scripted:Dict-v0", 2)


def test_other_ids_run_on_sync_and_async(open_vec: OpenVec) -> None:
    plain = gym.make_vec("CartPole-v1", 3, vectorization_mode="sync")
    first, _ = plain.reset(seed=3)
    for backend in ("auto", "async"):
        vec = open_vec("CartPole-v1", 3, backend=backend)
        obs, info = vec.reset(seed=3)
        np.testing.assert_array_equal(obs, first)
        assert (obs.dtype, obs.shape) == (np.float32, (3, 4))
        total = 0.0
        for _ in range(100):
            obs, reward, terminated, _, info = vec.step([1, 1, 0])
            total += float(info["raw_reward"][0])
            assert_dtypes(vec, (obs, reward, terminated, terminated, info))
            if terminated[0]:
                break
        assert info["_episode"][0]
        assert info["_final_obs"][0]
        assert (info["episode"]["r"][0], info["episode"]["l"][0]) == (total, total)
        assert info["lives"].tolist() == [0, 0, 0]
        assert not np.array_equal(info["final_obs"][0], obs[0])


def test_a_buffer_that_an_env_writes_to_again_is_copied(open_vec: OpenVec) -> None:
    for backend in ("sync", "async"):
        vec = open_vec("scripted:Careless-v0", 2, backend=backend)
        obs, _ = vec.reset()
        assert obs.tolist() == [[0, 1], [0, 1]]
        results = [vec.step([5, 5]) for _ in range(3)]
        assert [result[0].tolist()[0] for result in results] == [[1, 1], [2, 1], [0, 2]]
        assert results[2][3].tolist() == [True, True]
        assert results[2][4]["final_obs"].tolist() == [[3, 1], [3, 1]]
        assert results[2][4]["episode"]["r"].tolist() == [7.5, 7.5]


def test_a_with_block_closes_the_batch(open_vec: OpenVec) -> None:
    with open_vec("CartPole-v1", 2) as vec:
        vec.reset()
    assert vec.closed


def test_ale_ends_though_its_recorder_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_recorder: Any) -> None:
        raise OSError("no space left")

    before = threads_now()
    vec = make_vec(GAME, 2, backend="ale", video_dir=tmp_path, num_threads=2)
    assert threads_now() - before
    monkeypatch.setattr(ObservationRecorder, "close", fail)
    with pytest.raises(OSError, match="no space left"):
        vec.close()
    wait_until(lambda: threads_now() <= before, seconds=60)
