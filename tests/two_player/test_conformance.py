"""Whole random games for two equal PettingZoo's, frame by frame and as recipes see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pettingzoo_games
import pytest
from pettingzoo_games import GAMES, IDS, OTHERS, PettingZooGame, make_game

from atari_wrappers.recipes import PRESETS

# One game from its first frame to its end, and rewards as they are.
PLAIN = {
    "noop_max": 0,
    "fire_reset": False,
    "episodic_life": False,
    "clip_reward": False,
    "sticky_actions": 0.0,
}


@pytest.fixture(autouse=True)
def _on_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each game be played on both emulators at once."""
    monkeypatch.setattr(pettingzoo_games, "emulator", "both")


def make(game: str, **settings: Any) -> Any:
    return make_game(IDS[game], **(PLAIN | settings))


def assert_seen(obs: np.ndarray, frame: np.ndarray) -> None:
    """Check that both players see this frame."""
    if not all(np.array_equal(own[0], frame) for own in obs):  # NumPy's assertions take long
        np.testing.assert_array_equal(obs, np.stack([frame[None]] * 2))


@pytest.mark.parametrize("game", GAMES)
def test_every_frame_is_pettingzoos_in_one_game_after_the_other(game: str) -> None:
    env = make(
        game,
        preset="baselines",
        frame_skip=1,
        frame_stack=1,
        grayscale=False,
        screen_size=(210, 160),
    )
    oracle = PettingZooGame(game)
    for seed in (0, 1) if game == "space_invaders" else (0,):
        rng = np.random.default_rng(seed)
        # PettingZoo loads the game anew for a seed, ours goes on.
        oracle.reset(seed=seed)
        obs, info = env.reset()
        returns = np.zeros(2)
        while not oracle.over:
            assert_seen(obs, oracle.frame)
            actions = rng.integers(0, 6, 2)
            expected = oracle.emulate(actions)
            obs, reward, terminated, truncated, info = env.step(actions)
            assert reward.tolist() == info["raw_reward"].tolist() == expected.tolist()
            assert (terminated, truncated) == (oracle.over, False)
            assert info["lives"] == (0 if game == "pong" else oracle.lives)
            returns += expected
        assert returns.any()
        assert info["game_terminated"]
        np.testing.assert_array_equal(info["episode_return"], returns)
        assert info["episode_frames"] == info["episode_length"] == oracle.frames


@pytest.mark.parametrize("env_id", OTHERS)
def test_frames_of_other_games_are_pettingzoos_for_a_seed(env_id: str) -> None:
    oracle = PettingZooGame(OTHERS[env_id])
    whole = {"screen_size": oracle.screen_size, "frame_skip": 1, "frame_stack": 1}
    # Of the presets, that of ALE hands on the seed as it is.
    env = make_game(env_id, **(PLAIN | {"preset": "ale", "grayscale": False} | whole))
    assert env.action_space.nvec.tolist() == [oracle.num_actions] * 2
    reserve = 2 if "Mario" in env_id or "Wizard" in env_id else 0
    rng = np.random.default_rng(3)
    for seed in (5, 6):
        oracle.reset(seed=seed)
        obs, info = env.reset(seed=seed)
        for _ in range(250):
            assert_seen(obs, oracle.frame)
            assert info["lives"] == sum(oracle.all_lives) + reserve
            if oracle.over:
                break
            actions = rng.integers(0, oracle.num_actions, 2)
            expected = oracle.emulate(actions)
            obs, reward, terminated, _, info = env.step(actions)
            assert reward.tolist() == expected.tolist()
            assert terminated == oracle.over


@pytest.mark.parametrize(("game", "preset"), [("pong", "ale"), ("space_invaders", "baselines")])
def test_agent_steps_are_pettingzoos_pooled_shrunk_and_stacked(game: str, preset: str) -> None:
    env = make(game, preset=preset)
    oracle = PettingZooGame(game)
    rng = np.random.default_rng(7)
    obs, _ = env.reset(seed=3)
    expected = oracle.reset(seed=3)
    steps = 0
    while not oracle.over:
        assert obs.shape == env.observation_space.shape
        np.testing.assert_array_equal(obs, expected)
        actions = rng.integers(0, 6, 2)
        expected, rewards = oracle.step(actions, _pooling(preset))
        obs, reward, terminated, _, info = env.step(actions)
        steps += 1
        np.testing.assert_array_equal(reward, rewards)
        assert terminated == oracle.over
    assert (info["episode_length"], info["episode_frames"]) == (steps, oracle.frames)


def _pooling(preset: str) -> str:
    return PRESETS[preset].pooling


def test_a_lost_life_ends_the_episode_of_both_and_the_game_goes_on() -> None:
    env = make("space_invaders", episodic_life=True)
    oracle = PettingZooGame("space_invaders")
    rng = np.random.default_rng(1)
    env.reset(seed=0)
    oracle.reset()
    losses = 0
    while not oracle.over:
        before = oracle.lives
        actions = rng.integers(0, 6, 2)
        expected, _ = oracle.step(actions)
        obs, _, terminated, _, info = env.step(actions)
        assert info["lives"] == oracle.lives
        assert terminated == (oracle.lives < before)
        assert info["game_terminated"] == oracle.over
        if terminated and not oracle.over:
            losses += 1
            obs, info = env.reset()
            assert info["episode_length"] > 0
            np.testing.assert_array_equal(obs, expected)
    assert losses == 2


@pytest.mark.parametrize(
    ("game", "fire_reset", "presses"),
    [
        ("pong", "off", [0] * 7),
        ("space_invaders", "before-noops", [1] + [0] * 6),
        ("pong", "after-noops", [0] * 6 + [1]),
        ("pong", "steps", [0] * 7 + [1] * 4 + [2] * 4),
        ("space_invaders", "steps", [0] * 7 + [1] * 4 + [2] * 4),
    ],
)
def test_both_players_take_the_noops_and_the_fire_of_a_start(
    game: str, fire_reset: str, presses: list[int]
) -> None:
    env = make(game, noop_min=7, noop_max=7, fire_reset=fire_reset, count_reset_frames=True)
    oracle = PettingZooGame(game)
    oracle.reset()
    rewards = sum(oracle.emulate(np.array([press, press])) for press in presses)
    obs, info = env.reset(seed=5)
    np.testing.assert_array_equal(env.render(), oracle.frame)
    assert info["episode_frames"] == len(presses)
    np.testing.assert_array_equal(info["episode_return"], rewards)
    assert (info["episode_length"], info["raw_reward"].tolist()) == (0, [0.0, 0.0])
    if fire_reset != "steps":  # which shows the maximum of two frames
        np.testing.assert_array_equal(obs, oracle.start_stack())


@pytest.mark.parametrize(
    ("game", "mode", "options"),
    [("pong", 14, {"game_version": "soccer"}), ("space_invaders", 33, {"moving_shields": False})],
)
def test_modes_are_pettingzoos(game: str, mode: int, options: dict[str, Any]) -> None:
    env, oracle = make(game, mode=mode), PettingZooGame(game, **options)
    rng = np.random.default_rng(2)
    env.reset(seed=0)
    oracle.reset()
    for _ in range(100):
        actions = rng.integers(0, 6, 2)
        expected, _ = oracle.step(actions)
        np.testing.assert_array_equal(env.step(actions)[0], expected)


def test_all_actions_of_the_console() -> None:
    env = make("pong", full_action_space=True)
    oracle = PettingZooGame("pong", full_action_space=True)
    assert env.action_space.nvec.tolist() == [18, 18]
    rng = np.random.default_rng(2)
    env.reset(seed=0)
    oracle.reset()
    for _ in range(100):
        actions = rng.integers(0, 18, 2)
        expected, _ = oracle.step(actions)
        np.testing.assert_array_equal(env.step(actions)[0], expected)
