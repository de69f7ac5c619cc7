"""The whole single-env pipeline."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from any_settings import any_settings
from games import assert_play_alike, raw_game
from gymnasium.utils.env_checker import check_env

from atari_wrappers import Settings, UnknownEnvError, make_env, wrappers


def test_gymnasiums_checker_is_content_with_other_ids() -> None:
    # It advises to check bare envs, and has doubts about CartPole's infinite bounds.
    with pytest.warns(UserWarning, match="is different from the unwrapped version"):
        check_env(make_env("CartPole-v1"), skip_render_check=True)


@pytest.mark.parametrize(
    "wrapper",
    [
        wrappers.NoopReset,
        wrappers.FireReset,
        wrappers.EpisodicLife,
        wrappers.MaxAndSkip,
        wrappers.WarpFrame,
        wrappers.FrameStack,
        wrappers.ClipReward,
        wrappers.EpisodeRecord,
    ],
)
def test_each_wrapper_passes_gymnasiums_checker_alone(wrapper: type[gym.Wrapper]) -> None:
    with pytest.warns(UserWarning, match="is different from the unwrapped version"):
        check_env(wrapper(raw_game("Breakout")), skip_render_check=True)


# Those who compose by hand get what the recipe gives, to the last bit.
@pytest.mark.parametrize("name", ["Breakout", "SpaceInvaders"])
def test_composed_by_hand_they_are_the_recipe(name: str) -> None:
    env = wrappers.NoopReset(raw_game(name))
    env = wrappers.EpisodicLife(wrappers.MaxAndSkip(env))
    env = wrappers.ClipReward(wrappers.WarpFrame(wrappers.FireReset(env)))
    recipe = make_env(f"{name}NoFrameskip-v4", Settings(preset="baselines"))
    assert assert_play_alike(recipe, wrappers.FrameStack(env), 700) >= 2


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_sticky_actions_are_the_emulators_own() -> None:
    settings = Settings(preset="gymnasium", noop_max=0, frame_skip=1, sticky_actions=0.5)
    ours = make_env("SpaceInvaders-v0", settings)
    twin = raw_game("SpaceInvaders", repeat_action_probability=0.5)
    ours.reset(seed=2)
    twin.reset(seed=2)
    rng = np.random.default_rng(0)
    for _ in range(300):
        action = int(rng.integers(6))
        ours.step(action)
        twin.step(action)
        np.testing.assert_array_equal(ours.unwrapped.ale.getRAM(), twin.unwrapped.ale.getRAM())


@pytest.mark.parametrize("skip", [1, 4])
def test_truncation_counts_every_emulated_frame(skip: int) -> None:
    settings = any_settings(max_episode_frames=101, frame_skip=skip, count_reset_frames=True)
    env = make_env("PongNoFrameskip-v4", settings)
    env.reset(seed=0)
    while True:
        _, _, terminated, truncated, info = env.step(0)
        if terminated or truncated:
            break
    assert (terminated, truncated) == (False, True)
    assert info["episode_frames"] == 101
    assert env.unwrapped.ale.getEpisodeFrameNumber() == 101


def test_other_ids_are_left_as_they_are() -> None:
    env = make_env("CartPole-v1")
    obs, _ = env.reset(seed=0)
    np.testing.assert_array_equal(obs, gym.make("CartPole-v1").reset(seed=0)[0])
    assert (obs.dtype, env.step(0)[1]) == (np.float32, 1.0)


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("SpaceInvader-v4", "Did you mean `SpaceInvadersNoFrameskip-v4`"),
        ("pong", "Did you mean `PongNoFrameskip-v4`"),
        ("cartpole", "Did you mean `CartPole-v1` or `CartPole-v0`"),
        ("Pong-v9", "versioned environments: \\[ `v0`, `v4` \\]"),
        ("ALE/Pong-v4", "use `ALE/Pong-v5`"),
        ("", "Malformed environment ID"),
        ("no_such_module:Game-v0", "module `no_such_module` cannot be imported"),
    ],
)
def test_unknown_ids_keep_gymnasiums_advice(env_id: str, message: str) -> None:
    with pytest.raises(UnknownEnvError, match=message) as caught:
        make_env(env_id)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, gym.error.Error)
