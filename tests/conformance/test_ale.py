"""The `ale` and `default` recipes are `AtariVectorEnv`'s, with all its randomness, over games."""

from __future__ import annotations

from typing import Any

import pytest
from games import make_game
from oracles import Ale, assert_alike
from quick_games import assert_each_shows, first_end

ROMS = {
    "Breakout": "breakout",
    "MsPacman": "ms_pacman",
    "Pong": "pong",
    "Seaquest": "seaquest",
    "SpaceInvaders": "space_invaders",
}


def id_of(name: str) -> str:
    return f"{name}NoFrameskip-v4"


@pytest.mark.parametrize(
    ("name", "steps", "sticky"),
    [
        ("Breakout", 400, 0.0),
        ("SpaceInvaders", 900, 0.25),
        ("MsPacman", 600, 0.0),
        ("Pong", 1000, 0.0),
    ],
)
def test_games_are_episodes(name: str, steps: int, sticky: float) -> None:
    ours = make_game(id_of(name), "ale", sticky_actions=sticky)
    theirs = Ale(ROMS[name], repeat_action_probability=sticky)
    seen = assert_alike(ours, theirs, steps, seed=11)
    assert seen["terminated"] >= 1
    assert seen["lost"] == 0
    assert seen["points"] >= 1


@pytest.mark.parametrize(("name", "steps"), [("Breakout", 250), ("Seaquest", 350)])
def test_lives_are_episodes_of_new_games(name: str, steps: int) -> None:
    ours = make_game(id_of(name), "ale", episodic_life=True, clip_reward=False)
    theirs = Ale(ROMS[name], episodic_life=True, reward_clipping=False)
    seen = assert_alike(ours, theirs, steps, seed=11)
    assert seen["terminated"] >= 2
    assert seen["lost"] == 0


@pytest.mark.parametrize(("name", "steps"), [("Breakout", 400), ("MsPacman", 600)])
def test_default_signals_lost_lives(name: str, steps: int) -> None:
    ours = make_game(id_of(name), "default")
    seen = assert_alike(ours, Ale(ROMS[name], life_loss_info=True), steps, seed=11)
    assert seen["lost"] >= 2
    assert seen["terminated"] >= 1


def test_default_without_episodic_life_is_the_vector_envs() -> None:
    ours = make_game(id_of("Breakout"), "default", episodic_life=False)
    seen = assert_alike(ours, Ale("breakout"), 400, seed=2)
    assert seen["terminated"] == seen["ended"] >= 1


# 10 frames would be over within no-ops and FIRE, which do not count here.
@pytest.mark.parametrize(("name", "max_frames"), [("Breakout", 10), ("MsPacman", 101)])
def test_time_limits(name: str, max_frames: int) -> None:
    ours = make_game(id_of(name), "ale", max_episode_frames=max_frames)
    theirs = Ale(ROMS[name], max_num_frames_per_episode=max_frames)
    seen = assert_alike(ours, theirs, 70, seed=5, reset_every=31)
    assert seen["truncated"] >= 2
    assert seen["cut"] >= 1


@pytest.mark.parametrize(("name", "is_life"), [("Breakout", False), ("SpaceInvaders", True)])
def test_end_and_time_limit_at_once(name: str, is_life: bool) -> None:
    end = first_end(id_of(name), "ale", 1, is_life, episodic_life=is_life)
    limit = end.frames - end.reset_frames
    ours = make_game(id_of(name), "ale", episodic_life=is_life, max_episode_frames=limit)
    theirs = Ale(ROMS[name], episodic_life=is_life, max_num_frames_per_episode=limit)
    seen = assert_alike(ours, theirs, end.steps + 20, seed=1)
    assert seen["both"] == seen["truncated"] == 0
    assert seen["terminated"] >= 1


# Breakout begins with FIRE, which MsPacman has not; MsPacman has more directions, and scores.
@pytest.mark.parametrize(
    ("name", "parts", "theirs"),
    [
        ("Breakout", {"frame_skip": 1, "noop_max": 6}, {"frameskip": 1, "noop_max": 7}),
        ("Breakout", {"frame_skip": 3, "noop_max": 0}, {"frameskip": 3, "noop_max": 0}),
        ("MsPacman", {"frame_skip": 2, "noop_max": 0}, {"frameskip": 2, "noop_max": 0}),
        ("MsPacman", {"grayscale": False}, {"grayscale": False}),
        ("MsPacman", {"screen_size": (70, 50)}, {"img_height": 70, "img_width": 50}),
        (
            "Breakout",
            {"screen_size": (210, 160), "frame_stack": 1},
            {"img_height": 210, "img_width": 160, "stack_num": 1},
        ),
        (
            "Breakout",
            {"full_action_space": True, "sticky_actions": 0.9},
            {"full_action_space": True, "repeat_action_probability": 0.9},
        ),
        ("Breakout", {"fire_reset": "off"}, {"use_fire_reset": False}),
        ("MsPacman", {"fire_reset": "off"}, {"use_fire_reset": False}),
        ("MsPacman", {"continuous": True}, {"continuous": True}),
        (
            "Breakout",
            {"continuous": True, "continuous_action_threshold": 0.1, "sticky_actions": 0.3},
            {
                "continuous": True,
                "continuous_action_threshold": 0.1,
                "repeat_action_probability": 0.3,
            },
        ),
    ],
)
def test_parts(name: str, parts: dict[str, Any], theirs: dict[str, Any]) -> None:
    # MsPacman stands still for 65 steps of 4 frames. A seed restarts the game for its no-ops.
    skip = parts.get("frame_skip", 4)
    steps, reset_every = 640 // skip, 400 // skip if "noop_max" in parts else 0
    ours = make_game(id_of(name), "ale", **parts)
    seen = assert_alike(ours, Ale(ROMS[name], **theirs), steps, 3, reset_every)
    assert seen["points"] >= (name == "MsPacman")
    assert_each_shows(seen["pictures"], parts, id_of(name), "ale", steps, 3, reset_every)
