"""The true game's record under wrappers that hide it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from scripted import ScriptedGame

from atari_wrappers.wrappers import (
    ClipReward,
    EpisodeRecord,
    EpisodicLife,
    GameCounter,
    MaxAndSkip,
    NoopReset,
)


def recorded(game: gym.Env, skip: int = 1, noop_max: int = 0) -> EpisodeRecord:
    env = GameCounter(game)
    if noop_max:
        env = NoopReset(env, noop_max)
    return EpisodeRecord(ClipReward(EpisodicLife(MaxAndSkip(env, skip))))


def play(env: gym.Env, steps: int) -> list[dict[str, Any]]:
    """Step, resetting where an episode ends, and return every info in order."""
    infos = [env.reset(seed=0)[1]]
    for _ in range(steps):
        _, _, terminated, truncated, info = env.step(2)
        infos.append(info)
        if terminated or truncated:
            infos.append(env.reset()[1])
    return infos


def test_return_and_length_span_all_lives() -> None:
    rewards = {1: 5.0, 4: 7.0, 6: -2.0, 7: 3.0}
    env = recorded(ScriptedGame(end=7, lives={0: 2, 3: 1, 7: 0}, rewards=rewards))
    infos = play(env, steps=6)
    # Frame 4 is the continuing no-op after the life lost in frame 3: in the return, no agent step.
    assert [info["episode"] for info in infos if "episode" in info] == [
        {"r": 13.0, "l": 6, "frames": 7}
    ]
    assert [info.get("raw_reward") for info in infos] == [None, 5, 0, 0, None, 0, -2, 3, None]
    assert [info["lives"] for info in infos] == [2, 2, 2, 1, 1, 1, 1, 0, 2]


def test_frames_count_what_the_skip_really_emulated() -> None:
    infos = play(recorded(ScriptedGame(end=6), skip=4), steps=2)
    assert infos[2]["episode"] == {"r": 0.0, "l": 2, "frames": 6}


def test_noops_are_frames_of_the_game() -> None:
    game = ScriptedGame(end=40)
    env = recorded(game, noop_max=30)
    infos = play(env, steps=40)
    noops = game.actions.index(2)
    assert noops > 0
    first = next(info["episode"] for info in infos if "episode" in info)
    assert first == {"r": 0.0, "l": 40 - noops, "frames": 40}


def test_game_that_ends_inside_of_a_reset_is_not_lost() -> None:
    env = recorded(ScriptedGame(end=4, lives={0: 2, 3: 1}, rewards={4: 9.0}))
    infos = play(env, steps=4)
    assert "episode" not in infos[3]
    assert infos[4]["episode"] == {"r": 9.0, "l": 3, "frames": 4}
    assert infos[4]["lives"] == 2


def test_abandoned_game_leaves_no_trace() -> None:
    env = recorded(ScriptedGame(end=5, rewards={1: 1.0}))
    env.reset()
    env.step(0)
    env.step(0)
    infos = play(env, steps=5)
    assert infos[5]["episode"] == {"r": 1.0, "l": 5, "frames": 5}


def test_game_over_among_the_noops_is_nobodys() -> None:
    env = recorded(ScriptedGame(end=(1, 50)), noop_max=3)
    _, info = env.reset(seed=0)
    assert "episode" not in info
    assert "episode" not in env.step(0)[4]


def test_lives_are_zero_where_the_env_has_none() -> None:
    env = gym.make("CartPole-v1")
    assert EpisodeRecord(GameCounter(env)).reset(seed=0)[1] == {"lives": 0}
    with pytest.raises(ValueError, match="no GameCounter"):
        EpisodeRecord(env)
