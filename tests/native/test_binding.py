"""The module `atari_core` itself: what it refuses, and how; threads, signals, processes."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ale_py import roms
from checksums import GAME, checksum

from atari_core import AtariVecEnv, actions, obstacle
from atari_wrappers import UnsupportedError, VecEnv, make_vec
from atari_wrappers.recipes import PRESETS

ROM = str(roms.get_rom_path("breakout"))
RECIPE = asdict(PRESETS["default"])
OpenVec = Callable[..., VecEnv]

# Python warns of forks in a process with threads, which is what this is about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def batch(num_envs: int = 2, **parts: Any) -> AtariVecEnv:
    return AtariVecEnv([ROM], num_envs, RECIPE | parts)


def test_what_cannot_be_made_is_named(tmp_path: Path) -> None:
    other, missing = tmp_path / "breakout.bin", tmp_path / "none.bin"
    other.write_bytes(bytes(2048))
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: AtariVecEnv([missing], 1, RECIPE), FileNotFoundError, f"read the ROM {missing}"),
        (lambda: AtariVecEnv([tmp_path], 1, RECIPE), IsADirectoryError, f"the ROM {tmp_path}: "),
        (lambda: AtariVecEnv([other], 1, RECIPE), ValueError, "breakout: no game has the MD5 c99a"),
        (lambda: actions(other), ValueError, "known are the ROMs that ale-py ships"),
        (lambda: AtariVecEnv([], 1, RECIPE), ValueError, "0 cartridges for 1 environments"),
        (lambda: AtariVecEnv([ROM] * 2, 3, RECIPE), ValueError, "2 cartridges for 3 environments"),
        (lambda: batch(0), ValueError, "a batch of 0 environments"),
        (lambda: batch(frame_skip=0), ValueError, "frame_skip must be at least 1, not 0"),
        (lambda: batch(frame_skip=2.5), ValueError, r"frame_skip=2\.5 is no part"),
        (lambda: batch(pooling="all"), ValueError, "pooling=all is no part"),
        (lambda: batch(skip=4), ValueError, "skip=4 is no part of a recipe"),
        (lambda: batch(pooling=object()), TypeError, "pooling=<object .* is no value"),
        (lambda: batch(screen_size=(10**6, 84)), ValueError, "at most 32768, not 1000000"),
        (
            lambda: batch(sticky_actions=float("nan")),
            ValueError,
            "sticky_actions must be finite, not nan",
        ),
        (lambda: batch(mode=3), ValueError, r"breakout has no mode 3; it has \[0, 4"),
        (lambda: AtariVecEnv([ROM], 1, RECIPE, autoreset="later"), ValueError, "not later"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()
    assert "no game has the MD5" in obstacle(str(other), RECIPE)
    assert str(missing) in obstacle(str(missing), RECIPE)


def test_calls_that_do_not_fit_change_nothing() -> None:
    env, twin = batch(), batch()
    obs, expected = (np.zeros((2, 4, 84, 84), np.uint8) for _ in range(2))
    noops = np.zeros(2, np.int64)
    for call in (lambda: env.send(noops, obs), lambda: env.save_states([0])):
        with pytest.raises(RuntimeError, match="call reset first"):
            call()
    for address in (128, 300, -1):
        with pytest.raises(ValueError, match=f"addresses are 0 to 127, not {address}"):
            env.set_ram(0, address, 1)
    for value in (256, -1):
        with pytest.raises(ValueError, match=f"a value is 0 to 255, not {value}"):
            env.set_ram(0, 3, value)
    np.testing.assert_array_equal(env.ram(0), twin.ram(0))
    for each in (env, twin):
        each.begin_reset([0, 1], [3, 4], True)
    with pytest.raises(RuntimeError, match="environment 0 is in flight"):
        env.ram(0)
    for each in (env, twin):
        assert each.receive(2) == [0, 1]
    states = env.save_states([0, 1])
    read_only = obs.copy()
    read_only.flags.writeable = False
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: env.send(np.array([0, 4]), obs), ValueError, "action 4 of environment 1"),
        (lambda: env.send(np.array([0, -1]), obs), ValueError, "action -1 of environment 1"),
        (lambda: env.send(noops[:1], obs), ValueError, "expected 2 actions"),
        (lambda: env.send(noops.astype(np.int32), obs), TypeError, "an array of int64"),
        (lambda: env.send(noops, obs[:1]), ValueError, "buffer of 56448 bytes .* got 28224"),
        (lambda: env.send(noops, read_only), ValueError, "writable and C-contiguous"),
        (lambda: env.send(noops, obs[..., ::-1]), ValueError, "writable and C-contiguous"),
        (lambda: env.begin_step(noops, [0, 0]), RuntimeError, "in flight, or named twice"),
        (lambda: env.begin_step(noops, [0, 2]), ValueError, "no environment 2 among 0 to 1"),
        (lambda: env.begin_reset([0, 1], [3], True), ValueError, "1 seeds for 2 environments"),
        (lambda: env.restore_states([0], states), ValueError, "2 states for 1 environments"),
        (lambda: env.restore_states([0, 1], [states[0], b"no"]), ValueError, "environment 1: its"),
        (lambda: env.read([0, 1], obs, [True]), ValueError, "took_part has 1 flags for 2"),
        (lambda: env.receive(1), RuntimeError, "call send first"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()
    for each, destination in ((env, obs), (twin, expected)):
        each.send(noops + 1, destination)
        each.recv()
    np.testing.assert_array_equal(obs, expected)
    assert env.save_states([0, 1]) == twin.save_states([0, 1])
    env.close()
    for call in (lambda: env.ram(0), env.recv, lambda: env.read([0])):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_actions_in_another_order_are_refused() -> None:
    """Columns side by side, as `np.stack(columns).T` has them, would be read as other actions."""
    polar = np.array([[1, 1, 0], [-3, 3, 0], [0, 0, 1]], np.float32)
    pong = str(roms.get_rom_path("pong"))
    for env, columns in [
        (batch(3, continuous=True), polar),
        (AtariVecEnv([pong], 2, RECIPE, num_players=2), np.array([[0, 1], [2, 3]])),
    ]:
        rows, env_ids = columns.T, list(range(env.num_envs))
        env.begin_reset(env_ids, env_ids, True)
        env.receive(env.num_envs)
        with pytest.raises(TypeError, match="and C-contiguous"):
            env.begin_step(rows, env_ids)
        env.begin_step(np.ascontiguousarray(rows), env_ids)
        assert env.receive(env.num_envs) == env_ids


def test_roms_come_from_the_folder_that_ale_pys_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_vec: OpenVec
) -> None:
    folder = tmp_path / "roms"
    folder.mkdir()
    shutil.copy(ROM, folder)
    monkeypatch.setenv("ALE_ROMS_DIR", str(folder))
    vec = open_vec(GAME, 1, backend="native")
    assert vec.reset(seed=0)[0].any()
    (folder / "breakout.bin").unlink()
    with pytest.raises(FileNotFoundError, match=str(folder / "breakout.bin")):
        make_vec(GAME, 1, backend="native")
    # What ale-py does not look at is refused by the MD5.
    (folder / "breakout.bin").write_bytes(Path(__file__).read_bytes())
    with pytest.raises(UnsupportedError, match="no game has the MD5"):
        make_vec(GAME, 1, backend="native")


def test_batches_in_threads_and_processes_play_as_alone() -> None:
    alone = [checksum(seed) for seed in range(4)]
    assert len(set(alone)) == 4
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(checksum, range(4))) == alone
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(1, mp_context=context) as processes:
        assert list(processes.map(checksum, range(2))) == alone[:2]
    # A fork has none of the threads of the batches here, and makes its own.
    with make_vec(GAME, 2, backend="native", num_threads=2) as vec:
        vec.reset(seed=0)
        child = os.fork()
        if child == 0:
            os._exit(0 if checksum(0) == alone[0] else 1)
        assert os.waitpid(child, 0)[1] == 0
        vec.step([0, 0])


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_forked_child_leaves_the_threads_alone(num_threads: int) -> None:
    """It would wait for ever for threads that it has not; without any it plays on by itself."""
    env = AtariVecEnv([ROM], 2, RECIPE, num_threads=num_threads)
    env.begin_reset([0, 1], [0, 1], True)
    env.receive(2)
    obs, noops = np.zeros((2, 4, 84, 84), np.uint8), np.zeros(2, np.int64)
    env.send(noops, obs)
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        status = 1
        try:
            env.recv()
            status = 0 if num_threads == 1 else 2
        except RuntimeError as error:
            status = 0 if num_threads == 2 and "another process" in str(error) else 3
        finally:
            del env  # which waits for no thread
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    env.recv()


def test_a_thread_that_looks_waits_for_the_step_of_another() -> None:
    env = batch(4, frame_skip=60)
    obs, noops = np.zeros((4, 4, 84, 84), np.uint8), np.zeros(4, np.int64)
    env.begin_reset([0, 1, 2, 3], [0, 1, 2, 3], True)
    env.receive(4)
    refusals: set[str] = set()
    looks, is_done = [0], threading.Event()

    def look() -> None:
        while not is_done.is_set():
            try:
                looks[0] += len(env.ram(looks[0] % 4)) // 128
            except RuntimeError as error:
                refusals.add(str(error))
            time.sleep(0)

    thread = threading.Thread(target=look)
    thread.start()
    # How often it comes between two steps is the scheduler's.
    deadline, steps = time.monotonic() + 60, 0
    try:
        while steps < 300 or (looks[0] <= 100 and time.monotonic() < deadline):
            env.send(noops, obs)
            env.recv()
            steps += 1
    finally:
        is_done.set()
        thread.join()
    assert looks[0] > 100
    # Between `send` and `recv`: at other times there is nothing to refuse.
    assert all("is in flight" in refusal for refusal in refusals), refusals


def test_ctrl_c_comes_between_two_steps(open_vec: OpenVec) -> None:
    """Soon, and the batch goes on."""
    draws = random.Random(0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(8):
            vec = open_vec(GAME, 16, backend="native", num_threads=2)
            vec.reset(seed=0)
            interrupt = (threading.main_thread().ident, signal.SIGINT)
            timer = threading.Timer(draws.uniform(0, 0.05), signal.pthread_kill, interrupt)
            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012
                timer.start()
                while True:
                    vec.step([1] * 16)
            assert time.monotonic() - began < 5
            vec.reset()
            vec.step([0] * 16)
    finally:
        signal.signal(signal.SIGINT, before)
