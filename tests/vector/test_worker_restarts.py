"""Envs that failed and are made anew: in every autoreset mode, by themselves, and in vain."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted import TROUBLES
from waiting import wait_until
from worker_trouble import NOTHING, NUM_ENVS, Oracle, assert_as_alone, trouble

from atari_wrappers import ResetNeededError, VecEnv, WorkerError

OpenVec = Callable[..., VecEnv]
OpenPair = Callable[..., tuple[VecEnv, Path]]


@pytest.fixture
def open_pair(open_vec: OpenVec, tmp_path: Path) -> OpenPair:
    """Open two envs in a worker each; also return the file that tells them to make trouble."""
    note = tmp_path / "trouble"
    told = {"note": str(note)}

    def open_two(**settings: Any) -> tuple[VecEnv, Path]:
        vec = open_vec(
            "scripted:Trouble-v0", 2, backend="async", num_workers=2, env_kwargs=told, **settings
        )
        return vec, note

    return open_two


def test_a_restart_before_a_restored_state_changes_nothing(open_vec: OpenVec) -> None:
    vec = open_vec("CartPole-v1", 2, backend="async")
    vec.reset(seed=1)
    states = vec.save_state()

    def played() -> list[np.ndarray]:
        return [vec.step([1, 0])[0] for _ in range(40)]  # through several episodes

    expected = played()
    os.kill(vec.worker_pids[0], signal.SIGKILL)
    wait_until(vec.restart_workers)  # which sees it when it is gone
    with pytest.raises(ResetNeededError, match="was restarted"):
        vec.save_state()
    vec.restore_state(states)
    np.testing.assert_array_equal(played(), expected)


@pytest.mark.parametrize("kind", ["raise", "die"])
@pytest.mark.parametrize("mode", ["next-step", "disabled"])
def test_restart_in_the_modes_that_wait(mode: str, kind: str, open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Trouble-v0", NUM_ENVS, backend="async", num_workers=4, autoreset=mode)
    oracle = Oracle(mode)
    vec.reset(seed=0)
    ended = np.zeros(NUM_ENVS, bool)

    def step(actions: list[int]) -> Any:
        nonlocal ended
        if mode == "disabled" and ended.any():
            vec.reset(mask=ended)
        vec.send(actions)
        try:
            result = vec.recv()
        except WorkerError:
            assert vec.restart_workers() == [1]
            result = vec.recv()
        ended = result[2] | result[3]
        return result

    result = step(NOTHING)
    while ended.any():
        assert_as_alone(result, oracle, [0, 1, 2, 3])
        result = step(NOTHING)
    assert_as_alone(result, oracle, [0, 1, 2, 3])
    last = result[0][1]
    obs, reward, terminated, truncated, info = result = step(trouble(kind))
    assert_as_alone(result, oracle, [0, 2, 3])
    assert (reward[1], terminated[1], truncated[1]) == (0, False, True)
    assert info["worker_restarted"].tolist() == [False, True, False, False]
    np.testing.assert_array_equal(obs[1], last)
    assert "final_obs" not in info
    obs, _, _, truncated, info = result = step(NOTHING)
    assert_as_alone(result, oracle, [0, 2, 3])
    assert obs[1][0] == (0 if mode == "next-step" else 1)
    assert not truncated.any()
    assert "worker_restarted" not in info


@pytest.mark.parametrize("mode", ["same-step", "next-step"])
@pytest.mark.parametrize("kind", ["raise", "die"])
def test_an_automatic_reset_that_fails(mode: str, kind: str, open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Trouble-v0", NUM_ENVS, backend="async", num_workers=4, autoreset=mode)
    oracle = Oracle(mode)
    vec.reset(seed=0)
    vec.set_attr("at_reset", kind, indices=1)
    results = []

    def play_on() -> None:
        for _ in range(100):
            results.append(vec.step(NOTHING))
            assert_as_alone(results[-1], oracle, [0, 1, 2, 3])

    with pytest.raises(WorkerError) as raised:
        play_on()
    result = results[-1]
    assert raised.value.doing.startswith("step" if mode == "same-step" else "the reset after")
    last, was_ended = result[0][1], bool(result[2][1])
    assert was_ended == (mode == "next-step")
    vec.restart_workers()
    obs, reward, terminated, truncated, info = result = vec.recv()
    assert_as_alone(result, oracle, [0, 2, 3])
    assert info["worker_restarted"].tolist() == [False, True, False, False]
    assert obs[1][0] == reward[1] == 0
    assert not terminated[1]
    # In next-step mode the end had been told; it is not told twice.
    assert truncated[1] == (mode == "same-step")
    if mode == "same-step":
        np.testing.assert_array_equal(info["final_obs"][1], last)


@pytest.mark.parametrize("kind", ["raise", "die"])
def test_restarts_by_themselves_where_that_is_set(kind: str, open_vec: OpenVec) -> None:
    def run() -> list[Any]:
        vec = open_vec(
            "scripted:Trouble-v0",
            NUM_ENVS,
            backend="async",
            num_workers=4,
            on_worker_failure="restart",
        )
        oracle = Oracle()
        vec.reset(seed=0)
        results = []
        for step in range(12):
            # In the midst of it, and at once again.
            actions = trouble(kind) if step in (3, 4, 8) else NOTHING
            results.append(vec.step(actions))
            assert_as_alone(results[-1], oracle, [0, 2, 3])
        return results

    results = run()
    restarted = [step for step, result in enumerate(results) if "worker_restarted" in result[4]]
    assert restarted == [3, 4, 8]
    assert all(results[step][3].tolist() == [False, True, False, False] for step in restarted)
    cut_games = []
    for step in restarted:
        before, info = results[step - 1][4], results[step][4]
        is_new = before["game_terminated"][1] or before["game_truncated"][1]
        length = 0 if is_new else before["episode_length"][1]
        assert info["episode_length"][1] == length
        assert info["game_truncated"][1] == (length > 0), "a game that took no step is none"
        cut_games.append(length > 0)
    assert set(cut_games) == {True, False}
    for mine, again in zip(results, run(), strict=True):
        np.testing.assert_array_equal(mine[0], again[0], "a restart follows from the seed, too")
    starts = {results[step][0][1][1] for step in restarted} | {Oracle().obs[1][1]}
    assert len(starts) == 4, "each restart plays another game"


@pytest.mark.parametrize("kind", ["raise", "die"])
@pytest.mark.parametrize("when", ["make", "reset", "step"])
def test_restarts_that_fail_again_end(when: str, kind: str, open_pair: OpenPair) -> None:
    vec, note = open_pair(on_worker_failure="restart")
    vec.reset(seed=0)
    assert not vec.step([0, 0])[2].any()
    note.write_text(f"{when} {kind}")
    if when == "step":  # an env made anew takes no step at first
        assert vec.step([0, 0])[3].all()
        return
    doing = "being made" if when == "make" else "step 2 of its game"
    with pytest.raises(WorkerError, match=doing):
        vec.step([0, TROUBLES.index(kind)])
    note.unlink()
    assert vec.restart_workers() == [1]
    assert vec.recv()[3].tolist() == [False, True]


def test_an_env_that_hangs_while_it_is_made_anew(open_pair: OpenPair) -> None:
    vec, note = open_pair(start_timeout=10)  # workers of a busy machine start sooner
    vec.reset()
    note.write_text("make wait")
    with pytest.raises(WorkerError, match="raised ArithmeticError"):
        vec.step([0, TROUBLES.index("raise")])
    with pytest.raises(WorkerError, match=r"for 10 s .* env 1 was being made") as raised:
        vec.restart_workers()
    assert "in __init__" in raised.value.remote_traceback
    note.unlink()
    assert vec.restart_workers() == [1]
    assert vec.recv()[3].tolist() == [False, True]


@pytest.mark.parametrize("kind", ["raise", "die"])
def test_time_runs_out_while_an_env_is_made_anew(kind: str, open_pair: OpenPair) -> None:
    vec, note = open_pair(on_worker_failure="restart")
    oracle = Oracle()
    vec.reset(seed=0)
    note.write_text("make wait")
    vec.send([0, TROUBLES.index(kind)])
    workers = vec._backend._dispatcher._group.workers
    deadline = time.monotonic() + 60
    ready = 0
    while ready == 0 or not workers[1].making:
        assert time.monotonic() < deadline
        with pytest.raises(TimeoutError, match=r"[01] of 2 envs were ready") as told:
            vec.recv(timeout=0.1)
        ready = int(str(told.value)[0])
    note.unlink()
    result = vec.recv()
    assert_as_alone(result, oracle, [0])
    assert result[3].tolist() == result[4]["worker_restarted"].tolist() == [False, True]


def test_in_small_batches_the_others_go_on_without_the_one_that_hangs(open_vec: OpenVec) -> None:
    vec = open_vec(
        "scripted:Trouble-v0",
        NUM_ENVS,
        backend="async",
        batch_size=1,
        num_workers=NUM_ENVS,
        worker_timeout=3,
    )
    oracle = Oracle()
    vec.reset(seed=0)
    vec.send(trouble("stop"))
    seen = set()

    def play_on() -> None:
        while True:
            result = vec.recv()
            [index] = result[4]["env_id"]
            obs, reward, _ = oracle.step(index)
            np.testing.assert_array_equal(result[0][0], obs)
            assert result[1][0] == reward
            seen.add(int(index))
            vec.send([0], [index])

    with pytest.raises(WorkerError, match=r"has not answered for 3 s \(stopped\)") as raised:
        play_on()
    assert seen == {0, 2, 3}
    assert raised.value.env_indices == [1]
    assert vec.restart_workers() == [1]
    cut_off = {}
    while 1 not in cut_off:
        _, _, _, truncated, info = vec.recv()
        cut_off[int(info["env_id"][0])] = bool(truncated[0])
        if info["env_id"][0] != 1:
            vec.send([0])
    assert cut_off[1]
