"""The `baselines` recipe is stable-baselines3's, over whole games."""

from __future__ import annotations

from typing import Any

import pytest
from games import make_game
from oracles import Baselines, assert_alike
from quick_games import assert_each_shows, first_end

SCORING = {"terminal_on_life_loss": False, "clip_reward": False}
OUR_SCORING = {"episodic_life": False, "clip_reward": False}


# MsPacman has no FIRE and Freeway neither FIRE nor lives; Pong takes points away.
@pytest.mark.parametrize(
    ("name", "steps"), [("Breakout", 450), ("Seaquest", 500), ("MsPacman", 550)]
)
def test_lives_are_episodes(name: str, steps: int) -> None:
    env_id = f"{name}NoFrameskip-v4"
    seen = assert_alike(make_game(env_id, "baselines"), Baselines(env_id), steps, seed=11)
    assert seen["lost"] >= 2
    assert seen["terminated"] >= 1
    assert seen["cut"] >= 1
    assert seen["points"] >= 2


@pytest.mark.parametrize(
    ("name", "steps", "games"), [("Breakout", 450, 2), ("Pong", 1000, 1), ("Freeway", 60, 0)]
)
def test_games_are_episodes(name: str, steps: int, games: int) -> None:
    env_id = f"{name}NoFrameskip-v4"
    ours = make_game(env_id, "baselines", **OUR_SCORING)
    seen = assert_alike(ours, Baselines(env_id, **SCORING), steps, seed=11)
    assert seen["lost"] == 0
    assert seen["terminated"] >= games


# 10 frames are over within no-ops and FIRE; 401 come to an end within a skip.
@pytest.mark.parametrize(
    ("name", "max_frames", "steps"),
    [
        ("Breakout", 10, 10),
        ("Breakout", 401, 250),
        ("MsPacman", 10, 10),
        ("SpaceInvaders", 101, 80),
    ],
)
def test_time_limits(name: str, max_frames: int, steps: int) -> None:
    env_id = f"{name}NoFrameskip-v4"
    ours = make_game(env_id, "baselines", max_episode_frames=max_frames)
    seen = assert_alike(ours, Baselines(env_id, max_frames=max_frames), steps, seed=5)
    assert seen["truncated"] >= 1
    assert seen["cut"] >= 1


def test_game_over_and_time_limit_at_once() -> None:
    env_id = "BreakoutNoFrameskip-v4"
    end = first_end(env_id, "baselines", 1, is_life=False)
    ours = make_game(env_id, "baselines", max_episode_frames=end.frames)
    theirs = Baselines(env_id, max_frames=end.frames)
    assert assert_alike(ours, theirs, end.steps + 20, seed=1)["both"] == 1


# Reached with the lost life, in the no-op step after it, in the FIRE and in the last step of FIRE;
# MsPacman has no FIRE, so that its reset is over by then.
@pytest.mark.parametrize(
    ("name", "reset_frames", "more"),
    [
        *(("Breakout", 12, more) for more in (0, 1, 5, 9, 12)),
        ("MsPacman", 4, 4),
        ("MsPacman", 4, 5),
    ],
)
def test_time_limit_in_the_reset_after_a_lost_life(name: str, reset_frames: int, more: int) -> None:
    env_id = f"{name}NoFrameskip-v4"
    end = first_end(env_id, "baselines", 1, is_life=True)
    ours = make_game(env_id, "baselines", max_episode_frames=end.frames + more)
    theirs = Baselines(env_id, max_frames=end.frames + more)
    seen = assert_alike(ours, theirs, end.steps + 20, seed=1)
    assert seen["lost"] == (more > 0)
    assert seen["ended in reset"] == (1 <= more <= reset_frames)
    assert seen["truncated"] + seen["ended in reset"] >= 1


@pytest.mark.parametrize(
    ("parts", "wrapper"),
    [
        ({"frame_skip": 1, "noop_max": 3}, {"frame_skip": 1, "noop_max": 3}),
        ({"frame_skip": 3, "screen_size": (50, 50)}, {"frame_skip": 3, "screen_size": 50}),
        ({"noop_min": 0, "noop_max": 0}, {"noop_max": 0}),
    ],
)
def test_parts(parts: dict[str, Any], wrapper: dict[str, Any]) -> None:
    env_id = "BreakoutNoFrameskip-v4"
    ours = make_game(env_id, "baselines", **parts)
    seen = assert_alike(ours, Baselines(env_id, **wrapper), 250, seed=3)
    assert seen["lost"] >= 2
    assert_each_shows(seen["pictures"], parts, env_id, "baselines", 250, 3)
