"""Games by every recipe and each part of one, for one and for two: `native` beside `sync`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from twins import OpenVec, Twins

from atari_wrappers.recipes import PRESETS

# Games in which lives are soon lost: joysticks in either port, pictures that begin elsewhere, three
# ways to switch banks.
GAMES = ["Seaquest", "WizardOfWor", "MsPacman", "MontezumaRevenge", "Asteroids", "SpaceInvaders"]
# Games that last, without lives: a joystick and no FIRE, a paddle.
LONG_GAMES = ("Freeway", "Pong")
# A game that is soon over, with a paddle.
SHORT_GAME = "Breakout"

# Parts of a recipe that are changed each, or a few, where that shows. Short limits and lost lives
# bring many ends.
VARIATIONS: list[tuple[str, dict[str, Any]]] = [
    ("Breakout", {"obs_type": "ram", "frame_stack": 1}),
    ("Pong", {"pooling": "rgb"}),
    ("SpaceInvaders", {"last_frame": "pooled"}),
    ("Breakout", {"pooling": "rgb", "last_frame": "alone"}),
    ("Freeway", {"pooling": "rgb", "resizing": "rgb", "last_frame": "dropped"}),
    ("MsPacman", {"frame_skip": 1, "last_frame": "alone"}),
    ("Breakout", {"frame_skip": 3, "screen_size": (96, 72)}),
    ("Pong", {"interpolation": "linear", "screen_size": (96, 72)}),
    ("Atlantis", {"grayscale": False}),
    ("Breakout", {"grayscale": False, "interpolation": "linear"}),
    ("Freeway", {"channels_last": True, "frame_stack": 3}),
    (
        "SpaceInvaders",
        {"grayscale": False, "channels_last": True, "padding": "reset", "last_frame": "pooled"},
    ),
    ("Breakout", {"frame_stack": 1, "screen_size": (210, 160)}),
    ("Pong", {"noop_max": 0, "noop_min": 0, "seeding": "hashed"}),
    ("MsPacman", {"fire_reset": "after-noops", "count_reset_frames": True}),
    ("Breakout", {"fire_reset": "steps", "count_reset_rewards": True, "noop_min": 3}),
    ("UpNDown", {"episodic_life": True, "after_life_loss": "go-on", "fire_reset": "off"}),
    (
        "UpNDown",
        {"episodic_life": True, "life_loss": "any-drop", "after_life_loss": "noop-step"},
    ),
    ("Breakout", {"episodic_life": True, "after_life_loss": "noops", "fire_reset": "steps"}),
    (
        "UpNDown",
        {"episodic_life": True, "life_loss": "after-skip", "fire_reset": "after-noops"},
    ),
    (
        "UpNDown",
        {
            "episodic_life": True,
            "life_loss": "any-drop",
            "end_precedence": "truncated",
            "max_episode_steps": 60,
        },
    ),
    (
        "Breakout",
        {
            "episodic_life": True,
            "after_life_loss": "noop-step",
            "end_precedence": "both",
            "max_episode_frames": 330,
            "clip_reward": False,
        },
    ),
    ("Freeway", {"full_action_space": True, "fire_reset": "steps"}),
    ("Qbert", {"continuous": True, "continuous_action_threshold": 0.3}),
    ("Breakout", {"continuous": True, "mode": 0, "difficulty": 0}),
]

# Sticky actions reach into the starts of Berzerk and Double Dunk, and Adventure's modes take
# presses of random lengths.
MODES = [
    ("Adventure", 1, 0),
    ("Adventure", 2, 3),
    ("Berzerk", 3, 0),
    ("DoubleDunk", 11, 0),
    ("Gravitar", 3, 0),
    ("Pong", 1, 3),
    ("UpNDown", 0, 2),
]

# Lives that are shared, each one's own, and none; paddles, joysticks in either port, a television
# of Europe; chance from the seed, and from the games before.
FOR_TWO = [
    ("SpaceInvaders", "baselines", "same-step"),
    ("SpaceInvaders", "envpool", "disabled"),
    ("Pong", "gymnasium", "next-step"),
    ("Pong", "default", "same-step"),
    ("Entombed", "default", "next-step"),
    ("MarioBros", "baselines", "disabled"),
    ("IceHockey", "envpool", "same-step"),
    ("SpaceWar", "ale", "same-step"),
]
PARTS_FOR_TWO: list[tuple[str, dict[str, Any]]] = [
    ("Pong", {"obs_type": "ram", "frame_stack": 1, "mode": 14}),
    (
        "Boxing",
        {"grayscale": False, "pooling": "rgb", "full_action_space": True, "difficulty": 2},
    ),
    (
        "WizardOfWor",
        {
            "channels_last": True,
            "frame_stack": 3,
            "fire_reset": "steps",
            "count_reset_rewards": True,
        },
    ),
    ("Surround", {"screen_size": (96, 72), "frame_skip": 3, "clip_reward": False}),
    ("FlagCapture", {"seeding": "hashed", "padding": "reset", "last_frame": "pooled"}),
]


def ends_of(
    open_vec: OpenVec,
    game: str,
    num_steps: int,
    preset: str = "ale",
    settings: dict[str, Any] | None = None,
    **parts: Any,
) -> Counter[str]:
    """Play two envs by a recipe with sticky actions on both, and count how episodes ended."""
    recipe = replace(PRESETS[preset], **{"sticky_actions": 0.25} | parts)
    twins = Twins(open_vec, f"ALE/{game}-v5", 2, recipe=recipe, **settings or {})
    for _ in range(num_steps):
        twins.step()
    twins.ask("reset")
    for _ in range(num_steps // 4):
        twins.step()
    return twins.ends


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset(preset: str, open_vec: OpenVec) -> None:
    place = list(PRESETS).index(preset)
    # A time limit of whichever kind the preset has, shorter.
    in_steps = PRESETS[preset].max_episode_steps > 0
    limits = {"max_episode_frames": 0, "max_episode_steps": 250}
    limits = limits if in_steps else {"max_episode_frames": 1000, "max_episode_steps": 0}
    for game, episodic_life, expected in (
        (SHORT_GAME, False, "games over"),
        (LONG_GAMES[place % 2], True, "truncated"),
        (GAMES[place], True, "lives lost"),
    ):
        ends = ends_of(open_vec, game, 260, preset, episodic_life=episodic_life, **limits)
        assert ends[expected] > 0, (game, ends)


@pytest.mark.parametrize(
    ("autoreset", "preset"),
    [("next-step", "default"), ("disabled", "baselines"), ("next-step", "envpool")],
)
def test_other_autoreset_modes(autoreset: str, preset: str, open_vec: OpenVec) -> None:
    settings = {"autoreset": autoreset}
    parts = {"episodic_life": True, "max_episode_steps": 90}
    ends = ends_of(open_vec, SHORT_GAME, 200, preset, settings, **parts)
    assert ends["lives lost"] > 0
    assert ends["truncated"] > 0


def test_every_part_alone(open_vec: OpenVec) -> None:
    ends: Counter[str] = Counter()
    for game, parts in VARIATIONS:
        num_steps = 540 // parts.get("frame_skip", 4)
        ends += ends_of(open_vec, game, num_steps, **{"max_episode_frames": 500} | parts)
    assert ends["lives lost"] > 10, ends
    assert ends["games over"] > 2, ends
    assert ends["truncated"] > 20, ends


@pytest.mark.parametrize(
    ("after_life_loss", "precedence", "flags"),
    [
        ("new-game", "terminated", (True, False)),
        ("new-game", "truncated", (False, True)),
        ("new-game", "both", (True, True)),
        ("go-on", "terminated", (False, True)),  # a signal only
    ],
)
def test_an_end_in_the_step_of_the_limit(
    after_life_loss: str, precedence: str, flags: tuple[bool, bool], open_vec: OpenVec
) -> None:
    recipe = replace(
        PRESETS["ale"],
        episodic_life=True,
        after_life_loss=after_life_loss,
        end_precedence=precedence,
    )
    ball = Twins(open_vec, "ALE/Breakout-v5", 1, recipe=recipe)
    num_steps = 1
    while not ball.ask("step", [1])[2]:
        num_steps += 1
    recipe = replace(recipe, max_episode_steps=num_steps)
    twins = Twins(open_vec, "ALE/Breakout-v5", 1, recipe=recipe)
    for _ in range(num_steps):
        result = twins.ask("step", [1])
    assert (result[2], result[3]) == flags


@pytest.mark.parametrize(("game", "mode", "difficulty"), MODES)
def test_modes_and_difficulties(game: str, mode: int, difficulty: int, open_vec: OpenVec) -> None:
    parts = {"frame_skip": 2, "obs_type": "ram", "frame_stack": 1, "max_episode_frames": 60}
    ends = ends_of(open_vec, game, 150, mode=mode, difficulty=difficulty, **parts)
    assert ends["truncated"] > 0


def test_every_kind_of_game_for_two(open_vec: OpenVec) -> None:
    ends: Counter[str] = Counter()
    for game, preset, autoreset in FOR_TWO:
        settings = {"num_players": 2, "autoreset": autoreset}
        parts = {"episodic_life": True, "max_episode_frames": 700}
        ends += ends_of(open_vec, game, 240, preset, settings, **parts)
    assert ends["lives lost"] > 5, ends
    assert ends["truncated"] > 10, ends


@pytest.mark.parametrize(("game", "parts"), PARTS_FOR_TWO)
def test_parts_for_two(game: str, parts: dict[str, Any], open_vec: OpenVec) -> None:
    ends = ends_of(
        open_vec, game, 110, settings={"num_players": 2}, max_episode_frames=300, **parts
    )
    assert ends["truncated"] > 0


def test_a_seed_for_one_of_two_that_play_on(open_vec: OpenVec) -> None:
    recipe = replace(PRESETS["ale"], sticky_actions=0.25, noop_max=7)
    twins = Twins(open_vec, "ALE/Tennis-v5", 2, recipe=recipe, num_players=2)
    for seed in (None, 5, None):
        for _ in range(20):
            twins.step()
        twins.ask("reset", seed=[None, seed], mask=[False, True])
    for _ in range(20):
        twins.step()
