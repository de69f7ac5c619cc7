"""The `envpool` recipe is EnvPool's, with all its randomness, over whole games."""

from __future__ import annotations

from typing import Any

import pytest
from games import make_game
from oracles import EnvPool, assert_alike
from quick_games import assert_each_shows, first_end

LIVES = {"episodic_life": True, "reward_clip": True}
OUR_LIVES = {"episodic_life": True, "clip_reward": True}


def id_of(name: str) -> str:
    return f"{name}NoFrameskip-v4"


@pytest.mark.parametrize(
    ("name", "steps", "sticky"),
    [
        ("Breakout", 400, 0.0),
        ("SpaceInvaders", 700, 0.25),
        ("MsPacman", 600, 0.0),
        ("Pong", 1000, 0.0),
    ],
)
def test_games_are_episodes(name: str, steps: int, sticky: float) -> None:
    ours = make_game(id_of(name), "envpool", sticky_actions=sticky)
    theirs = EnvPool(f"{name}-v5", 11, repeat_action_probability=sticky)
    seen = assert_alike(ours, theirs, steps, seed=11)
    assert seen["terminated"] >= 1
    assert seen["cut"] >= 1
    assert seen["points"] >= 1


@pytest.mark.parametrize(("name", "steps"), [("Breakout", 400), ("Seaquest", 600)])
def test_lives_are_episodes_of_the_same_game(name: str, steps: int) -> None:
    ours = make_game(id_of(name), "envpool", **OUR_LIVES)
    seen = assert_alike(ours, EnvPool(f"{name}-v5", 11, **LIVES), steps, seed=11)
    assert seen["lost"] >= 3
    assert seen["terminated"] >= 1


@pytest.mark.parametrize(
    ("name", "max_steps", "lives"), [("Breakout", 51, True), ("MsPacman", 10, False)]
)
def test_time_limits(name: str, max_steps: int, lives: bool) -> None:
    ours = make_game(id_of(name), "envpool", max_episode_steps=max_steps, episodic_life=lives)
    theirs = EnvPool(f"{name}-v5", 5, max_episode_steps=max_steps, episodic_life=lives)
    assert assert_alike(ours, theirs, 150, seed=5)["truncated"] >= 2


@pytest.mark.parametrize(("name", "is_life"), [("Breakout", True), ("MsPacman", False)])
def test_end_and_time_limit_at_once(name: str, is_life: bool) -> None:
    end = first_end(id_of(name), "envpool", 1, is_life, episodic_life=is_life)
    ours = make_game(id_of(name), "envpool", episodic_life=is_life, max_episode_steps=end.steps)
    theirs = EnvPool(f"{name}-v5", 1, episodic_life=is_life, max_episode_steps=end.steps)
    seen = assert_alike(ours, theirs, end.steps + 20, seed=1)
    assert seen["truncated"] == 1
    assert seen["terminated"] == 0


# Breakout begins with FIRE, which MsPacman has not; MsPacman has more directions, and scores.
@pytest.mark.parametrize(
    ("name", "parts", "theirs"),
    [
        ("Breakout", {"frame_skip": 1, "noop_max": 7}, {"frame_skip": 1, "noop_max": 7}),
        ("MsPacman", {"frame_skip": 2, "noop_max": 7}, {"frame_skip": 2, "noop_max": 7}),
        ("Breakout", {"frame_skip": 3, "frame_stack": 1}, {"frame_skip": 3, "stack_num": 1}),
        ("MsPacman", {"grayscale": False}, {"gray_scale": False}),
        ("MsPacman", {"screen_size": (70, 50)}, {"img_height": 70, "img_width": 50}),
        (
            "Breakout",
            {"full_action_space": True, "sticky_actions": 0.6},
            {"full_action_space": True, "repeat_action_probability": 0.6},
        ),
        ("Breakout", {"fire_reset": "off"}, {"use_fire_reset": False}),
        ("MsPacman", {"fire_reset": "off"}, {"use_fire_reset": False}),
    ],
)
def test_parts(name: str, parts: dict[str, Any], theirs: dict[str, Any]) -> None:
    ours = make_game(id_of(name), "envpool", **parts)
    steps = 600 // parts.get("frame_skip", 4)
    seen = assert_alike(ours, EnvPool(f"{name}-v5", 3, **theirs), steps, seed=3)
    assert seen["points"] >= (name == "MsPacman")
    assert_each_shows(seen["pictures"], parts, id_of(name), "envpool", steps, 3)
