"""The rules of lost lives and ends, on a scripted emulator: what real games show too rarely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ale_py import Action

from atari_wrappers.game.pictures import make_observations
from atari_wrappers.game.rules import GameRules
from atari_wrappers.recipes import PRESETS, Recipe


class ScriptedEmulator:
    """A game whose lives are given frame by frame, and which ends where they do."""

    actions: Sequence[Action] = (Action.NOOP,)
    screen_size = 210, 160

    def __init__(self, lives: Sequence[int]) -> None:
        self._lives = lives
        self.frames = 0

    def load(self, seed: int) -> None:
        pass

    def new_game(self) -> None:
        self.frames = 0

    def act(self, action: Action, strength: float = 1.0) -> int:
        self.frames += 1
        return 1

    def game_over(self) -> bool:
        return self.frames == len(self._lives)

    def lives(self) -> int:
        return self._lives[max(0, self.frames - 1)]

    def grab(self, picture: np.ndarray) -> None:
        picture[:] = 99 - self.frames


def make_play(lives: Sequence[int], **parts: Any) -> GameRules:
    recipe = replace(PRESETS["default"], noop_min=0, noop_max=0, **parts)
    return begin(ScriptedEmulator(lives), recipe)


def begin(emulator: ScriptedEmulator, recipe: Recipe) -> GameRules:
    play = GameRules(emulator, recipe, make_observations(emulator, recipe))  # type: ignore[arg-type]
    play.new_game(None)
    return play


# A life lost in the second step, two at once in the fourth with the game going on, and its end.
LIVES = [3] * 5 + [2] * 8 + [0] * 8


@pytest.mark.parametrize(
    ("way", "frames", "lost"),
    [
        ("after-skip", [4, 8, 12, 16, 20, 21], [False, True, False, False, False, False]),
        ("in-skip", [4, 6, 10, 14, 18, 21], [False, True, False, False, False, False]),
        ("any-drop", [4, 6, 10, 14, 18, 21], [False, True, False, True, False, False]),
    ],
)
def test_which_lost_lives_end_an_episode(way: str, frames: list[int], lost: list[bool]) -> None:
    play = make_play(LIVES, life_loss=way)
    seen, rewards = [], []
    while not play.is_over:
        rewards.append(play.step(Action.NOOP))
        seen.append((play.record()["episode_frames"], play.life_lost))
    assert seen == list(zip(frames, lost, strict=True))
    assert rewards == list(np.diff([0, *frames]))
    assert play.record() == {
        "game_terminated": True,
        "game_truncated": False,
        "episode_return": 21,
        "episode_length": 6,
        "episode_frames": 21,
    }


def test_without_episodic_life_none_does() -> None:
    for way in ("after-skip", "in-skip", "any-drop"):
        play = make_play(LIVES, life_loss=way, episodic_life=False)
        lengths = 0
        while not play.is_over:
            play.step(Action.NOOP)
            assert not play.life_lost
            lengths += 1
        assert lengths == 6


# A bonus life is none lost, and neither is it owed.
def test_a_life_won_counts_from_then_on() -> None:
    play = make_play([2, 2, 3, 3, 2, 2, 2], frame_skip=2)
    lost = []
    while not play.is_over:
        play.step(Action.NOOP)
        lost.append((play.lives, play.life_lost))
    assert lost == [(2, False), (3, False), (2, True), (2, False)]


@pytest.mark.parametrize(
    ("precedence", "flags"),
    [("both", (True, True)), ("terminated", (True, False)), ("truncated", (False, True))],
)
@pytest.mark.parametrize("limit", [{"max_episode_frames": 6}, {"max_episode_steps": 2}])
def test_an_end_and_a_limit_at_once(
    limit: dict[str, int], precedence: str, flags: tuple[bool, bool]
) -> None:
    play = make_play([1] * 6, end_precedence=precedence, **limit)
    play.step(Action.NOOP)
    assert not play.is_over
    play.step(Action.NOOP)
    assert (play.terminated, play.truncated) == flags


# A game of 6 frames ends in the 8 no-ops; two of them belong to the next one.
def test_a_game_that_ends_in_its_no_ops_is_followed_by_another() -> None:
    recipe = replace(PRESETS["baselines"], noop_min=8, noop_max=8)
    play = begin(ScriptedEmulator([1] * 6), recipe)
    assert not play.is_over
    assert play.cut_off is None
    assert play.record()["episode_frames"] == 2
    assert play.record()["episode_return"] == 2
    play = begin(ScriptedEmulator([1] * 6), replace(recipe, count_reset_rewards=False))
    assert (play.record()["episode_frames"], play.record()["episode_return"]) == (2, 0)


# Screens darken from 99 with each frame, so that the first step is seen as its third frame, 96. The
# second ends with its third frame, 92, or its fourth, 91; 95 is what the first step ended with.
@pytest.mark.parametrize(
    ("last_frame", "frames", "seen"),
    [
        ("pooled", 7, [99, 96, 95]),
        ("pooled", 8, [99, 96, 92]),
        ("dropped", 7, [99, 96, 96]),
        ("dropped", 8, [99, 96, 96]),
        ("alone", 7, [99, 96, 92]),
        ("alone", 8, [99, 96, 92]),
    ],
)
def test_what_is_seen_of_a_step_that_a_game_ends(
    last_frame: str, frames: int, seen: list[int]
) -> None:
    play = make_play([1] * frames, last_frame=last_frame)
    pictures = [play._pictures.picture.max()]
    while not play.is_over:
        play.step(Action.NOOP)
        pictures.append(play._pictures.picture.max())
    assert pictures == seen


# One no-op, and FIRE that costs a life in its second frame: as stable-baselines3 does, a step of
# no-op is put between the two steps of FIRE, 13 frames in all.
def test_a_life_lost_in_the_fire_of_a_start() -> None:
    recipe = replace(PRESETS["baselines"], noop_min=1, noop_max=1)
    emulator = ScriptedEmulator([3] * 2 + [2] * 90)
    emulator.actions = (Action.NOOP, Action.FIRE, Action.UP)
    play = begin(emulator, recipe)
    assert play.record()["episode_frames"] == 13
    assert play.record()["episode_length"] == 0
    assert (play.lives, play.life_lost) == (2, False)
