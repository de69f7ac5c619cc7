"""Batches in processes that were forked, and copies of batches."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from backends import BACKENDS, TWIN

from atari_wrappers import ClosedError, VecEnv

GAME = "BreakoutNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]

# Python warns of forks in a process with threads, which is what this is about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def in_child(work: Callable[[], bool]) -> int:
    """Do `work` in a fork; return its exit status, 0 for `True`."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            sys.stderr.flush()
            os._exit(status)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("the child hangs")


@pytest.mark.parametrize("backend", ["ale", "native", "async"])
def test_a_child_cannot_touch_the_games_of_its_parent(backend: str, open_vec: OpenVec) -> None:
    vec, twin = (open_vec(GAME, 2, backend=name) for name in (backend, TWIN))
    vec.reset(seed=0)
    twin.reset(seed=0)

    def work() -> bool:
        with pytest.raises(ClosedError, match=f"a fork: only process {os.getppid()} can"):
            vec.step([1, 1])
        vec.close()
        return vec.closed

    assert in_child(work) == 0
    for _ in range(20):
        mine, other = vec.step([1, 2]), twin.step([1, 2])
        np.testing.assert_array_equal(mine[0], other[0])


def test_a_childs_games_of_sync_are_its_own(open_vec: OpenVec) -> None:
    vec, twin = (open_vec(GAME, 2, backend=name) for name in ("sync", TWIN))
    vec.reset(seed=0)
    twin.reset(seed=0)

    def work() -> bool:
        return vec.step([1, 2])[0].shape == (2, 4, 84, 84)

    assert in_child(work) == 0
    np.testing.assert_array_equal(vec.step([1, 2])[0], twin.step([1, 2])[0])


def test_a_fork_that_lives_on_keeps_no_worker_alive(open_vec: OpenVec) -> None:
    vec = open_vec("CartPole-v1", 2, backend="async", context="spawn", num_workers=1)
    vec.reset()
    [pid] = vec.worker_pids
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        # As if this process, the host, were gone.
        vec._backend._dispatcher._group.workers[0].close_pipes()
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_are_refused_and_harm_nothing(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    vec.reset(seed=0)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"cannot be copied or pickled.*save_state"):
            duplicate(vec)
        vec.step([0, 0])
