"""A Python package of an environment in Rust, as Gymnasium and stable-baselines3 see it."""

from __future__ import annotations

import operator
import os
import re
import runpy
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import gymnasium as gym
import numpy as np
import pytest
from displays import screenshot
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from program import ROOT

# One process builds the package.
pytestmark = [pytest.mark.xdist_group("robot_arm"), pytest.mark.usefixtures("robot_arm")]
ENV_ID = "robot_arm:RobotArm-v0"
MODES = list(AutoresetMode)


def make(num_envs: int = 2, **settings: Any) -> Any:
    """Make a batch of arms."""
    return gym.make_vec(ENV_ID, num_envs, **settings)


def test_gymnasium_and_stable_baselines3_find_no_fault(
    display: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stable_baselines3.common.env_checker import check_env as check_sb3

    monkeypatch.setenv("DISPLAY", display)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(ENV_ID, render_mode="rgb_array").unwrapped)
        check_sb3(gym.make(ENV_ID).unwrapped)


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_a_batch_is_that_of_gymnasium(mode: AutoresetMode, num_threads: int) -> None:
    envs = make(4, max_steps=11, autoreset_mode=mode.value, num_threads=num_threads)
    single = [lambda: gym.make(ENV_ID, max_steps=11)] * 4
    expected = SyncVectorEnv(single, autoreset_mode=mode)
    for name in ("observation_space", "action_space", "single_observation_space"):
        assert getattr(envs, name) == getattr(expected, name), name
    assert envs.metadata["autoreset_mode"] == mode
    envs.action_space.seed(1)
    obs, info = envs.reset(seed=5)
    theirs, _ = expected.reset(seed=5)
    assert info == {}
    num_ends = 0
    for step in range(60):
        np.testing.assert_array_equal(obs, theirs)
        assert obs.dtype == theirs.dtype
        actions = envs.action_space.sample()
        obs, *flags, info = envs.step(actions)
        theirs, *their_flags, their_info = expected.step(actions)
        for ours, flag in zip(flags, their_flags, strict=True):
            np.testing.assert_array_equal(ours, flag.astype(ours.dtype))
        assert info.keys() == their_info.keys()
        ended = flags[1] | flags[2]
        num_ends += ended.sum()
        if "final_obs" in info:
            np.testing.assert_array_equal(info["_final_obs"], their_info["_final_obs"])
            for row in np.flatnonzero(ended):
                np.testing.assert_array_equal(info["final_obs"][row], their_info["final_obs"][row])
        if mode == AutoresetMode.DISABLED and ended.any():
            seeds = [step + row if row % 2 else None for row in range(4)]
            obs, _ = envs.reset(seed=seeds, options={"reset_mask": ended})
            theirs, _ = expected.reset(seed=seeds, options={"reset_mask": ended.copy()})
    assert num_ends > 8


@pytest.mark.parametrize("mode", MODES)
def test_batches_go_on_from_saved_states(mode: AutoresetMode) -> None:
    envs, other = (make(3, max_steps=5, autoreset_mode=mode.value) for _ in range(2))
    obs, _ = envs.reset(seed=1)
    actions = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
    for _ in range(5):
        obs, *_ = envs.step(actions)
    states = envs.save_state()
    np.testing.assert_array_equal(other.restore_state(states), obs)
    if mode == AutoresetMode.DISABLED:
        with pytest.raises(gym.error.ResetNeeded, match=r"envs \[0, 1, 2\] need a reset"):
            other.step(actions)
        return
    for _ in range(12):
        for ours, theirs in zip(other.step(actions)[:4], envs.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)
    before = envs.save_state()
    for bad in ([], states[:2], [*states[:2], b""], [*states[:2], states[2][:-1]]):
        with pytest.raises(ValueError, match="saved state"):
            envs.restore_state(bad)
    assert envs.save_state() == before, "all or none"


def test_an_env_goes_on_from_its_saved_state() -> None:
    env, other = gym.make(ENV_ID).unwrapped, gym.make(ENV_ID).unwrapped
    obs, _ = env.reset()
    assert not np.array_equal(obs, other.reset()[0]), "without seeds they differ"
    np.testing.assert_array_equal(other.restore_state(env.save_state()), obs)
    action = np.float32([1, -1])
    np.testing.assert_array_equal(env.step(action)[0], other.step(action)[0])


def test_pictures_show_the_arm() -> None:
    envs = make(render_mode="rgb_array")
    envs.reset(seed=1)
    first, second = envs.render()
    assert (first.shape, first.dtype) == ((320, 320, 3), np.uint8)
    assert not np.array_equal(first, second)
    envs.step(np.ones((2, 2), np.float32))
    assert not np.array_equal(first, envs.render()[0])
    assert envs.metadata["render_fps"] == 20
    with pytest.raises(ValueError, match="render_mode must be one of"):
        make(render_mode="ansi")


@pytest.mark.parametrize(
    ("actions", "kind", "words"),
    [
        (np.zeros((3, 2), np.float32), ValueError, r"shape \[3, 2\]; 2 envs take \[2, 2\]"),
        ([[0, 0], [0]], ValueError, "same shape for each env"),
        (np.float32([[0, 0], [0, 1.5]]), ValueError, r"action \[0.0, 1.5\] of environment 1"),
        (np.float32([[np.nan, 0], [0, 0]]), ValueError, "of environment 0 is outside"),
        (np.array([["a", "b"]] * 2), TypeError, "actions must be float32"),
    ],
)
def test_actions_are_checked(actions: Any, kind: type[Exception], words: str) -> None:
    envs = make()
    envs.reset(seed=0)
    with pytest.raises(kind, match=words):
        envs.step(actions)
    envs.step(np.float64([[0, 0], [1, -1]]))  # numpy's own numbers, and lists, will do
    envs.step([[0, 0], [1, -1]])


def test_calls_out_of_order_are_gymnasiums_errors(robot_arm: ModuleType) -> None:
    envs, actions = make(), np.zeros((2, 2), np.float32)
    with pytest.raises(gym.error.ResetNeeded, match="step: call reset first"):
        envs.step(actions)
    mask = np.array([True, False])
    with pytest.raises(robot_arm.ResetNeededError, match="must be of all"):
        envs.reset(options={"reset_mask": mask})
    envs.reset()
    with pytest.raises(gym.error.NoAsyncCallError, match="recv: nothing was sent"):
        envs.recv()
    envs.send(actions)
    for call in (lambda: envs.send(actions), envs.reset, envs.save_state):
        with pytest.raises(gym.error.AlreadyPendingCallError, match="call recv first"):
            call()
    envs.recv()
    for seed, kind in ((-1, ValueError), ([1], ValueError), (1.5, TypeError), (2**63, ValueError)):
        with pytest.raises(kind, match=r"seed|float"):
            envs.reset(seed=seed)
    with pytest.raises(ValueError, match="knows none of start"):
        envs.reset(options={"start": 1})
    envs.close()
    envs.close()
    for call in (lambda: envs.step(actions), envs.reset, envs.save_state):
        with pytest.raises(gym.error.ClosedEnvironmentError, match="is closed"):
            call()


def test_settings_are_those_of_the_function_in_rust() -> None:
    with pytest.raises(ValueError, match="max_steps must be at least 1, not 0"):
        gym.make(ENV_ID, max_steps=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_step'"):
        make(max_step=3)
    for settings in ({"num_threads": -1}, {"autoreset_mode": "never"}):
        with pytest.raises(ValueError, match=r"num_threads|never"):
            make(**settings)
    with pytest.raises(ValueError, match="num_envs must be at least 1"):
        make(0)


def test_the_guides_example_runs() -> None:
    page = (ROOT / "docs/own-environments.md").read_text()
    [one, several] = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(one, names)
    assert names["picture"].shape == (320, 320, 3)
    assert names["obs"].shape == (8, 6)
    exec(several, names)
    assert {name: obs.shape for name, obs in names["obs"].items()} == {
        f"arm_{index}": (6,) for index in range(3)
    }


def test_the_gil_is_free_while_envs_step() -> None:
    envs = make(100_000, num_threads=1)
    envs.reset()
    counts, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counts[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    envs.send(np.zeros((100_000, 2), np.float32))
    # All in C: the interpreter itself hands the GIL on after a call from Python.
    look = partial(counts.__getitem__, 0)
    before, _, after = map(operator.call, (look, envs._envs._batch.recv, look))
    done.set()
    thread.join()
    assert after - before > 100


def test_a_forked_child_leaves_the_threads_alone() -> None:
    envs = make(num_threads=2)
    envs.reset()
    pid = os.fork()
    if pid == 0:
        try:
            envs.close()
        except RuntimeError as error:
            os._exit(0 if "another process" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_forked_child_goes_on_where_there_are_no_threads() -> None:
    envs = make(num_threads=1)
    envs.reset()
    pid = os.fork()
    if pid == 0:
        try:
            envs.step(np.zeros((2, 2), np.float32))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_stable_baselines3_trains_on_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train_sb3.py", "2048"])
    runpy.run_path(str(ROOT / "examples/robot_arm/train_sb3.py"), run_name="__main__")
    assert "2048 steps in" in capsys.readouterr().out


def test_a_window_shows_each_step(
    display: str, monkeypatch: pytest.MonkeyPatch, robot_arm: ModuleType
) -> None:
    monkeypatch.setenv("DISPLAY", display)
    pictures = gym.make(ENV_ID, render_mode="rgb_array")
    with closing(gym.make(ENV_ID, render_mode="human")) as env:
        for each in (env, pictures):
            each.reset(seed=1)
            each.step(np.float32([1, -1]))
        assert env.render() is None
        picture = pictures.render()
        assert placed(picture, screenshot(display))
    assert not placed(picture, screenshot(display))
    # What there is not is one line.
    monkeypatch.delenv("DISPLAY")
    env = gym.make(ENV_ID, render_mode="human")
    with closing(env), pytest.warns(UserWarning, match="there is no display"):
        env.reset()
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(gym.error.DependencyNotInstalled, match="pip install pygame"):
        robot_arm.RobotArm(render_mode="human")


def placed(picture: np.ndarray, screen: np.ndarray) -> bool:
    """Whether a screen shows a picture anywhere, with no frame around it."""
    height, width, _ = picture.shape
    lit = np.argwhere(screen.any(axis=2))
    if not len(lit):
        return False
    top, left = lit.min(axis=0)
    return np.array_equal(screen[top : top + height, left : left + width], picture)


def test_an_environment_in_rust_is_watched_from_rust(
    display: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "vec_env"]
    watch += ["--target-dir", str(ROOT / "target"), "--features", "window", "--example", "watch"]

    def start(name: str) -> subprocess.Popen[str]:
        command = [*watch, "--", name]
        return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)

    monkeypatch.setenv("DISPLAY", display)
    process = start("mountain-car")
    deadline = time.monotonic() + 120
    while not (screen := screenshot(display)).any() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    lit = np.argwhere(screen.any(axis=2))
    assert np.array_equal(np.ptp(lit, axis=0) + 1, [400, 600])
    assert {(255, 255, 255), (204, 204, 0)} <= {*map(tuple, screen.reshape(-1, 3).tolist())}
    process.terminate()
    process.communicate(timeout=30)
    monkeypatch.delenv("DISPLAY")
    process = start("pendulum")
    assert "no window can be opened" in process.communicate(timeout=30)[1]
    assert process.returncode == 1


def test_a_reset_comes_next_where_ctrl_c_broke_a_step_off(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gym.make(ENV_ID).unwrapped
    expected = env.reset(seed=3)[0]
    with monkeypatch.context() as patch:
        patch.setattr(env._envs, "recv", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            env.step(env.action_space.sample())
    with pytest.raises(gym.error.ResetNeeded):
        env.step(env.action_space.sample())
    np.testing.assert_array_equal(env.reset(seed=3)[0], expected)
    env.step(env.action_space.sample())


@pytest.mark.parametrize("num_envs", [None, 2])
def test_a_step_that_was_broken_off_is_dropped_by_a_reset(num_envs: int | None) -> None:
    """Ctrl-C may come behind the call that begins a step, of which Python then knows nothing."""
    env = gym.make(ENV_ID).unwrapped if num_envs is None else make(num_envs).unwrapped
    expected = env.reset(seed=3)[0]
    envs = env._envs
    envs.send(np.zeros(envs._action_shape, np.float32))
    envs._pending = False
    np.testing.assert_array_equal(env.reset(seed=3)[0], expected)
    env.step(env.action_space.sample())
