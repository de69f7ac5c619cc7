"""Ctrl-C in the middle of a call: nothing is closed, and a reset of all envs goes on."""

from __future__ import annotations

import contextlib
import itertools
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from processes import is_running

import atari_wrappers
from atari_wrappers import ResetNeededError, VecEnv, WorkerError

# Envs whose resets are quick, and how often each backend is interrupted: ALE resets in 0.2 s.
GAME, CART_POLE = "BreakoutNoFrameskip-v4", "CartPole-v1"
CASES = [("native", GAME, 20), ("ale", GAME, 3), ("sync", CART_POLE, 20), ("async", CART_POLE, 20)]
PACKAGE = str(Path(atari_wrappers.__file__).parent)
OpenVec = Callable[..., VecEnv]
NOOPS = [0, 0, 0]


@pytest.fixture(autouse=True)
def _default_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def assert_goes_on(vec: VecEnv, twin: VecEnv, seed: int) -> None:
    """Reset a batch that was interrupted, and another one, and play both."""
    np.testing.assert_array_equal(vec.reset(seed=seed)[0], twin.reset(seed=seed)[0])
    for step in range(3):
        mine, other = (env.step([step % 2, 1, 0]) for env in (vec, twin))
        for left, right in zip(mine[:4], other[:4], strict=True):
            np.testing.assert_array_equal(left, right)
        np.testing.assert_array_equal(mine[4]["episode_length"], [step + 1] * 3)


def open_pair(backend: str, env_id: str, open_vec: OpenVec) -> tuple[VecEnv, VecEnv]:
    """Open a batch, and the same one on a backend that is quick."""
    quick = "native" if env_id == GAME else "sync"
    return open_vec(env_id, 3, backend=backend), open_vec(env_id, 3, backend=quick)


@pytest.mark.parametrize(("backend", "env_id", "times"), CASES)
def test_a_reset_goes_on_after_ctrl_c(
    backend: str, env_id: str, times: int, open_vec: OpenVec
) -> None:
    vec, twin = open_pair(backend, env_id, open_vec)
    draws, pids, cut_short = random.Random(0), set(), 0
    for trial in range(times):
        vec.reset()
        pids |= {*vec.worker_pids}
        to_main = (threading.main_thread().ident, signal.SIGINT)
        timer = threading.Timer(draws.uniform(0, 0.03), signal.pthread_kill, to_main)
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            timer.start()
            for step in itertools.count():
                vec.step(NOOPS)
                if step % 50 == 49:
                    vec.reset()
        timer.join()
        assert not vec.closed
        if not vec._order.was_reset:  # else it came between two calls
            cut_short += 1
            with pytest.raises(
                ResetNeededError, match=r"reset first, as KeyboardInterrupt\(\) cut"
            ):
                vec.step(NOOPS)
        assert_goes_on(vec, twin, trial)
    assert cut_short > 0
    pids |= {*vec.worker_pids}
    vec.close()
    assert not any(map(is_running, pids))


class Interrupt:
    """Raises `KeyboardInterrupt` in this package before the bytecode with a number, from 1.

    Attributes:
        count: How many came.
    """

    def __init__(self, number: int = 0) -> None:
        self._number, self.count = number, 0

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.count += 1
            if self.count == self._number:
                raise KeyboardInterrupt
        return self

    def during(self, call: Callable[[], Any]) -> None:
        before = sys.gettrace()
        # Python 3.12 tells of no bytecode unless a frame asked for that before `settrace`.
        sys._getframe().f_trace_opcodes = True
        try:
            sys.settrace(self)
            call()
        finally:
            sys.settrace(before)


@pytest.mark.parametrize("what", ["step", "reset", "look"])
@pytest.mark.parametrize(("backend", "env_id", "times"), CASES)
def test_a_reset_goes_on_wherever_the_interrupt_came(
    backend: str, env_id: str, times: int, what: str, open_vec: OpenVec
) -> None:
    vec, twin = open_pair(backend, env_id, open_vec)
    call = {
        "step": lambda: vec.step(NOOPS),
        "reset": lambda: vec.reset(seed=0),
        "look": vec.render if env_id == GAME else lambda: vec.get_attr("spec"),
    }[what]
    vec.reset(seed=0)
    whole = Interrupt()
    whole.during(call)
    assert whole.count > 0
    draws = random.Random(0)
    for trial in range(times):
        vec.reset()
        number = draws.randint(1, whole.count)
        try:
            Interrupt(number).during(call)
        except KeyboardInterrupt:
            pass
        else:
            assert backend == "async", "only there the number of bytecodes depends on the workers"
        assert not vec.closed
        assert_goes_on(vec, twin, trial)


def test_what_stands_for_an_env_goes_on_wherever_the_interrupt_came(open_vec: OpenVec) -> None:
    vec, twin = open_pair("async", CART_POLE, open_vec)
    vec.reset(seed=0)
    env = vec.get_sub_environments()[1]
    whole, draws = Interrupt(), random.Random(0)
    whole.during(lambda: env.get_attr("spec"))
    for trial in range(20):
        with contextlib.suppress(KeyboardInterrupt):
            Interrupt(draws.randint(1, whole.count)).during(lambda: env.get_attr("spec"))
        assert env.get_attr("action_space") == vec.single_action_space, trial
    assert_goes_on(vec, twin, 1)


@pytest.mark.parametrize("trouble", ["slow", "loop"])
def test_the_answer_that_ctrl_c_cut_off_is_no_later_calls(trouble: str, open_vec: OpenVec) -> None:
    seconds = 5.0 if trouble == "loop" else 60.0
    vec = open_vec("scripted:Trouble-v0", 2, backend="async", worker_timeout=seconds)
    vec.reset(seed=0)
    env = vec.get_sub_environments()[0]

    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    waiting = patch.object(vec._backend._dispatcher, "collect", interrupted)
    with waiting, pytest.raises(KeyboardInterrupt):
        env.call("ask", trouble)
    if trouble == "loop":
        with pytest.raises(WorkerError, match="has not answered for 5 s"):
            env.get_attr("colour")
        vec.restart_workers()
    assert env.colour == env.get_attr("colour") == 0
    assert vec.reset(seed=0)[1]["episode_length"].tolist() == [0, 0]
