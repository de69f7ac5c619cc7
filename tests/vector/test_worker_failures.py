"""Envs and worker processes that fail, for real: what is reported, and how the batch goes on."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scripted import TROUBLES, DiceEnv

from atari_wrappers import UnsupportedError, VecEnv, WorkerError, make_vec
from atari_wrappers.backends.workers import pool

OpenVec = Callable[..., VecEnv]
NUM_ENVS = 4
NOTHING = [0] * NUM_ENVS
# Trouble that an env makes; what the report says; whether its whole process goes.
RAISING = {
    "raise": r"env 1 raised ArithmeticError: the dice fell off the table in {doing}",
    "unpicklable": "env 1 raised UnpicklableError: this and that in {doing}",
    "sys.exit": "env 1 raised SystemExit: the dice are gone in {doing}",
}
ENDING = {
    "die": r"worker 0, .*\(envs 0, 1\) was killed by SIGKILL while env 1 was in {doing}",
    "leave": "exited with status 7 while env 1 was in {doing}",
    "crash": "was killed by SIGSEGV while env 1 was in {doing}",
    "loop": r"has not answered for 1 s \(running\) and was killed while env 1 was in {doing}",
    "stop": r"has not answered for 1 s \(stopped\) and was killed while env 1 was in {doing}",
}


class Oracle:
    """The same envs stepped one by one, each restarted by hand as the mode says.

    In `disabled` mode an ended env restarts before its next step.
    """

    def __init__(self, mode: str = "same-step", seed: int = 0) -> None:
        self._mode = mode
        self._envs = [DiceEnv() for _ in range(NUM_ENVS)]
        self._ended = [False] * NUM_ENVS
        self.obs = [env.reset(seed=seed + index)[0] for index, env in enumerate(self._envs)]

    def step(self, index: int) -> tuple[np.ndarray, float, bool]:
        """Step one env, as a batch would; its observation, reward and end."""
        env, had_ended = self._envs[index], self._ended[index]
        if had_ended and self._mode != "same-step":
            self.obs[index] = env.reset()[0]
        if had_ended and self._mode == "next-step":
            self._ended[index] = False
            return self.obs[index], 0.0, False
        self.obs[index], reward, ended, _, _ = env.step(0)
        self._ended[index] = ended
        if ended and self._mode == "same-step":
            self.obs[index] = env.reset()[0]
        return self.obs[index], reward, ended


def assert_as_alone(result: Any, oracle: Oracle, envs: list[int]) -> None:
    """Compare a step's rows to those of envs that nothing happened to."""
    for index in envs:
        obs, reward, ended = oracle.step(index)
        np.testing.assert_array_equal(result[0][index], obs, f"env {index}")
        assert (result[1][index], result[2][index]) == (reward, ended), f"env {index}"
        assert not result[3][index]


def trouble(kind: str, env: int = 1) -> list[int]:
    """Actions of which one makes trouble."""
    return [TROUBLES.index(kind) if index == env else 0 for index in range(NUM_ENVS)]


@pytest.fixture(scope="module")
def shared() -> Iterator[VecEnv]:
    """A batch of two workers that outlives all its failures."""
    vec = make_vec(
        "scripted:Trouble-v0", NUM_ENVS, backend="async", num_workers=2, worker_timeout=1
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

    with pytest.raises(WorkerError, match=r"env 0 raised .*pickle"):
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
    assert len(starts) > 1, "each restart plays another game"


@pytest.mark.parametrize("kind", ["raise", "die"])
@pytest.mark.parametrize("when", ["make", "reset", "step"])
def test_restarts_that_fail_again_end(
    when: str, kind: str, open_vec: OpenVec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "trouble"
    monkeypatch.setenv("TROUBLE", str(note))
    vec = open_vec(
        "scripted:Trouble-v0", 2, backend="async", num_workers=2, on_worker_failure="restart"
    )
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


def test_an_env_that_hangs_while_it_is_made_anew(
    open_vec: OpenVec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "trouble"
    monkeypatch.setenv("TROUBLE", str(note))
    vec = open_vec("scripted:Trouble-v0", 2, backend="async", num_workers=2, worker_timeout=0.5)
    vec.reset()
    note.write_text("make loop")
    with pytest.raises(WorkerError, match="raised ArithmeticError"):
        vec.step([0, TROUBLES.index("raise")])
    with monkeypatch.context() as patched:
        patched.setattr(pool, "START_SECONDS", 0.5)
        with pytest.raises(WorkerError, match="env 1 was being made") as raised:
            vec.restart_workers()
    assert "in __init__" in raised.value.remote_traceback
    note.unlink()
    assert vec.restart_workers() == [1]
    assert vec.recv()[3].tolist() == [False, True]


def test_in_small_batches_the_others_go_on_without_the_one_that_hangs(open_vec: OpenVec) -> None:
    vec = open_vec(
        "scripted:Trouble-v0",
        NUM_ENVS,
        backend="async",
        batch_size=1,
        num_workers=NUM_ENVS,
        worker_timeout=2,
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

    with pytest.raises(WorkerError, match=r"has not answered for 2 s \(stopped\)") as raised:
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


def test_time_runs_out_and_nothing_is_lost(open_vec: OpenVec, tmp_path: Path) -> None:
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
    ("kind", "error", "message"),
    [
        ("raise", WorkerError, r"env [01] raised ArithmeticError: .* in being made"),
        ("leave", WorkerError, "exited with status 7 while env [01] was being made"),
    ],
)
def test_a_start_that_fails(
    kind: str,
    error: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    note = tmp_path / "trouble"
    note.write_text(f"make {kind}")
    monkeypatch.setenv("TROUBLE", str(note))
    with pytest.raises(error, match=message) as raised:
        make_vec("scripted:Trouble-v0", 2, backend="async", num_workers=2)
    if kind == "raise":
        assert isinstance(raised.value.__cause__, ArithmeticError)
        assert "in make_trouble" in str(raised.value)
    else:
        assert '__name__ == "__main__"' in str(raised.value)


def test_an_id_that_workers_do_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gym.registry, "OnlyHere-v0", gym.spec("Dice-v0"))
    with pytest.raises(ValueError, match=r"in a worker process.*ask for `module:Name-v0`"):
        make_vec("OnlyHere-v0", 2, backend="async")


def test_errors_travel() -> None:
    error = pickle.loads(pickle.dumps(WorkerError("lost", [1, 2], "a reset", "File x")))
    assert (error.env_indices, error.doing, error.remote_traceback) == ([1, 2], "a reset", "File x")
    assert str(error) == "lost\n\nFile x"
