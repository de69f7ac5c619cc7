"""What a game for two has of its own: seeds, sticky actions, limits, states, frames, refusals."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from ale_py import Action
from any_settings import any_settings
from multi_agent_ale_py import ALEInterface
from pettingzoo_games import IDS, PettingZooGame, make_game, play, replay

from atari_wrappers.errors import ResetNeededError, UnsupportedError
from atari_wrappers.game.two_player import TwoPlayerGame
from atari_wrappers.plain_data import pack, unpack
from atari_wrappers.request import request_env
from atari_wrappers.settings import Settings
from atari_wrappers.single_env import make_env
from atari_wrappers.two_players import (
    DEFAULT_MODES,
    available_variants,
    import_multi_agent_ale,
)

ONE_GAME = {"episodic_life": False, "fire_reset": False}


def make(game: str = "pong", **settings: Any) -> gym.Env:
    return make_game(IDS[game], **settings)


@pytest.mark.usefixtures("each_emulator")
def test_spaces_and_types() -> None:
    env = make(grayscale=False, frame_stack=3, screen_size=(50, 40))
    obs, info = env.reset(seed=1)
    assert obs.shape == (2, 3, 50, 40, 3)
    assert env.observation_space.contains(obs)
    obs, reward, terminated, truncated, info = env.step(np.array([1, 2]))
    assert env.observation_space.contains(obs)
    assert (reward.shape, reward.dtype) == ((2,), np.float32)
    assert (info["raw_reward"].dtype, info["episode_return"].dtype) == (np.float32, np.float64)
    assert {type(terminated), type(truncated), type(info["lives"])} == {bool, int}
    assert env.unwrapped.get_action_meanings()[:2] == ["NOOP", "FIRE"]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("ale", b"x"),
        ("ale", np.zeros(100, np.uint8)),
        ("pressed", np.array([99, 0], np.int32)),
        ("frames", -1),
        ("held", None),
    ],
)
def test_a_crafted_state_changes_nothing(place: str, value: Any) -> None:
    env = make(sticky_actions=0.25)
    env.reset(seed=1)
    state = env.save_state()
    values = unpack("game", 1, state)
    values["emulator"][place] = value
    with pytest.raises(ValueError, match="emulator"):
        env.restore_state(pack("game", 1, values))
    assert env.save_state() == state


# PettingZoo's ALE ends the process where a difficulty is none of the game's.
@pytest.mark.parametrize("rom", DEFAULT_MODES)
def test_what_is_played_unless_asked_is_a_variant_of_the_game(rom: str) -> None:
    env_id = f"ALE/{rom.title().replace('_', '')}-v5"
    settings = Settings(num_players=2, sticky_actions=0.0)
    recipe = request_env(env_id, settings).recipe
    modes, difficulties = available_variants(rom)
    assert recipe.mode in modes
    assert recipe.difficulty in difficulties


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("settings", [{"obs_type": "ram"}, {"channels_last": True}])
def test_both_observe_the_same(settings: dict[str, Any]) -> None:
    env = make(**settings)
    obs, _ = env.reset(seed=1)
    assert obs.shape == env.observation_space.shape
    assert obs.shape[1:] == ((128,) if "obs_type" in settings else (84, 84, 4))
    for _ in range(20):
        later = env.step(np.array([2, 3]))[0]
        np.testing.assert_array_equal(later[0], later[1])
    assert (later != obs).any()


@pytest.mark.usefixtures("each_emulator")
def test_a_seed_says_the_noops_and_what_sticks() -> None:
    env = make("space_invaders", sticky_actions=0.25)

    def game(seed: int) -> tuple[int, object]:
        _, info = env.reset(seed=seed)
        return info["episode_frames"], play(env, 60)

    first = game(11)
    others = [game(seed) for seed in (12, 13)]
    assert game(11) == first
    assert first not in others
    assert len({frames for frames, _ in (first, *others)}) > 1


@pytest.mark.usefixtures("each_emulator")
def test_actions_that_always_stick_are_never_pressed() -> None:
    env = make(sticky_actions=1.0, noop_max=0, clip_reward=False, **ONE_GAME)
    oracle = PettingZooGame("pong")
    obs, _ = env.reset(seed=0)
    oracle.reset()
    for _ in range(60):
        expected, rewards = oracle.step(np.array([0, 0]))
        obs, reward, *_ = env.step(np.array([2, 3]))
        np.testing.assert_array_equal(obs, expected)
        np.testing.assert_array_equal(reward, rewards)


def test_the_players_actions_stick_independently_of_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pressed: list[list[int]] = []
    act = ALEInterface.act

    def noted(ale: ALEInterface, codes: np.ndarray) -> np.ndarray:
        pressed.append(codes.tolist())
        return act(ale, codes)

    monkeypatch.setattr(ALEInterface, "act", noted)
    env = make(sticky_actions=0.5)
    env.reset(seed=3)
    pressed.clear()
    codes = np.array([Action[name].value for name in env.unwrapped.get_action_meanings()])
    actions = np.random.default_rng(0).integers(0, 6, (500, 2))
    for pair in actions:
        env.step(pair)
    asked = np.repeat(codes[actions], 4, axis=0)
    is_new = np.diff(asked, axis=0, prepend=-1) != 0
    # What is newly asked for is pressed at once in half of the cases, or is so already.
    at_once = np.array(pressed) == asked
    for player in (0, 1):
        assert 0.4 < at_once[is_new[:, player], player].mean() < 0.65
    assert 0.15 < at_once[is_new.all(axis=1)].all(axis=1).mean() < 0.4


@pytest.mark.usefixtures("each_emulator")
def test_rewards_are_clipped_one_by_one_and_the_raw_ones_kept() -> None:
    env = make("space_invaders", **ONE_GAME)
    env.reset(seed=0)
    rng, seen = np.random.default_rng(0), set()
    for _ in range(200):
        _, reward, terminated, _, info = env.step(rng.integers(0, 6, 2))
        np.testing.assert_array_equal(reward, np.sign(info["raw_reward"]))
        seen.add(tuple(info["raw_reward"].tolist()))
        if terminated:
            break
    assert any(first > 1 and second == 0 for first, second in seen)
    assert any(second > 1 and first == 0 for first, second in seen)


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize(
    ("limit", "length", "frames"),
    [({"max_episode_steps": 30}, 30, 120), ({"max_episode_frames": 90}, 23, 90)],
)
def test_a_time_limit_truncates_the_game_of_both(
    limit: dict[str, int], length: int, frames: int
) -> None:
    env = make(noop_max=0, **ONE_GAME, **limit)
    env.reset(seed=0)
    for step in range(1, length + 1):
        _, _, terminated, truncated, info = env.step(np.array([0, 0]))
        assert (terminated, truncated) == (False, step == length)
    assert info["game_truncated"]
    assert (info["episode_length"], info["episode_frames"]) == (length, frames)
    with pytest.raises(ResetNeededError):
        env.step(np.array([0, 0]))


@pytest.mark.usefixtures("each_emulator")
def test_what_was_returned_is_not_written_to_again() -> None:
    env = make("space_invaders", **ONE_GAME)
    obs, info = env.reset(seed=0)
    kept = [(obs, obs.copy())]
    returns = []
    for _ in range(100):
        obs, _, _, _, info = env.step(np.array([1, 1]))
        kept.append((obs, obs.copy()))
        returns.append((info["episode_return"], info["episode_return"].copy()))
        info["episode_return"] += 0  # a caller may even write to it
    assert all(np.array_equal(*pair) for pair in (*kept, *returns))
    assert returns[-1][0].any()


def test_frames_are_told_one_by_one() -> None:
    screens: list[np.ndarray] = []
    settings = any_settings(num_players=2, noop_min=5, noop_max=5, fire_reset=False)
    request = request_env(IDS["pong"], settings)
    game = TwoPlayerGame(
        request.env_id, request.recipe, on_frame=lambda: screens.append(game.render())
    )
    oracle = PettingZooGame("pong")
    game.reset(seed=0)
    oracle.reset()
    game.step(np.array([2, 3]))
    assert len(screens) == 9
    for screen, codes in zip(screens, [[0, 0]] * 5 + [[2, 3]] * 4, strict=True):
        oracle.emulate(np.array(codes))
        np.testing.assert_array_equal(screen, oracle.frame)


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("game", IDS)
def test_a_restored_state_replays_the_same_in_this_env_and_in_others(game: str) -> None:
    settings = {"sticky_actions": 0.25}
    env, other = make(game, **settings), make(game, **settings)
    env.reset(seed=4)
    play(env, 100, seed=1)
    state = pickle.loads(pickle.dumps(env.save_state()))
    screen = env.render()
    expected = play(env, 450, seed=2)
    assert any("'game_terminated': True" in said for _, said in expected) == (
        game == "space_invaders"
    )
    other.reset(seed=5)
    play(other, 7)
    for replayed in (env, other):
        replayed.restore_state(state)
        np.testing.assert_array_equal(replayed.render(), screen)
        assert play(replayed, 450, seed=2) == expected


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("game", ["Boxing", "IceHockey"])
def test_a_restored_state_keeps_the_chance_of_the_games_that_follow(game: str) -> None:
    env = make_env(
        f"ALE/{game}-v5", any_settings(num_players=2, max_episode_steps=60, sticky_actions=0.0)
    )
    env.reset(seed=4)
    play(env, 10, seed=1)
    state = env.save_state()
    expected = play(env, 130, seed=2)
    play(env, 70)
    env.restore_state(state)
    assert play(env, 130, seed=2) == expected


@pytest.mark.parametrize("backend", ["sync", "native"])
def test_a_restored_state_replays_the_same_in_another_process(backend: str) -> None:
    settings = Settings(num_players=2, sticky_actions=0.25, preset="baselines", backend=backend)
    env = make_env(IDS["space_invaders"], settings)
    env.reset(seed=4)
    play(env, 30, seed=1)
    state = pickle.dumps(env.save_state())
    expected = play(env, 50)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        replayed = pool.submit(replay, IDS["space_invaders"], settings, state, 50)
        assert replayed.result() == expected


@pytest.mark.usefixtures("each_emulator")
def test_a_state_of_an_ended_game_is_ended() -> None:
    env = make("space_invaders", **ONE_GAME)
    env.reset(seed=0)
    while not env.step(np.array([1, 1]))[2]:
        pass
    other = make("space_invaders", **ONE_GAME)
    other.restore_state(env.save_state())
    with pytest.raises(ResetNeededError):
        other.step(np.array([0, 0]))
    np.testing.assert_array_equal(other.reset(seed=1)[0], env.reset(seed=1)[0])


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize(
    ("game", "settings"),
    [("space_invaders", {}), ("pong", {"sticky_actions": 0.5}), ("pong", {"mode": 14})],
)
def test_a_state_of_another_game_is_refused(game: str, settings: dict[str, Any]) -> None:
    env, other = make("pong"), make(game, **settings)
    env.reset(seed=0)
    other.reset(seed=0)
    with pytest.raises(ValueError, match="the state of another game: "):
        env.restore_state(other.save_state())


@pytest.mark.usefixtures("each_emulator")
def test_a_difficulty_makes_another_game_of_it() -> None:
    frames = []
    for difficulty in (0, 3):
        env = make("pong", difficulty=difficulty)
        env.reset(seed=0)
        frames.append(play(env, 30)[-1])
    assert frames[0] != frames[1]


@pytest.mark.parametrize(
    ("env_id", "settings", "message"),
    [
        ("BreakoutNoFrameskip-v4", {}, "Breakout.* is no game for two; backgammon, boxing"),
        ("CartPole-v1", {}, "CartPole-v1` is no game for two"),
        (IDS["pong"], {"continuous": True}, "not with continuous=True"),
        (IDS["pong"], {"mode": 1}, r"mode of pong for two players must be one of 3, 4, .* not 1"),
        (IDS["pong"], {"difficulty": 4}, "difficulty of pong .* 0, 1, 2, 3, not 4"),
    ],
)
def test_what_no_game_for_two_can_be_is_refused(
    env_id: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnsupportedError, match=message):
        make_env(env_id, Settings(num_players=2, **settings))


def test_without_the_fork_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "multi_agent_ale_py", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'atari-wrappers\[two-player\]'"):
        import_multi_agent_ale()


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("action", [[0, 6], [-1, 0], [0.5, 1.0], [True, False], [0], 0])
def test_actions_that_there_are_not_are_refused(action: Any) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="are outside of MultiDiscrete"):
        env.step(action)


def test_nothing_is_printed_beside_ale_pys_games(capfd: pytest.CaptureFixture[str]) -> None:
    for game in IDS:
        make(game).reset(seed=0)
        make_env(IDS[game]).reset(seed=0)
    assert capfd.readouterr() == ("", "")
