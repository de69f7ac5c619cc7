"""What gymnasium's tests ask of its `AsyncVectorEnv`: the order of calls, time limits, errors.

Gymnasium 1.4.0, `tests/vector/test_async_vector_env.py`. Each test names its source.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gymnasium.error import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    NoAsyncCallError,
    ResetNeeded,
)
from peer_envs import FATAL_ACTION

from atari_wrappers import VecEnv, WorkerError

OpenVec = Callable[..., VecEnv]
COUNTING = "peer_envs:Counting-v0"


def gated(open_vec: OpenVec, gate: Path) -> VecEnv:
    """Return three counters of which the last is held up at the gate."""
    vec = open_vec(COUNTING, 3, backend="async", num_workers=2, context="forkserver")
    vec.reset()
    vec.set_attr("gate", str(gate), indices=2)
    return vec


def traceback_of(error: WorkerError) -> str:
    """Return where in the env an error arose: in its process, or in this one."""
    return error.remote_traceback or "".join(traceback.format_exception(error.__cause__))


def open_gate(gate: Path) -> None:
    gate.write_bytes(b"go")


def test_a_reset_that_takes_too_long_can_be_waited_for_again(open_vec: OpenVec, gate: Path) -> None:
    """`test_reset_timeout_async_vector_env`."""
    vec = gated(open_vec, gate)
    vec.reset_async(seed=0)
    for error in (TimeoutError, multiprocessing.TimeoutError):
        with pytest.raises(error):
            vec.reset_wait(timeout=0.05)
    open_gate(gate)
    assert vec.reset_wait(timeout=30)[0].tolist() == [0, 0, 0]


def test_a_step_that_takes_too_long_can_be_waited_for_again(open_vec: OpenVec, gate: Path) -> None:
    """`test_step_timeout_async_vector_env`."""
    vec = gated(open_vec, gate)
    vec.step_async([1, 2, 3])
    with pytest.raises(multiprocessing.TimeoutError):
        vec.step_wait(timeout=0.05)
    open_gate(gate)
    obs, reward, *_ = vec.step_wait(timeout=30)
    assert (obs.tolist(), reward.tolist()) == ([1, 1, 1], [1, 2, 3])


def test_waiting_for_nothing_is_an_error(open_hosted: OpenVec) -> None:
    """`test_reset_out_of_order_async_vector_env`, `test_step_out_of_order_async_vector_env`."""
    vec = open_hosted(COUNTING, 2)
    with pytest.raises(NoAsyncCallError, match="reset_wait: no reset is pending") as told:
        vec.reset_wait()
    assert told.value.name == "reset"
    with pytest.raises(ResetNeeded, match="step_async: call reset first"):
        vec.step_async([1, 2])
    vec.reset()
    with pytest.raises(NoAsyncCallError, match="step_wait: nothing was sent") as told:
        vec.step_wait()
    assert told.value.name == "step"


@pytest.mark.parametrize("pending", ["step", "reset"])
def test_nothing_begins_while_a_call_is_pending(pending: str, open_hosted: OpenVec) -> None:
    """`test_reset_out_of_order_async_vector_env`, `test_step_out_of_order_async_vector_env`."""
    vec = open_hosted(COUNTING, 2)
    vec.reset()
    if pending == "step":
        vec.step_async([1, 2])
    else:
        vec.reset_async()
    for call in (vec.reset_async, lambda: vec.step_async([1, 2]), lambda: vec.call("count")):
        with pytest.raises(AlreadyPendingCallError, match=f"a {pending} is pending"):
            call()
    vec.close(terminate=True)
    with pytest.raises(ClosedEnvironmentError):
        vec.step_wait()


@pytest.mark.parametrize("kwargs", [{}, {"terminate": True}, {"timeout": 5}])
def test_a_closed_batch_refuses_everything(kwargs: dict[str, Any], open_hosted: OpenVec) -> None:
    """`test_already_closed_async_vector_env`."""
    vec = open_hosted(COUNTING, 2)
    vec.reset()
    vec.close(**kwargs)
    vec.close(**kwargs)
    calls = {
        "reset": vec.reset,
        "reset_async": vec.reset_async,
        "reset_wait": vec.reset_wait,
        "step": lambda: vec.step([0, 0]),
        "step_wait": vec.step_wait,
        "render": vec.render,
        "call": lambda: vec.call("count"),
        "set_attr": lambda: vec.set_attr("count", 0),
    }
    for call in calls.values():
        with pytest.raises(ClosedEnvironmentError, match="was closed"):
            call()


def test_close_does_not_wait_for_an_env_that_does(open_vec: OpenVec, gate: Path) -> None:
    """`test_step_timeout_async_vector_env`, which ends with `close(terminate=True)`."""
    vec = gated(open_vec, gate)
    vec.step_async([1, 2, 3])
    vec.close(terminate=True)
    assert vec.closed


def test_an_error_in_reset_is_told_and_the_batch_goes_on(open_hosted: OpenVec) -> None:
    """`test_async_vector_subenv_error`; gymnasium's batch is lost after it."""
    vec = open_hosted(COUNTING, 3)
    vec.reset()
    vec.set_attr("is_broken", True, indices=1)
    with pytest.raises(WorkerError, match="ValueError: I am broken") as told:
        vec.reset(seed=[0, 1, 2])
    assert told.value.env_indices == [1]
    assert "reset" in told.value.doing
    assert vec.restart_workers() == [1]
    assert vec.reset_wait()[0].tolist() == [0, 0, 0]
    assert vec.get_attr("np_random_seed")[::2] == (0, 2)
    assert vec.step([1, 1, 1])[0].tolist() == [1, 1, 1]


def test_errors_in_a_step_are_told_and_the_batch_goes_on(open_hosted: OpenVec) -> None:
    """`test_async_vector_subenv_error`: two of three envs fail in one step."""
    vec = open_hosted(COUNTING, 3)
    vec.reset()
    vec.send([0, FATAL_ACTION, FATAL_ACTION])
    failed: set[int] = set()
    while failed != {1, 2}:
        with pytest.raises(
            WorkerError, match=f"ValueError: action {FATAL_ACTION} is not for me"
        ) as told:
            vec.recv()
        assert not failed & set(told.value.env_indices)
        failed |= set(told.value.env_indices)
        assert f"with action {FATAL_ACTION}" in told.value.doing
        assert "raise ValueError" in traceback_of(told.value)
        vec.restart_workers(told.value.env_indices)
    obs, _, terminated, truncated, info = vec.recv()
    assert obs.tolist() == [1, 0, 0]
    assert (terminated.any(), truncated.tolist()) == (False, [False, True, True])
    assert info["worker_restarted"].tolist() == [False, True, True]
    assert vec.step([1, 1, 1])[0].tolist() == [2, 1, 1]
