"""Max-and-skip, warp and frame stack: by script, and against stable-baselines3's."""

from __future__ import annotations

import gymnasium as gym
import pytest
from games import assert_play_alike, raw_game
from scripted import ScriptedGame
from stable_baselines3.common import atari_wrappers as sb3

from atari_wrappers.wrappers import FrameStack, MaxAndSkip, WarpFrame


@pytest.mark.parametrize("truncates", [False, True])
def test_an_end_stops_the_skip(truncates: bool) -> None:
    game = ScriptedGame(end=6, truncates=truncates, rewards={6: 4.0})
    env = MaxAndSkip(game, skip=4)
    env.reset()
    env.step(0)
    _, reward, terminated, truncated, _ = env.step(0)
    assert len(game.actions) == 6
    assert (reward, terminated, truncated) == (4.0, not truncates, truncates)


def test_skip_of_one_shows_every_frame() -> None:
    env = MaxAndSkip(ScriptedGame(), skip=1)
    env.reset()
    assert [int(env.step(0)[0].max()) for _ in range(3)] == [11, 12, 13]


@pytest.mark.parametrize("skip", [2, 4])
def test_max_and_skip_is_baselines(skip: int) -> None:
    ours = MaxAndSkip(raw_game("Breakout"), skip)
    theirs = sb3.MaxAndSkipEnv(raw_game("Breakout"), skip)
    assert assert_play_alike(ours, theirs, 1200 // skip) >= 1


def test_warp_is_baselines() -> None:
    assert_play_alike(WarpFrame(raw_game("Pong")), sb3.WarpFrame(raw_game("Pong")), 300)


def test_stack_is_oldest_first_and_begins_with_zeros() -> None:
    env = FrameStack(WarpFrame(ScriptedGame()), count=3)
    first, _ = env.reset()
    assert first.shape == (3, 84, 84)
    assert first[:, 0, 0].tolist() == [0, 0, 10]
    later = [env.step(0)[0] for _ in range(3)]
    assert [obs[:, 0, 0].tolist() for obs in later] == [[0, 10, 11], [10, 11, 12], [11, 12, 13]]
    assert first[:, 0, 0].tolist() == [0, 0, 10], "earlier observations are never overwritten"
    assert env.reset()[0][:, 0, 0].tolist() == [0, 0, 20]


def test_stack_is_independent_of_what_a_caller_writes_into_it() -> None:
    env = FrameStack(WarpFrame(ScriptedGame()), count=2)
    env.reset()[0][:] = 99
    env.step(0)[0][:] = 99
    assert env.step(0)[0][:, 0, 0].tolist() == [11, 12]


def test_stack_is_gymnasiums_with_zero_padding() -> None:
    ours = FrameStack(WarpFrame(raw_game("Breakout")), 4)
    theirs = gym.wrappers.FrameStackObservation(
        WarpFrame(raw_game("Breakout")), 4, padding_type="zero"
    )
    assert ours.observation_space == theirs.observation_space
    assert_play_alike(ours, theirs, 400)


@pytest.mark.parametrize("wrapper", [MaxAndSkip, FrameStack])
def test_counts_below_one_are_refused(wrapper: type[gym.Wrapper]) -> None:
    with pytest.raises(ValueError, match="must be at least 1, not 0"):
        wrapper(ScriptedGame(), 0)


def test_warp_refuses_what_is_no_rgb() -> None:
    with pytest.raises(ValueError, match="uint8 \\[height, width, 3\\]"):
        WarpFrame(WarpFrame(ScriptedGame()))
    with pytest.raises(ValueError, match="needs a Box"):
        WarpFrame(gym.make("FrozenLake-v1"))
