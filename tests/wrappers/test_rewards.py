"""Reward clipping."""

from __future__ import annotations

import pytest
from games import assert_play_alike, raw_game
from scripted import ScriptedGame
from stable_baselines3.common import atari_wrappers as sb3

from atari_wrappers.wrappers import ClipReward


@pytest.mark.parametrize(("raw", "clipped"), [(400.0, 1.0), (0.25, 1.0), (0.0, 0.0), (-3.0, -1.0)])
def test_reward_becomes_its_sign(raw: float, clipped: float) -> None:
    env = ClipReward(ScriptedGame(rewards={1: raw}))
    env.reset()
    reward = env.step(0)[1]
    assert reward == clipped
    assert type(reward) is float


def test_clip_is_baselines() -> None:
    ours, theirs = (
        ClipReward(raw_game("SpaceInvaders")),
        sb3.ClipRewardEnv(raw_game("SpaceInvaders")),
    )
    assert_play_alike(ours, theirs, 1000)
