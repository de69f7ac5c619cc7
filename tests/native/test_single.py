"""One game on `native` beside ale-py's own gymnasium env, frame by frame, and once it is closed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from games import make_game

from atari_wrappers import ClosedError, Settings, make_env
from atari_wrappers.recipes import PRESETS

GAME = "SeaquestNoFrameskip-v4"
# Frames as they come: what is left of the recipe is how seeds become random numbers, and the ends.
BARE = {"frame_skip": 1, "frame_stack": 1, "noop_max": 0, "screen_size": (210, 160)}


@pytest.mark.parametrize(
    ("name", "settings", "obs_type"),
    [
        ("Breakout", {}, "rgb"),
        ("MsPacman", {"full_action_space": True, "mode": 1}, "grayscale"),
        ("Qbert", {"difficulty": 1}, "ram"),
        ("Skiing", {}, "grayscale"),
    ],
)
def test_it_is_ales_own_env(name: str, settings: dict[str, Any], obs_type: str) -> None:
    limit = 130
    theirs = gym.make(
        f"ALE/{name}-v5",
        obs_type=obs_type,
        frameskip=1,
        max_num_frames_per_episode=limit,
        **settings,
    )
    bare = {} if obs_type == "ram" else {"grayscale": obs_type == "grayscale"}
    parts = {"frame_skip": 1, "noop_max": 0} if obs_type == "ram" else BARE | bare
    recipe = replace(PRESETS["gymnasium"], noop_min=0, noop_max=0)
    ours = make_env(
        f"ALE/{name}-v5",
        recipe=recipe,
        backend="native",
        obs_type="ram" if obs_type == "ram" else "screen",
        max_episode_frames=limit,
        **{part: value for part, value in parts.items() if part != "noop_max"},
        **settings,
    )
    console = theirs.unwrapped.ale
    assert ours.action_space == theirs.action_space
    assert ours.get_action_meanings() == theirs.unwrapped.get_action_meanings()
    assert ours.ale.getMinimalActionSet() == console.getMinimalActionSet()
    assert ours.ale.getLegalActionSet() == console.getLegalActionSet()
    theirs.action_space.seed(0)
    ends = 0
    for seed in (11, None, 12):
        obs, info = ours.reset(seed=seed)
        expected, told = theirs.reset(seed=seed)
        for _ in range(limit + 1):
            np.testing.assert_array_equal(np.squeeze(obs), expected)
            assert (info["lives"], info["episode_frames"]) == (
                told["lives"],
                told["episode_frame_number"],
            )
            for look in ("getRAM", "getScreenRGB", "getScreenGrayscale", "lives"):
                one, other = (getattr(ale, look)() for ale in (ours.ale, console))
                np.testing.assert_array_equal(one, other, look)
            np.testing.assert_array_equal(ours.render(), console.getScreenRGB())
            action = int(theirs.action_space.sample())
            obs, reward, *flags, info = ours.step(action)
            expected, their_reward, *their_flags, told = theirs.step(action)
            assert (reward, flags) == (their_reward, their_flags)
            if any(flags):
                ends += 1
                break
    assert ends == 3


# ale-py's own states lack the rows of a picture that a frame leaves out, as those of Q*bert do; so
# this is of `native` alone. `test_resume` asks every game.
@pytest.mark.parametrize("observed", ["screen", "ram"])
def test_rows_that_a_frame_leaves_out_are_restored(observed: str) -> None:
    game, other = (
        make_env("QbertNoFrameskip-v4", backend="native", frame_skip=1, obs_type=observed)
        for _ in range(2)
    )
    game.reset(seed=3)
    for _ in range(80):
        game.step(2)
    state = game.save_state()
    expected = [(game.step(step % 6)[0], game.render()) for step in range(40)]
    other.reset(seed=9)
    other.step(0)
    for env in (game, other):
        env.restore_state(state)
        for step, (obs, screen) in enumerate(expected):
            np.testing.assert_array_equal(env.step(step % 6)[0], obs)
            np.testing.assert_array_equal(env.render(), screen)


def test_of_two_players_the_console_knows_the_actions() -> None:
    game = make_env("ALE/FlagCapture-v5", backend="native", num_players=2)
    assert [len(game.ale.getMinimalActionSet())] * 2 == game.action_space.nvec.tolist()


def test_a_step_that_was_broken_off_is_dropped_by_a_reset() -> None:
    game = make_env(GAME, backend="native")
    expected = game.reset(seed=0)[0]
    game._core.begin_step(np.zeros((1,), np.int64), [0])
    np.testing.assert_array_equal(game.reset(seed=0)[0], expected)


def test_a_game_that_nobody_records_keeps_no_pictures(tmp_path: Path) -> None:
    of_first = {"video_dir": tmp_path, "video_envs": [0]}
    game = make_env(GAME, Settings(**of_first, backend="native"), env_index=1)
    game.reset(seed=0)
    for _ in range(5):
        game.step(0)
    assert len(game._core.take_film(0)[1]) == 0


def test_a_closed_game_says_so() -> None:
    game = make_env(GAME, backend="native")
    game.reset(seed=0)
    game.close()
    game.close()
    calls = [game.reset, lambda: game.step(0), game.render, game.save_state, game.ale.getRAM]
    for call in calls:
        with pytest.raises(RuntimeError, match="closed"):
            call()
    with pytest.raises(ClosedError, match=f"step of .*{GAME}.*: it was closed"):
        game.step(0)


def test_a_state_of_the_other_emulator_is_refused_by_name() -> None:
    ours, theirs = make_env(GAME, backend="native"), make_game(GAME, "default")
    ours.reset(seed=0)
    theirs.reset(seed=0)
    for env, state in ((ours, theirs.save_state()), (theirs, ours.save_state())):
        with pytest.raises(ValueError, match=r'not the state of a game on .*"native"'):
            env.restore_state(state)
