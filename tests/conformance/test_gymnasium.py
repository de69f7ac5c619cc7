"""The `gymnasium` recipe is `AtariPreprocessing` and `FrameStackObservation`, over whole games."""

from __future__ import annotations

from typing import Any

import pytest
from games import make_game
from oracles import Gymnasium, assert_alike
from quick_games import assert_each_shows, first_end

LIVES = {"terminal_on_life_loss": True, "padding": "zero"}
OUR_LIVES = {"episodic_life": True, "padding": "zero"}


# The ids of the second kind ask for sticky actions.
@pytest.mark.parametrize(
    ("env_id", "steps"),
    [
        ("BreakoutNoFrameskip-v4", 450),
        ("MsPacmanNoFrameskip-v4", 550),
        ("ALE/Seaquest-v5", 700),
    ],
)
def test_games_are_episodes(env_id: str, steps: int) -> None:
    seen = assert_alike(make_game(env_id, "gymnasium"), Gymnasium(env_id), steps, seed=11)
    assert seen["terminated"] >= 1
    assert seen["points"] >= 1


def test_a_game_that_takes_points_away() -> None:
    env_id = "ALE/Pong-v5"
    seen = assert_alike(make_game(env_id, "gymnasium"), Gymnasium(env_id), 1000, seed=11)
    assert seen["terminated"] == 1
    assert seen["cut"] == 1


def test_dopamines_games_are_those_of_ale_with_three_settings() -> None:
    """The presets `dopamine-*` of the trainer; gymnasium's wrapper was made after Dopamine's,
    whose agent clips the rewards.
    """
    ours = make_game(
        "SpaceInvadersNoFrameskip-v4",
        "ale",
        sticky_actions=0.25,
        noop_max=0,
        fire_reset="off",
        seeding="hashed",
        clip_reward=False,
    )
    theirs = Gymnasium("ALE/SpaceInvaders-v5", padding="zero", noop_max=0)
    seen = assert_alike(ours, theirs, 600, seed=11)
    assert seen["terminated"] >= 1
    assert seen["lost"] == 0
    assert seen["points"] >= 1


@pytest.mark.parametrize(
    ("env_id", "steps"), [("BreakoutNoFrameskip-v4", 300), ("ALE/Seaquest-v5", 350)]
)
def test_lives_are_episodes(env_id: str, steps: int) -> None:
    ours = make_game(env_id, "gymnasium", **OUR_LIVES)
    seen = assert_alike(ours, Gymnasium(env_id, **LIVES), steps, seed=11)
    assert seen["terminated"] >= 2
    assert seen["lost"] == 0


@pytest.mark.parametrize(
    ("name", "max_frames"), [("Breakout", 10), ("SpaceInvaders", 101), ("Berzerk", 61)]
)
def test_time_limits(name: str, max_frames: int) -> None:
    env_id = f"ALE/{name}-v5"
    theirs = Gymnasium(env_id, env_settings={"max_num_frames_per_episode": max_frames})
    ours = make_game(env_id, "gymnasium", max_episode_frames=max_frames)
    seen = assert_alike(ours, theirs, 60, seed=5, reset_every=31)
    assert seen["truncated"] >= 2
    assert seen["cut"] >= 1


@pytest.mark.parametrize("is_life", [False, True])
def test_end_and_time_limit_at_once(is_life: bool) -> None:
    env_id = "BreakoutNoFrameskip-v4"
    end = first_end(env_id, "gymnasium", 1, is_life=is_life, episodic_life=is_life)
    ours = make_game(env_id, "gymnasium", episodic_life=is_life, max_episode_frames=end.frames)
    limit = {"max_num_frames_per_episode": end.frames}
    theirs = Gymnasium(env_id, env_settings=limit, terminal_on_life_loss=is_life)
    seen = assert_alike(ours, theirs, end.steps + 20, seed=1)
    assert seen["truncated"] >= 1
    assert seen["both"] == 1


@pytest.mark.parametrize(
    ("parts", "theirs"),
    [
        ({"frame_skip": 1, "frame_stack": 1}, {"frame_skip": 1, "stack": 1}),
        # Theirs is (width, height).
        ({"frame_skip": 2, "screen_size": (70, 50)}, {"frame_skip": 2, "screen_size": (50, 70)}),
        ({"frame_skip": 3, "noop_max": 7}, {"frame_skip": 3, "noop_max": 7}),
        ({"grayscale": False}, {"grayscale_obs": False}),
        ({"screen_size": (210, 160)}, {"screen_size": (160, 210)}),
        (
            {"screen_size": (256, 256), "full_action_space": True},
            {"screen_size": 256, "env_settings": {"full_action_space": True}},
        ),
        ({"mode": 12, "difficulty": 1}, {"env_settings": {"mode": 12, "difficulty": 1}}),
        (
            {"noop_min": 0, "noop_max": 0, "sticky_actions": 0.6},
            {"noop_max": 0, "env_settings": {"repeat_action_probability": 0.6}},
        ),
    ],
)
def test_parts(parts: dict[str, Any], theirs: dict[str, Any]) -> None:
    env_id = "ALE/Breakout-v5"
    ours = make_game(env_id, "gymnasium", **parts)
    # Seeds restart the game twice, for the no-ops that they draw.
    skip = parts.get("frame_skip", 4)
    steps, reset_every = 500 // skip, 200 // skip if "noop_max" in parts else 0
    seen = assert_alike(ours, Gymnasium(env_id, **theirs), steps, 3, reset_every)
    assert_each_shows(seen["pictures"], parts, env_id, "gymnasium", steps, 3, reset_every)


# Their no-ops are the action 0, which is no polar one.
@pytest.mark.parametrize(("name", "sticky"), [("Breakout", 0.0), ("Seaquest", 0.3)])
def test_polar_actions(name: str, sticky: float) -> None:
    env_id = f"ALE/{name}-v5"
    polar = {"continuous": True, "continuous_action_threshold": 0.2}
    ours = make_game(env_id, "gymnasium", noop_min=0, noop_max=0, sticky_actions=sticky, **polar)
    settings = polar | {"repeat_action_probability": sticky}
    theirs = Gymnasium(env_id, env_settings=settings, noop_max=0)
    assert assert_alike(ours, theirs, 300, seed=3)["points"] >= 1


# Games that remember those before them, so that a seed must switch the console on anew.
@pytest.mark.parametrize(
    "env_id",
    ["AssaultNoFrameskip-v4", "BeamRiderNoFrameskip-v4", "ALE/Berzerk-v5", "ALE/DoubleDunk-v5"],
)
def test_seeds_start_from_the_same_console(env_id: str) -> None:
    assert_alike(make_game(env_id, "gymnasium"), Gymnasium(env_id), 100, seed=0, reset_every=40)


# SELECT is pressed for random numbers of frames: the seed decides, with no sticky actions, too.
@pytest.mark.parametrize("sticky", [0.0, 0.25])
def test_a_seed_decides_how_a_mode_is_chosen(sticky: float) -> None:
    ours = make_game("ALE/Adventure-v5", "gymnasium", mode=1, sticky_actions=sticky)
    settings = {"mode": 1, "repeat_action_probability": sticky}
    theirs = Gymnasium("ALE/Adventure-v5", env_settings=settings)
    assert_alike(ours, theirs, 60, seed=0, reset_every=25)
