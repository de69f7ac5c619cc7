"""When a reset starts a new game and when it goes on, and what its info says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from games import make_game

from atari_wrappers.backends.results import RECORD
from atari_wrappers.errors import ResetNeededError
from atari_wrappers.game.env import AtariGame

BREAKOUT = "BreakoutNoFrameskip-v4"
WAYS = ["go-on", "noop-step", "noops", "new-game"]


def play_until(game: AtariGame, key: str) -> dict[str, Any]:
    """Play until a life is lost (`key` is `"lives"`), or until `key` is true; return the info."""
    game.action_space.seed(0)
    _, info = game.reset(seed=0)
    lives = info["lives"]
    for _ in range(2000):
        _, _, terminated, _, info = game.step(game.action_space.sample())
        if info[key] < lives if key == "lives" else info[key]:
            return info
        if terminated:
            game.reset()
    raise AssertionError("it did not happen")


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("way", WAYS)
def test_a_reset_after_a_lost_life(way: str) -> None:
    game = make_game(BREAKOUT, "envpool", episodic_life=True, after_life_loss=way)
    before = play_until(game, "lives")
    _, info = game.reset()
    is_new = way == "new-game"
    assert info["lives"] == (5 if is_new else 4)
    assert info["episode_length"] == (0 if is_new else before["episode_length"])
    assert (info["episode_frames"] < before["episode_frames"]) == is_new
    assert not info["game_terminated"]


# The no-op step is 4 frames, FIRE is one of them or 8; the no-ops here are 3, of which a single
# frame of FIRE replaces one.
@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize(
    ("way", "fire_reset", "frames"),
    [
        ("go-on", "steps", 0),
        ("noop-step", "off", 4),
        ("noop-step", "steps", 12),
        ("noop-step", "after-noops", 5),
        ("noop-step", "before-noops", 5),
        ("noops", "off", 3),
        ("noops", "steps", 11),
        ("noops", "after-noops", 3),
    ],
)
def test_frames_of_the_reset_after_a_lost_life(way: str, fire_reset: str, frames: int) -> None:
    parts = {"after_life_loss": way, "fire_reset": fire_reset, "noop_min": 3, "noop_max": 3}
    game = make_game(BREAKOUT, "baselines", **parts)
    before = play_until(game, "lives")
    _, info = game.reset()
    assert info["episode_frames"] - before["episode_frames"] == frames


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("way", WAYS)
def test_frames_of_resets_do_not_count_for_the_limit(way: str) -> None:
    parts = {"after_life_loss": way, "count_reset_frames": False, "max_episode_frames": 280}
    game = make_game(BREAKOUT, "baselines", **parts)
    for _ in range(2):
        game.action_space.seed(0)
        game.reset(seed=0)
        steps = lives_lost = 0
        truncated = False
        while not truncated:
            _, _, terminated, truncated, _ = game.step(game.action_space.sample())
            steps += 1
            if terminated and not truncated:
                lives_lost += 1
                game.reset()
                steps = 0 if way == "new-game" else steps
        assert steps == 70
        assert lives_lost >= 1


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("ask", [{"options": {"new_game": True}}, {"seed": 5}])
@pytest.mark.parametrize("way", WAYS)
def test_a_new_game_can_be_asked_for(way: str, ask: dict[str, Any]) -> None:
    game = make_game(BREAKOUT, "default", after_life_loss=way)
    play_until(game, "lives")
    info = game.reset(**ask)[1]
    assert info["lives"] == 5
    assert info["episode_length"] == 0
    assert info["episode_frames"] <= 30


@pytest.mark.usefixtures("each_emulator")
def test_a_reset_in_mid_game_starts_a_new_one() -> None:
    game = make_game(BREAKOUT, "baselines")
    game.reset(seed=0)
    for _ in range(10):
        game.step(0)
    assert game.reset()[1]["episode_length"] == 0


def test_going_on_shows_the_same_again() -> None:
    game = make_game(BREAKOUT, "default")
    play_until(game, "lives")
    seen = game._observation()
    obs, info = game.reset()
    assert obs.any()
    np.testing.assert_array_equal(obs, seen)
    assert info["raw_reward"] == 0


@pytest.mark.usefixtures("each_emulator")
# One of each kind of seeding; the games of all presets are compared with others by seeds.
@pytest.mark.parametrize("preset", ["envpool", "gymnasium"])
def test_seeds_decide_everything(preset: str) -> None:
    games = [make_game("ALE/SpaceInvaders-v5", preset) for _ in range(2)]
    games[1].reset(seed=8)
    games[1].step(1)
    starts = [game.reset(seed=3)[0] for game in games]
    np.testing.assert_array_equal(*starts)
    later = [[game.reset()[1]["episode_frames"] for _ in range(3)] for game in games]
    assert later[0] == later[1]
    others = {games[0].reset(seed=seed)[1]["episode_frames"] for seed in range(4)}
    assert len(others) > 1


@pytest.mark.usefixtures("each_emulator")
def test_without_a_seed_games_differ() -> None:
    frames = {make_game(BREAKOUT, "ale").reset()[1]["episode_frames"] for _ in range(8)}
    assert len(frames) > 1


@pytest.mark.usefixtures("each_emulator")
def test_infos_carry_the_record() -> None:
    game = make_game(BREAKOUT, "baselines")
    _, info = game.reset(seed=0)
    assert list(info) == list(RECORD)
    assert list(game.step(0)[4]) == list(RECORD)


@pytest.mark.usefixtures("each_emulator")
def test_a_game_that_ends_in_the_reset_after_a_lost_life_is_told() -> None:
    lost = play_until(make_game(BREAKOUT, "baselines"), "lives")
    limit = lost["episode_frames"] + 2
    game = make_game(BREAKOUT, "baselines", max_episode_frames=limit)
    play_until(game, "lives")
    _, info = game.reset()
    assert info["game_truncated"]
    assert not info["game_terminated"]
    assert info["episode_frames"] == limit
    assert info["episode_length"] == lost["episode_length"]
    assert info["episode_return"] == lost["episode_return"]
    assert info["lives"] == 5
    info = game.step(0)[4]
    assert info["episode_length"] == 1
    assert not info["game_truncated"]
    assert not game.reset()[1]["game_truncated"]


def test_records_add_up() -> None:
    frames = []
    game = make_game("PongNoFrameskip-v4", "baselines", max_episode_frames=1500)
    game._emulator._on_frame = lambda: frames.append(0)
    game.action_space.seed(0)
    for seed in (0, None):
        frames.clear()
        game.reset(seed=seed)
        total = steps = 0
        truncated = False
        while not truncated:
            *_, truncated, info = game.step(game.action_space.sample())
            total += info["raw_reward"]
            steps += 1
        assert total < -1
        assert info["episode_return"] == total
        assert info["episode_length"] == steps
        assert info["episode_frames"] == len(frames) == 1500


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("preset", ["default", "envpool"])
def test_a_seed_that_is_none_changes_nothing(preset: str) -> None:
    game, twin = (make_game(BREAKOUT, preset, sticky_actions=0.5) for _ in range(2))
    for each in game, twin:
        each.reset(seed=3)
    for seed in (-1, 2**31 - 1, 2**32, 2**64):
        with pytest.raises(ValueError, match=rf"seed {seed} lies outside of \[0, 2147483647\)"):
            game.reset(seed=seed)
    with pytest.raises(TypeError, match="seed must be an integer"):
        game.reset(seed=1.5)
    for _ in range(20):
        np.testing.assert_array_equal(game.step(1)[0], twin.step(1)[0])


@pytest.mark.usefixtures("each_emulator")
def test_a_step_needs_a_game_in_play() -> None:
    game = make_game(BREAKOUT, "default", max_episode_frames=4)
    with pytest.raises(ResetNeededError, match="call reset"):
        game.step(0)
    game.reset(seed=0)
    assert game.step(0)[3]
    with pytest.raises(ResetNeededError, match="call reset"):
        game.step(0)
    game.reset()
    game.step(0)
