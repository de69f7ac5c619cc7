"""What the `native` backend has of its own: threads beside Python's, consoles to look into."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from waiting import wait_until

from atari_wrappers import UnsupportedError, VecEnv, make_env, make_vec
from atari_wrappers.recipes import PRESETS

GAME = "SeaquestNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]


def test_python_threads_run_while_games_are_emulated(open_vec: OpenVec) -> None:
    # A step of some tenths of a second, in which a thread gets its turns on a busy machine, too.
    vec = open_vec(GAME, 8, backend="native", num_threads=1, frame_skip=1500)
    vec.reset(seed=0)
    ticks, ends = [0], threading.Event()

    def tick() -> None:
        while not ends.is_set():
            ticks[0] += 1
            time.sleep(1e-4)

    # Whoever has the GIL keeps it now, unless it lets go by itself.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=tick)
    try:
        vec.send([1] * 8)
        thread.start()
        first = ticks[0]
        vec.recv()
        last = ticks[0]
    finally:
        ends.set()
        sys.setswitchinterval(before)
        thread.join()
    assert last - first > 3


@pytest.mark.parametrize("way", ["close", "forget"])
def test_a_batch_that_goes_in_mid_step_leaves_the_callers_memory_alone(way: str) -> None:
    # A step of some tenths of a second, most of which is still to come once the first row is there.
    vec = make_vec(GAME, 8, backend="native", num_threads=2, frame_skip=1500)
    vec.reset(seed=0)
    out = np.zeros(vec.observation_space.shape, np.uint8)
    vec.send([1] * 8, out=out)
    wait_until(lambda: out.any())
    assert not out.any(axis=(1, 2, 3)).all(), "the step is in its midst"
    if way == "close":
        vec.close()
    del vec
    gc.collect()
    out[:] = 7
    time.sleep(0.5)
    assert (out == 7).all()


# Pictures after each kind of end, where the last frame may be one that nobody observes.
@pytest.mark.parametrize(
    "parts",
    [
        {"obs_type": "ram"},
        {"preset": "ale", "episodic_life": True},
        {
            "recipe": PRESETS["gymnasium"],
            "episodic_life": True,
            "sticky_actions": 0.25,
            "max_episode_frames": 777,
        },
    ],
)
def test_consoles_show_what_ales_show(parts: dict[str, Any]) -> None:
    ours, theirs = (make_env(GAME, backend=name, **parts) for name in ("native", "auto"))
    assert ours.get_action_meanings() == theirs.get_action_meanings()
    assert ours.ale.getMinimalActionSet() == theirs.ale.getMinimalActionSet()
    assert ours.ale.getLegalActionSet() == theirs.ale.getLegalActionSet()
    assert ours.ale.getScreenDims() == theirs.ale.getScreenDims()
    rng = np.random.default_rng(0)
    ends = 0
    results = [env.reset(seed=5) for env in (ours, theirs)]
    for _ in range(700):
        np.testing.assert_array_equal(results[0][0], results[1][0])
        assert results[0][-1] == results[1][-1]
        for name in ("getRAM", "getScreenRGB", "getScreenGrayscale", "getScreen", "lives"):
            left, right = (getattr(env.ale, name)() for env in (ours, theirs))
            np.testing.assert_array_equal(left, right, name)
        np.testing.assert_array_equal(ours.render(), theirs.render())
        assert ours.frame_number == theirs.frame_number
        if len(results[0]) == 5 and (results[0][2] or results[0][3]):
            assert ours.ale.game_over() == theirs.ale.game_over()
            ends += 1
            results = [env.reset() for env in (ours, theirs)]
        else:
            action = int(rng.integers(18))
            results = [env.step(action) for env in (ours, theirs)]
    assert ends >= 3


def test_memory_can_be_written() -> None:
    env = make_env(GAME, backend="native")
    env.reset(seed=0)
    boats = 59  # in reserve
    env.ale.setRAM(boats, 5)
    assert env.ale.getRAM()[boats] == 5
    assert env.step(0)[4]["lives"] == 6


def test_a_view_of_a_batch_is_stepped_by_the_batch_alone(open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend="native")
    vec.reset(seed=0)
    view = vec.get_sub_environments()[1]
    for call in (view.reset, lambda: view.step(0), lambda: view.np_random):
        with pytest.raises(UnsupportedError, match=r"the batch|in its states alone"):
            call()
    assert vec.get_attr("ale")[1].lives() == vec.step([0, 0])[4]["lives"][1]
