"""The `cleanrl` recipe is what CleanRL's `ppo_atari.py` makes of a game, over whole games."""

from __future__ import annotations

import pytest
from games import make_game
from oracles import CleanRL, assert_alike
from quick_games import first_end, pictures_of


# MsPacman has no FIRE; Pong takes points away.
@pytest.mark.parametrize(
    ("name", "steps", "lives"),
    [
        ("SpaceInvaders", 900, 2),
        ("MsPacman", 550, 2),
        ("Pong", 1000, 0),
    ],
)
def test_whole_games(name: str, steps: int, lives: int) -> None:
    env_id = f"{name}NoFrameskip-v4"
    seen = assert_alike(make_game(env_id, "cleanrl"), CleanRL(env_id), steps, seed=11)
    assert seen["lost"] >= lives
    assert seen["terminated"] >= 1
    assert seen["points"] >= 2
    assert seen["pictures"] != pictures_of(env_id, "baselines", steps, 11)


@pytest.mark.parametrize(
    ("name", "max_frames", "steps"), [("Breakout", 401, 250), ("SpaceInvaders", 101, 80)]
)
def test_time_limits(name: str, max_frames: int, steps: int) -> None:
    env_id = f"{name}NoFrameskip-v4"
    ours = make_game(env_id, "cleanrl", max_episode_frames=max_frames)
    seen = assert_alike(ours, CleanRL(env_id, max_frames), steps, seed=5)
    assert seen["truncated"] >= 1
    assert seen["cut"] >= 1


def test_game_over_and_time_limit_at_once() -> None:
    env_id = "BreakoutNoFrameskip-v4"
    end = first_end(env_id, "cleanrl", 1, is_life=False)
    ours = make_game(env_id, "cleanrl", max_episode_frames=end.frames)
    assert assert_alike(ours, CleanRL(env_id, end.frames), end.steps + 20, seed=1)["both"] == 1


# Either part alone makes other pictures.
@pytest.mark.parametrize("parts", [{"padding": "zero"}, {"resizing": "gray"}])
def test_both_differences_show(parts: dict[str, str]) -> None:
    env_id = "SeaquestNoFrameskip-v4"
    ours = make_game(env_id, "cleanrl", **parts)
    with pytest.raises(AssertionError):
        assert_alike(ours, CleanRL(env_id), 5, seed=3)
