"""No-op reset, FIRE reset and episodic life: by script, and against stable-baselines3's."""

from __future__ import annotations

import pytest
from games import assert_play_alike, raw_game
from scripted import ScriptedGame
from stable_baselines3.common import atari_wrappers as sb3

from atari_wrappers.wrappers import EpisodicLife, FireReset, NoopReset


def test_noop_count_is_uniform_from_one_to_noop_max() -> None:
    game = ScriptedGame()
    env = NoopReset(game, noop_max=3)
    counts = []
    for seed in range(60):
        game.actions.clear()
        env.reset(seed=seed)
        assert set(game.actions) == {0}
        counts.append(len(game.actions))
    assert {counts.count(number) > 8 for number in (1, 2, 3)} == {True}
    assert set(counts) == {1, 2, 3}


def test_noop_restarts_a_game_that_ends_meanwhile_without_the_seed() -> None:
    game = ScriptedGame(end=1)
    obs, _ = NoopReset(game, noop_max=1).reset(seed=3)
    assert game.seeds == [3, None]
    assert (obs == 20).all()


def test_noop_refuses_what_it_cannot_use() -> None:
    with pytest.raises(ValueError, match="noop_max must be at least 1, not 0"):
        NoopReset(ScriptedGame(), noop_max=0)
    with pytest.raises(ValueError, match="is UP, not NOOP"):
        NoopReset(ScriptedGame(meanings=("UP", "DOWN")))


def test_fire_takes_actions_one_and_two() -> None:
    game = ScriptedGame()
    obs, info = FireReset(game).reset(seed=5, options={"a": 1})
    assert game.actions == [1, 2]
    assert (game.seeds, game.options) == ([5], [{"a": 1}])
    assert (obs == 12).all()
    assert info == {"lives": 0}


@pytest.mark.parametrize(("end", "picture"), [(1, 21), (2, 12)])
def test_fire_restarts_an_episode_that_ends_meanwhile(end: int, picture: int) -> None:
    game = ScriptedGame(end=(end, 100))
    obs, _ = FireReset(game).reset(seed=5)
    assert game.seeds == [5, None]
    assert (obs == picture).all()


def test_fire_refuses_a_game_without_it() -> None:
    with pytest.raises(ValueError, match="needs FIRE as action 1"):
        FireReset(ScriptedGame(meanings=("NOOP", "RIGHT", "LEFT")))


def test_lost_life_ends_the_episode_and_the_game_goes_on() -> None:
    game = ScriptedGame(end=6, lives={0: 2, 2: 1, 5: 0})
    env = EpisodicLife(game)
    env.reset(seed=1)
    assert [env.step(3)[2] for _ in range(2)] == [False, True]
    obs, info = env.reset()
    assert game.games == 1
    assert game.actions == [3, 3, 0]
    assert (obs == 13).all()
    assert info["lives"] == 1
    # No lives is not a lost life; frame 6 ends the game.
    assert [env.step(3)[2] for _ in range(3)] == [False, False, True]
    env.reset()
    assert game.games == 2
    env.reset()
    assert game.games == 3, "no step was taken"


def test_game_that_ends_on_the_continuing_step_is_restarted() -> None:
    game = ScriptedGame(end=3, lives={0: 2, 2: 1})
    env = EpisodicLife(game)
    env.reset()
    env.step(0)
    assert env.step(0)[2]
    obs, info = env.reset()
    assert game.games == 2
    assert (obs == 20).all()
    assert info["lives"] == 2


@pytest.mark.parametrize("asked", [{"seed": 4}, {"options": {"new_game": True}}])
def test_a_new_game_can_be_asked_for_at_any_time(asked: dict) -> None:
    game = ScriptedGame(lives={0: 2, 1: 1})
    env = EpisodicLife(game)
    env.reset()
    assert env.step(0)[2]
    env.reset(**asked)
    assert game.games == 2
    assert game.options[-1] == {}, "the option is this wrapper's alone"


def test_gained_life_ends_nothing() -> None:
    env = EpisodicLife(ScriptedGame(lives={0: 2, 1: 3}))
    env.reset()
    assert not env.step(0)[2]


@pytest.mark.parametrize("game", ["Breakout", "Pong"])
def test_noop_is_baselines(game: str) -> None:
    assert_play_alike(NoopReset(raw_game(game)), sb3.NoopResetEnv(raw_game(game)), 300)


@pytest.mark.parametrize("game", ["Breakout", "Pong"])
def test_fire_is_baselines(game: str) -> None:
    assert_play_alike(FireReset(raw_game(game)), sb3.FireResetEnv(raw_game(game)), 300)


@pytest.mark.parametrize("game", ["Breakout", "SpaceInvaders"])
def test_episodic_life_is_baselines(game: str) -> None:
    ours, theirs = EpisodicLife(raw_game(game)), sb3.EpisodicLifeEnv(raw_game(game))
    assert assert_play_alike(ours, theirs, 2500) >= 3
