"""The backends `ale` and `native` against `sync`, with all that is random.

That the games of `sync` are those of ALE's own vector env, `conformance/test_ale.py` shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from twins import assert_same

from atari_wrappers import UnsupportedError, VecEnv

NUM_ENVS = 2
OpenVec = Callable[..., VecEnv]


def rom_id(rom: str) -> str:
    return "".join(part.capitalize() for part in rom.split("_")) + "NoFrameskip-v4"


# `sync` derives nothing: its games count for themselves. The last number says how many episodes
# end at least.
@pytest.mark.parametrize(
    ("rom", "settings", "ends"),
    [
        ("space_invaders", {"sticky_actions": 0.25}, 2),
        ("breakout", {}, 12),
        ("breakout", {"preset": "ale", "episodic_life": True, "sticky_actions": 0.25}, 12),
        ("seaquest", {"max_episode_frames": 301}, 4),
        ("ms_pacman", {"preset": "ale", "autoreset": "next-step", "max_episode_frames": 203}, 6),
        ("breakout", {"episodic_life": False}, 0),
        ("pong", {"max_episode_frames": 0, "clip_reward": False}, 0),
        ("ms_pacman", {"noop_max": 5, "frame_skip": 1}, 0),
        ("freeway", {"fire_reset": False}, 0),
        ("breakout", {"continuous": True, "continuous_action_threshold": 0.3}, 4),
        (
            "seaquest",
            {
                "grayscale": False,
                "screen_size": (60, 100),
                "frame_stack": 2,
                "full_action_space": True,
            },
            1,
        ),
    ],
)
def test_ale_and_native_say_what_sync_says(
    rom: str, settings: dict, ends: int, open_vec: OpenVec
) -> None:
    names = ("ale", "native", "sync")
    ale, native, sync = (open_vec(rom_id(rom), 2, backend=name, **settings) for name in names)
    expected = sync.reset(seed=3)
    for vec in (ale, native):
        assert_same(vec.reset(seed=3), expected, None, "the first reset")
    ale.action_space.seed(0)
    ended = 0
    for step in range(300):
        actions = ale.action_space.sample()
        other = sync.step(actions)
        for vec in (ale, native):
            assert_same(vec.step(actions), other, None, f"step {step}")
        ended += int((other[2] | other[3]).sum())
        if step % 100 == 99:
            mask = np.array([step % 200 == 99, True])
            seed = [step, None] if step < 200 else None
            other = sync.reset(seed=seed, mask=mask)
            for vec in (ale, native):
                assert_same(vec.reset(seed=seed, mask=mask), other, None, f"reset at step {step}")
    assert ended >= ends


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_an_ended_env_can_be_reset_by_hand(autoreset: str, open_vec: OpenVec) -> None:
    settings = {"preset": "ale", "autoreset": autoreset, "max_episode_frames": 30}
    ale, sync = (open_vec(rom_id("pong"), 2, backend=name, **settings) for name in ("ale", "sync"))
    ale.reset(seed=0)
    sync.reset(seed=0)
    by_hand = 0
    for step in range(60):
        results = [vec.step([step % 6, 2]) for vec in (ale, sync)]
        assert_same(*results, None, f"step {step}")
        ended = results[0][3]
        if ended.any() and step % 2:
            resets = [vec.reset(mask=ended) for vec in (ale, sync)]
            assert_same(*resets, None, f"reset at step {step}")
            by_hand += 1
    assert by_hand >= 2


def test_what_ale_cannot_do_it_refuses_and_goes_on(open_vec: OpenVec) -> None:
    vec, twin = (open_vec("BreakoutNoFrameskip-v4", 2, backend="ale") for _ in range(2))
    vec.reset(seed=0)
    twin.reset(seed=0)
    refused: list[Callable[[], Any]] = [
        lambda: vec.step([1], env_id=[0]),
        lambda: vec.call("get_action_meanings"),
        lambda: vec.get_attr("ale"),
        lambda: vec.set_attr("ale", None),
        lambda: vec.get_sub_environments(),
        lambda: vec.save_state(),
        lambda: vec.restore_state([b"", b""]),
    ]
    for call in refused:
        words = r'backend "ale".*use backend="native", "sync" or "async"'
        with pytest.raises(UnsupportedError, match=words):
            call()
    assert vec.restart_workers() == []
    assert_same(vec.step([1, 2]), twin.step([1, 2]), None, "the step after")


def test_a_life_lost_with_the_last_frame_is_truncated_on_every_backend(open_vec: OpenVec) -> None:
    settings = {"noop_max": 0, "fire_reset": False}

    def play(backend: str, steps: int, limit: int = 0) -> list[tuple]:
        vec = open_vec(
            "BreakoutNoFrameskip-v4", 1, backend=backend, max_episode_frames=limit, **settings
        )
        vec.reset(seed=0)
        return [vec.step([1]) for _ in range(steps)]

    lost = next(step for step, result in enumerate(play("sync", 200)) if result[2][0])
    frames = 4 * (lost + 1)
    for backend in ("sync", "ale", "native"):
        *_, (_, _, terminated, truncated, info) = play(backend, lost + 1, frames)
        assert (terminated[0], truncated[0]) == (False, True)
        assert (info["game_terminated"][0], info["game_truncated"][0]) == (False, True)
        assert info["episode"]["frames"][0] == frames


@pytest.mark.parametrize("backend", ["ale", "native", "sync"])
def test_a_game_given_up_for_a_lost_life_is_recorded(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(
        "BreakoutNoFrameskip-v4", 1, backend=backend, preset="ale", episodic_life=True, noop_max=0
    )
    vec.reset(seed=0)
    steps = 0
    terminated = [False]
    while not terminated[0]:
        _, _, terminated, _, info = vec.step([1])
        steps += 1
    assert info["game_terminated"][0]
    assert info["_episode"][0]
    assert info["episode"]["l"][0] == steps
    assert (info["final_info"]["lives"][0], info["lives"][0]) == (4, 5)


def test_returns_agree_in_a_game_that_scores_during_its_no_ops(open_vec: OpenVec) -> None:
    game, plays = "SkiingNoFrameskip-v4", {}
    limits = {"max_episode_frames": 300, "clip_reward": False}
    for backend in ("ale", "sync"):
        vec = open_vec(game, NUM_ENVS, backend=backend, **limits)
        infos = [vec.reset(seed=3)[1], *(vec.step([1, 2])[4] for _ in range(100))]
        assert any("episode" in info for info in infos)
        plays[backend] = [info["episode_return"] for info in infos]
        assert infos[1]["episode_return"].tolist() == infos[1]["raw_reward"].tolist()
    np.testing.assert_array_equal(plays["ale"], plays["sync"])
    reset = open_vec(game, NUM_ENVS, preset="baselines").reset(seed=3)[1]
    assert (reset["episode_return"] < 0).all(), "as Monitor counts"
