"""The face of a single game: spaces, actions, pictures, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan, pi
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from ale_py import Action
from games import make_game
from gymnasium.utils.env_checker import check_env
from oracles import Ale, assert_alike

from atari_wrappers import UnsupportedError, make_vec
from atari_wrappers.game.env import AtariGame
from atari_wrappers.game.spaces import console_action
from atari_wrappers.ids import resolve
from atari_wrappers.recipes import PRESETS

PONG = "PongNoFrameskip-v4"


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("preset", ["default", "gymnasium"])
def test_it_is_a_gymnasium_env(preset: str) -> None:
    check_env(make_game(PONG, preset), skip_render_check=True)


@pytest.mark.usefixtures("each_emulator")
def test_spaces() -> None:
    game = make_game(PONG, "default", grayscale=False, screen_size=(100, 60), frame_stack=2)
    assert game.observation_space == gym.spaces.Box(0, 255, (2, 100, 60, 3), np.uint8)
    assert game.reset()[0] in game.observation_space
    assert game.action_space == gym.spaces.Discrete(6)
    assert game.get_action_meanings()[:2] == ["NOOP", "FIRE"]
    assert make_game(PONG, "default", full_action_space=True).action_space.n == 18


@pytest.mark.usefixtures("each_emulator")
def test_observations_are_the_callers() -> None:
    game = make_game(PONG, "default")
    first = game.reset(seed=0)[0]
    first[:] = 7
    second = game.step(0)[0]
    assert not (second[:3] == 7).any()
    game.step(0)
    np.testing.assert_array_equal(first, 7)


def walk(game: AtariGame, steps: int) -> Iterator[np.ndarray]:
    game.action_space.seed(0)
    yield game.reset(seed=0)[0]
    for _ in range(steps):
        yield game.step(game.action_space.sample())[0]


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("grayscale", [True, False])
def test_channels_last(grayscale: bool) -> None:
    parts = {"screen_size": (50, 30), "frame_stack": 3, "grayscale": grayscale}
    plain = make_game(PONG, "gymnasium", **parts)
    game = make_game(PONG, "gymnasium", channels_last=True, **parts)
    assert game.observation_space.shape == (50, 30, 3 if grayscale else 9)
    for obs, last in zip(walk(plain, 9), walk(game, 9), strict=True):
        expected = np.stack(obs, -1) if grayscale else np.concatenate(obs, -1)
        np.testing.assert_array_equal(last, expected)


@pytest.mark.usefixtures("each_emulator")
def test_ram_is_what_gymnasiums_atari_env_observes() -> None:
    theirs = gym.make("ALE/Pong-v5", obs_type="ram", repeat_action_probability=0.25)
    parts = {"obs_type": "ram", "noop_min": 0, "noop_max": 0, "sticky_actions": 0.25}
    ours = make_game(PONG, "gymnasium", frame_stack=1, **parts)
    assert ours.observation_space == theirs.observation_space
    expected, obs = theirs.reset(seed=3)[0], ours.reset(seed=3)[0]
    theirs.action_space.seed(0)
    for _ in range(300):
        np.testing.assert_array_equal(obs, expected)
        action = theirs.action_space.sample()
        expected, obs = theirs.step(action)[0], ours.step(action)[0]


@pytest.mark.usefixtures("each_emulator")
def test_render_shows_ales_screen() -> None:
    game = make_game(PONG, "default")
    game.reset(seed=0)
    game.step(2)
    picture = game.render()
    assert picture.shape == (210, 160, 3)
    np.testing.assert_array_equal(picture, game.ale.getScreenRGB())


def test_each_emulated_frame_is_announced() -> None:
    shown: list[np.ndarray] = []
    game = AtariGame(
        resolve(PONG), PRESETS["envpool"], on_frame=lambda: shown.append(game.render())
    )
    assert not shown
    _, info = game.reset(seed=0)
    assert len(shown) == info["episode_frames"] > 0
    game.step(0)
    assert len(shown) == info["episode_frames"] + 4
    np.testing.assert_array_equal(shown[-1], game.render())


def test_np_random_is_what_no_ops_are_drawn_from() -> None:
    game = make_game(PONG, "gymnasium", sticky_actions=0.0)
    game.reset(seed=0)
    expected = np.random.Generator(np.random.PCG64())
    expected.bit_generator.state = game.np_random.bit_generator.state
    frames = [game.reset()[1]["episode_frames"] for _ in range(5)]
    assert frames == [expected.integers(1, 31) for _ in range(5)]


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("action", [-1, 6, np.int64(99)])
def test_actions_out_of_range_are_refused(action: int) -> None:
    game = make_game(PONG, "default")
    game.reset()
    with pytest.raises(ValueError, match=f"action {action} .* 0 to 5"):
        game.step(action)


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("action", [1.9, np.float32(2), -0.5, "1", b"2", True, np.True_, None])
def test_what_is_no_integer_is_no_action(action: Any) -> None:
    game = make_game(PONG, "default")
    game.reset()
    with pytest.raises(TypeError, match="action must be an integer"):
        game.step(action)


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("action", [[2.0, 0.0, 0.0], [nan, 0.0, 0.0], [0.5, 4.0, 0.0], [0.5, 0.0]])
def test_polar_actions_out_of_range_are_refused(action: list[float]) -> None:
    game = make_game(PONG, "default", continuous=True)
    game.reset()
    with pytest.raises(ValueError, match="is outside of Box"):
        game.step(action)


@pytest.mark.parametrize(("part", "value"), [("mode", 99), ("difficulty", 7)])
def test_modes_that_a_game_has_not_got_are_refused(part: str, value: int) -> None:
    message = f"{part} of pong must be one of .*, not {value}"
    with pytest.raises(UnsupportedError, match=message):
        make_game(PONG, "default", **{part: value})
    # As it is, and not as what befell a worker.
    with pytest.raises(UnsupportedError, match=message):
        make_vec(PONG, 2, backend="async", context="forkserver", **{part: value})


@pytest.mark.parametrize(
    ("polar", "action"),
    [
        ((1.0, 0.0, 0.0), Action.RIGHT),
        ((1.0, pi, 0.0), Action.LEFT),
        ((1.0, pi / 2, 1.0), Action.UPFIRE),
        ((1.0, -pi / 2, 0.5), Action.DOWN),
        ((1.0, pi / 4, 0.51), Action.UPRIGHTFIRE),
        ((1.0, -3 * pi / 4, 0.0), Action.DOWNLEFT),
        ((0.7, pi / 4, 0.0), Action.NOOP),
        ((0.5, 0.0, 0.0), Action.NOOP),
        ((0.0, 1.0, 1.0), Action.FIRE),
    ],
)
def test_polar_actions(polar: tuple[float, float, float], action: Action) -> None:
    console, strength = console_action(np.array(polar, np.float32), 0.5)
    assert console == action
    assert strength == np.float32(polar[0])


@pytest.mark.parametrize(
    ("name", "rom", "lines"),
    [
        ("Pooyan", "pooyan", 220),
        ("JourneyEscape", "journey_escape", 230),
        ("AirRaid", "air_raid", 250),
    ],
)
def test_screens_of_more_lines(name: str, rom: str, lines: int) -> None:
    game = make_game(f"{name}NoFrameskip-v4", "ale")
    assert_alike(game, Ale(rom), steps=200, seed=3)
    assert game.render().shape == (lines, 160, 3)
