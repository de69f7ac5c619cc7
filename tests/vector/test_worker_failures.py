"""Envs and worker processes that fail, for real: what is reported, and how the batch goes on."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scripted import SLOW_SECONDS, TROUBLES
from worker_trouble import ENDING, NOTHING, NUM_ENVS, RAISING, Oracle, assert_as_alone, trouble

from atari_wrappers import UnsupportedError, VecEnv, WorkerError, make_vec
from atari_wrappers.backends.workers import dispatcher
from atari_wrappers.backends.workers.dispatcher import Dispatcher
from atari_wrappers.backends.workers.messages import Kind

OpenVec = Callable[..., VecEnv]


@pytest.fixture(scope="module")
def shared() -> Iterator[VecEnv]:
    """A batch of two workers that outlives all its failures."""
    vec = make_vec(
        "scripted:Trouble-v0", NUM_ENVS, backend="async", num_workers=2, worker_timeout=3
    )
    yield vec
    vec.close()


@pytest.mark.parametrize("kind", [*RAISING, *ENDING])
def test_a_failed_step_is_reported_and_completed_after_a_restart(kind: str, shared: VecEnv) -> None:
    vec, oracle = shared, Oracle()
    lost, others = ([1], [0, 2, 3]) if kind in RAISING else ([0, 1], [2, 3])
    vec.reset(seed=0)
    for _ in range(20):
        before = vec.step(NOTHING)
        assert_as_alone(before, oracle, [0, 1, 2, 3])
    game_step = int(oracle.obs[1][0]) + 1
    doing = f"step {game_step} of its game with action {TROUBLES.index(kind)}"
    pids = vec.worker_pids

    vec.send(trouble(kind))
    with pytest.raises(WorkerError, match=(RAISING | ENDING)[kind].format(doing=doing)) as raised:
        vec.recv()
    error = raised.value
    assert error.env_indices == lost
    assert error.doing == doing
    assert "restart_workers()" in str(error)
    if kind in (*RAISING, "crash", "loop"):
        assert "in make_trouble" in error.remote_traceback
        assert error.remote_traceback in str(error)
    is_carried = kind in ("raise", "sys.exit")
    assert isinstance(error.__cause__, ArithmeticError | SystemExit) == is_carried
    with pytest.raises(WorkerError, match="env 1"):
        vec.recv()

    assert vec.restart_workers() == lost
    obs, reward, terminated, truncated, info = result = vec.recv()
    assert_as_alone(result, oracle, others)
    # Env 0 had done its step when its process went with env 1: that result is kept.
    if kind in ENDING:
        assert_as_alone(result, oracle, [0])
    assert truncated.tolist() == [False, True, False, False]
    assert info["worker_restarted"].tolist() == [False, True, False, False]
    assert (reward[1], terminated[1]) == (0, False)
    assert info["_final_obs"][1]
    np.testing.assert_array_equal(info["final_obs"][1], before[0][1])
    assert obs[1][0] == 0, "a new episode"
    had_steps = game_step > 1
    assert info["game_truncated"][1] == had_steps
    assert info["episode_length"][1] == game_step - 1
    assert info["episode_return"][1] == (before[4]["episode_return"][1] if had_steps else 0)

    replaced = [old != new for old, new in zip(pids, vec.worker_pids, strict=True)]
    assert replaced == [kind in ENDING, False]
    result = vec.step(NOTHING)
    if kind in ENDING:  # now env 0 is cut off
        assert result[3].tolist() == [True, False, False, False]
        assert result[4]["worker_restarted"].tolist() == [True, False, False, False]
    assert_as_alone(result, oracle, others)
    for _ in range(10):
        result = vec.step(NOTHING)
        assert_as_alone(result, oracle, others)
        assert "worker_restarted" not in result[4]


@pytest.mark.parametrize("kind", ["raise", "die", "stop"])
def test_a_failed_reset_is_completed_after_a_restart(kind: str, shared: VecEnv) -> None:
    vec, oracle = shared, Oracle()
    vec.reset(seed=0)
    vec.set_attr("at_reset", kind, indices=1)
    with pytest.raises(WorkerError) as raised:
        vec.reset(seed=0)
    assert raised.value.doing == "a reset with seed 1"
    assert vec.restart_workers() == ([1] if kind == "raise" else [0, 1])
    obs, info = vec.reset_wait()
    # The seed that the caller gave is kept, so that the batch is as if nothing had happened.
    envs = [0, 1, 2, 3] if kind == "raise" else [1, 2, 3]
    for index in envs:
        np.testing.assert_array_equal(obs[index], oracle.obs[index])
    assert info["worker_restarted"].tolist() == [False, True, False, False]
    assert_as_alone(vec.step(NOTHING), oracle, envs)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("notice", ["step", "call", "restart"])
def test_a_process_that_goes_between_steps(
    number: signal.Signals, notice: str, shared: VecEnv
) -> None:
    vec, oracle = shared, Oracle()
    vec.reset(seed=0)
    result = vec.step(NOTHING)
    assert_as_alone(result, oracle, [0, 1, 2, 3])
    os.kill(vec.worker_pids[1], number)
    if notice == "restart" and number == signal.SIGKILL:
        os.waitid(os.P_PID, vec.worker_pids[1], os.WEXITED | os.WNOWAIT)
        assert vec.restart_workers() == [2, 3]
    elif notice == "call":
        with pytest.raises(WorkerError, match=r"waiting for work|a call of `colour`") as raised:
            vec.get_attr("colour")
        assert raised.value.env_indices == [2, 3]
        with pytest.raises(WorkerError, match=r"waiting for work|a call of `colour`"):
            vec.get_attr("colour", indices=2)
        assert vec.get_attr("colour", indices=0) == (0,)
        with pytest.raises(WorkerError):
            vec.step(NOTHING)
        assert vec.restart_workers([3]) == [2, 3], "envs of one process go together"
    if notice == "step" or number == signal.SIGSTOP:
        if notice != "call":
            with pytest.raises(WorkerError):
                vec.step(NOTHING)
            assert vec.restart_workers() == [2, 3]
        result = vec.recv()
    else:
        result = vec.recv() if notice == "call" else vec.step(NOTHING)
    assert_as_alone(result, oracle, [0, 1])
    assert result[3].tolist() == [False, False, True, True]
    assert_as_alone(vec.step(NOTHING), oracle, [0, 1])


def test_what_an_env_raises_when_asked_costs_nothing(shared: VecEnv) -> None:
    vec, oracle = shared, Oracle()
    vec.reset(seed=0)
    with pytest.raises(ArithmeticError, match="off the table") as raised:
        vec.call("ask", "raise")
    assert "in make_trouble" in str(raised.value.__cause__)
    with pytest.raises(WorkerError, match="UnpicklableError: this and that in a call of `ask`"):
        vec.call("ask", "unpicklable")
    with pytest.raises(WorkerError, match="SystemExit: the dice are gone in a call of `ask`"):
        vec.call("ask", "sys.exit")
    with pytest.raises(UnsupportedError, match="arguments of `ask` cannot be sent"):
        vec.call("ask", lambda: None)
    with pytest.raises(UnsupportedError, match="reset options cannot be sent"):
        vec.reset(options={"hook": lambda: None})
    with pytest.raises(AttributeError, match="no_such"):
        vec.get_attr("no_such")
    with pytest.raises(UnsupportedError, match="the result of `call` cannot be sent"):
        vec.call("ask", "unsendable")
    assert vec.call("ask", "none") == ("none",) * NUM_ENVS
    assert_as_alone(vec.step(NOTHING), oracle, [0, 1, 2, 3])


@pytest.mark.parametrize("batch_size", [0, 1])
def test_what_infos_say_beyond_the_record_arrives(batch_size: int, open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Trouble-v0", 2, backend="async", num_workers=1, batch_size=batch_size)
    obs, info = vec.reset(seed=0)
    assert info["roll"].tolist() == obs[:, 1].tolist()
    vec.send([0, 0])
    ends = 0
    for _ in range(30):
        obs, reward, terminated, _, info = vec.recv()
        last = info["roll"].copy()
        if terminated.any():
            last[terminated] = info["final_info"]["roll"][terminated]
        assert last.tolist() == reward.tolist()
        assert info["roll"][terminated].tolist() == obs[terminated, 1].tolist()
        ends += terminated.sum()
        vec.send([0] * len(obs))
    assert ends > 0
    vec.send([TROUBLES.index("unsendable")] * len(vec.recv()[0]))

    def drain() -> None:
        while True:
            vec.recv()

    with pytest.raises(WorkerError, match=r"env 0 raised .*: its info cannot be sent"):
        drain()


@pytest.mark.parametrize("kind", ["die", "loop"])
def test_a_call_that_costs_the_process(kind: str, shared: VecEnv) -> None:
    vec, oracle = shared, Oracle()
    vec.reset(seed=0)
    with pytest.raises(WorkerError, match="while it was in a call of `ask`") as raised:
        vec.call("ask", kind, indices=3)
    assert raised.value.env_indices == [2, 3]
    with pytest.raises(WorkerError, match="a call of `ask`"):
        vec.step(NOTHING)
    assert vec.restart_workers() == [2, 3]
    result = vec.recv()
    assert_as_alone(result, oracle, [0, 1])
    assert result[3].tolist() == [False, False, True, True]


@pytest.mark.parametrize("what", ["step", "reset", "call"])
def test_slow_envs_are_not_taken_for_hung_while_each_gets_on(what: str, open_vec: OpenVec) -> None:
    """Four envs of 1.5 s each in a worker that may be without progress for 5 s."""
    vec = open_vec(
        "scripted:Trouble-v0", NUM_ENVS, backend="async", num_workers=1, worker_timeout=5
    )
    oracle = Oracle()
    vec.reset(seed=0)
    start = time.monotonic()
    if what == "step":
        assert_as_alone(vec.step([TROUBLES.index("slow")] * NUM_ENVS), oracle, [0, 1, 2, 3])
    elif what == "reset":
        vec.set_attr("at_reset", "slow")
        np.testing.assert_array_equal(vec.reset(seed=0)[0], oracle.obs)
        vec.set_attr("at_reset", "none")
    else:
        assert vec.call("ask", "slow") == ("slow",) * NUM_ENVS
    assert time.monotonic() - start >= NUM_ENVS * SLOW_SECONDS > 5
    assert_as_alone(vec.step(NOTHING), oracle, [0, 1, 2, 3])


def test_time_runs_out_and_nothing_is_lost(open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Trouble-v0", 2, backend="async", num_workers=2)
    oracle = Oracle()
    vec.reset(seed=0)
    pid = vec.worker_pids[1]
    os.kill(pid, signal.SIGSTOP)
    vec.send([0, 0])
    with pytest.raises(TimeoutError, match=r"of 2 envs were ready within 0\.2 s"):
        vec.recv(timeout=0.2)
    with pytest.raises(TimeoutError):
        vec.recv(timeout=0)
    os.kill(pid, signal.SIGCONT)
    assert_as_alone(vec.recv(), oracle, [0, 1])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("raise", r"env [01] raised ArithmeticError: .* in being made"),
        ("leave", "exited with status 7 while env [01] was being made"),
        (
            "loop",
            r"has not answered for 10 s \(running\) and was killed while env [01] was being made",
        ),
    ],
)
def test_a_start_that_fails(
    kind: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(dispatcher, "_SLOW_SECONDS", 1.0 if kind == "loop" else 60.0)
    note = tmp_path / "trouble"
    note.write_text(f"make {kind}")
    # Workers that are forked have imported all that they need, and start sooner.
    settings: Any = {"context": "forkserver", "start_timeout": 10} if kind == "loop" else {}
    settings |= {"backend": "async", "num_workers": 2, "env_kwargs": {"note": str(note)}}
    with pytest.raises(WorkerError, match=message) as raised:
        make_vec("scripted:Trouble-v0", 2, **settings)
    assert caplog.text.count("is not made after 1 s (worker") == (kind == "loop")
    if kind == "raise":
        assert isinstance(raised.value.__cause__, ArithmeticError)
    if kind != "leave":
        assert "in make_trouble" in str(raised.value)
    else:
        assert "went to stderr" in str(raised.value)
        assert "__main__" not in str(raised.value)


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_a_script_without_a_guard_is_told_so(context: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from atari_wrappers import make_vec\n"
        f"make_vec('CartPole-v1', 2, backend='async', num_workers=2, context={context!r})\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.count("Traceback") == 1, "workers leave it to the host to say what is wrong"
    # The host waits for no other worker once one has ended: it tells of one or of both.
    num_ended = run.stderr.count(" ended, as the main module")
    assert num_ended in (1, 2)
    assert run.stderr.count('outside of `if __name__ == "__main__":`') == num_ended


@pytest.mark.parametrize("num_workers", [1, 2])
def test_envs_of_one_batch_have_the_same_spaces(num_workers: int) -> None:
    with pytest.raises(UnsupportedError, match=r"env 1, .* takes Discrete\(.* must be the same"):
        make_vec("scripted:Odd-v0", 2, backend="async", num_workers=num_workers)


def test_spaces_are_sent_once_by_each_worker(
    open_vec: OpenVec, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    take = Dispatcher._take

    def spy(self: Dispatcher, worker: Any, message: Any) -> None:
        if message.kind == Kind.MADE:
            sizes.append(len(message.payload))
        take(self, worker, message)

    monkeypatch.setattr(Dispatcher, "_take", spy)
    open_vec("scripted:Pid-v0", 5, backend="async", num_workers=2)
    assert len(sizes) == 5
    assert sum(size > 0 for size in sizes) == 2


def test_an_id_that_workers_do_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gym.registry, "OnlyHere-v0", gym.spec("Dice-v0"))
    with pytest.raises(ValueError, match=r"in a worker process.*ask for `module:Name-v0`"):
        make_vec("OnlyHere-v0", 2, backend="async")


def test_errors_travel() -> None:
    sent = WorkerError("lost", [1, 2], "a reset", "File x", "; look for it")
    error = pickle.loads(pickle.dumps(sent))
    assert (error.env_indices, error.doing, error.remote_traceback) == ([1, 2], "a reset", "File x")
    assert (str(error), error.reason) == ("lost; look for it\n\nFile x", "lost")
