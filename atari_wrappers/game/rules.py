"""A game by the rules of a recipe: how it starts, what a step of the agent is, and when it ends.

What is observed of it is in `pictures`, which are told of each frame that counts and of each start
of an episode; what a learner is told is in `env`.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from ale_py import Action

from atari_wrappers.checks import check_number
from atari_wrappers.game.emulator import Emulator
from atari_wrappers.game.pictures import Observations
from atari_wrappers.game.seeding import Draws, make_draws
from atari_wrappers.plain_data import check_alike
from atari_wrappers.recipes import Recipe

# Ways of `Recipe.fire_reset` that are a single frame.
_FIRE_FRAME = ("before-noops", "after-noops")
_STATE = ("lives", "terminated", "truncated", "life_lost", "score", "steps", "_limit")


class GameRules:
    """Plays games, one after the other.

    Attributes:
        draws: Where random numbers come from.
        lives: Those left; 0 where the game has none.
        terminated: Whether the game has ended by itself.
        truncated: Whether it has reached its limit of time.
        life_lost: Whether the last step has cost a life, in the terms of `Recipe.life_loss`.
        score: Sum of the rewards of the agent's steps, and of resets if the recipe says so.
        steps: The agent's steps in it.
        cut_off: The record of a game that ended while a reset was to go on with it, else `None`.
    """

    lives: int
    life_lost: bool
    steps: int
    score: Any  # a float, or of two players an array
    terminated: bool
    truncated: bool

    def __init__(self, emulator: Emulator, recipe: Recipe, pictures: Observations) -> None:
        self._emulator, self._recipe, self._pictures = emulator, recipe, pictures
        self.draws: Draws = make_draws(recipe.seeding, None)
        emulator.load(self.draws.ale_seed)
        has_fire = Action.FIRE in emulator.actions
        self._fire_reset = recipe.fire_reset if has_fire else "off"
        self._watches_lives = recipe.episodic_life and recipe.life_loss != "after-skip"
        self._fewest_lives = 0 if recipe.life_loss == "any-drop" else 1
        self._max_frames = recipe.max_episode_frames or inf
        self._max_steps = recipe.max_episode_steps or inf
        self._limit = inf
        self.lives = self.steps = 0
        self.score = 0.0
        self.terminated = self.truncated = self.life_lost = False
        self.cut_off: dict[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the game has ended in one way or the other."""
        return self.terminated or self.truncated

    @property
    def _gives_up(self) -> bool:
        """Whether a lost life ends the game, because another one follows."""
        return self.life_lost and self._recipe.after_life_loss == "new-game"

    def record(self) -> dict[str, Any]:
        """Return what infos say of the game."""
        return {
            "game_terminated": self.terminated or self._gives_up,
            "game_truncated": self.truncated,
            "episode_return": self.score,
            "episode_length": self.steps,
            "episode_frames": self._emulator.frames,
        }

    def save(self) -> dict[str, Any]:
        """Return the whole state but the emulator's and the pictures', as plain data."""
        attributes = {name: getattr(self, name) for name in _STATE}
        return {"attributes": attributes, "draws": self.draws.state()}

    def check(self, state: Any) -> None:
        """Refuse, by a `ValueError`, what is not as `save` returns it."""
        attributes = self.save()["attributes"] | {"score": ..., "_limit": ...}
        check_alike("rules", state, {"attributes": attributes, "draws": ...})
        score, limit = (np.asarray(state["attributes"][name]) for name in ("score", "_limit"))
        shapes = {(), self._emulator.reward_shape}
        if score.dtype.kind not in "iuf" or score.shape not in shapes:
            raise ValueError(f"rules.attributes.score is {state['attributes']['score']!r}")
        check_number("rules.attributes.score", float(np.abs(score).max()), 0, 1e300)
        if limit.dtype.kind not in "iuf" or limit.shape:
            raise ValueError(f"rules.attributes._limit is {state['attributes']['_limit']!r}")
        check_number("rules.attributes._limit", float(limit), 0)
        check_number("rules.attributes.steps", state["attributes"]["steps"], 0)
        self.draws.check_state(state["draws"])

    def restore(self, state: dict[str, Any]) -> None:
        """Go to a state that `save` returned."""
        for name, value in state["attributes"].items():
            setattr(self, name, value)
        self.draws.set_state(state["draws"])

    def step(self, action: Any, strength: float = 1.0) -> Any:
        """Take a step of the agent, and return its reward; the rest is in attributes."""
        self.steps += 1
        reward = self._skip(action, strength)
        self.score = self.score + reward
        self._pictures.push()
        if self.steps >= self._max_steps:
            self.truncated = True
            self._decide_end()
        return reward

    def _skip(self, action: Any, strength: float = 1.0) -> Any:
        """Emulate the frames of one step, and return their reward."""
        emulator, pictures = self._emulator, self._pictures
        reward, left, ends = 0.0, self._recipe.frame_skip, False
        self.life_lost = False
        while left and not ends:
            left -= 1
            reward = reward + emulator.act(action, strength)
            if emulator.game_over():
                self.terminated = ends = True
            if emulator.frames >= self._limit:
                self.truncated = ends = True
            if self._watches_lives and self._check_lives(self._fewest_lives):
                ends = True
            if left < 2:
                pictures.kept(left, ends)
        if not self._watches_lives:
            self._check_lives(1)
        if ends:
            self._decide_end()
        pictures.step_done(is_full=not left)
        return reward

    def _check_lives(self, fewest: int) -> bool:
        """Note the lives, and return whether one is lost and `fewest` at least are left."""
        lives = self._emulator.lives()
        self.life_lost = self._recipe.episodic_life and fewest <= lives < self.lives
        self.lives = lives
        return self.life_lost

    def _decide_end(self) -> None:
        """Say how a game has ended that did so in both ways."""
        if self.truncated and (self.terminated or self._gives_up):
            first = self._recipe.end_precedence
            if first == "truncated":
                self.terminated = self.life_lost = False
            self.truncated = first != "terminated"

    def new_game(self, seed: int | None) -> None:
        """Begin a game; a seed restarts all random numbers."""
        self.steps, self.cut_off = 0, None
        self._begin(seed)
        self._no_ops(seed)
        self._pictures.restarted()
        self._fire_steps(seed)
        self._settle(self._max_frames)
        self._pictures.begin()

    def next_life(self) -> None:
        """Go on after a lost life."""
        way = self._recipe.after_life_loss
        self.cut_off = None
        if way == "new-game":
            self.new_game(None)
            return
        self.life_lost = False
        if way == "go-on":
            return
        left = self._limit - self._emulator.frames
        if not self._recipe.count_reset_frames:
            self._limit = inf
        if way == "noops":
            self._no_ops(None)
            self._pictures.restarted()
        else:
            self._no_op_step(None)
            if self._fire_reset in _FIRE_FRAME and self.cut_off is None:
                self._frame(Action.FIRE, None)
                self._pictures.restarted()
        self._fire_steps(None)
        is_new = self.cut_off is not None
        self._settle(self._max_frames if is_new else left)
        if is_new or way == "noop-step":
            self._pictures.begin()
        else:
            self._pictures.push()

    def _settle(self, frames: float) -> None:
        """End a reset; the game may last `frames` more, unless those of the reset count too."""
        if not self._recipe.count_reset_frames:
            self._limit = self._emulator.frames + frames
        self.lives = self._emulator.lives()
        self.life_lost = False

    def _begin(self, seed: int | None) -> None:
        if self.steps:
            self.cut_off = self.record()
        if seed is not None:
            self.draws = make_draws(self._recipe.seeding, seed)
            self._emulator.load(self.draws.ale_seed)
        self._emulator.new_game()
        self.terminated = self.truncated = self.life_lost = False
        self.steps, self.score = 0, 0.0
        self._limit = self._max_frames if self._recipe.count_reset_frames else inf
        self.lives = self._emulator.lives()

    def _no_ops(self, seed: int | None) -> None:
        """Take the no-ops, and the FIRE that is a single frame."""
        recipe, way = self._recipe, self._fire_reset
        count = self.draws.between(recipe.noop_min, recipe.noop_max)
        if way in _FIRE_FRAME:
            count = max(0, count - 1)
        actions = [Action.NOOP] * count
        if way == "before-noops":
            actions.insert(0, Action.FIRE)
        elif way == "after-noops":
            actions.append(Action.FIRE)
        for action in actions:
            self._frame(action, seed)

    def _frame(self, action: Action, seed: int | None) -> None:
        """Emulate one frame of a start; where the game ends with it, another one begins."""
        self._count_reset_reward(self._emulator.act(action))
        self.terminated = self._emulator.game_over()
        self.truncated = self._emulator.frames >= self._limit
        if self.is_over:
            self._decide_end()
            self._begin(seed)

    def _count_reset_reward(self, reward: Any) -> None:
        if self._recipe.count_reset_rewards:
            self.score = self.score + reward

    def _no_op_step(self, seed: int | None) -> None:
        """Take a step of no-op in a game that goes on; begin another where it has ended."""
        if not self.is_over:
            self._count_reset_reward(self._skip(Action.NOOP))
            if not self.is_over:
                return
        self._begin(seed)
        self._no_ops(seed)
        self.lives = self._emulator.lives()
        self._pictures.restarted()

    def _fire_steps(self, seed: int | None) -> None:
        """Take a step each of actions 1 and 2 if the recipe says so.

        Where one costs a life or ends the game there is a reset in between, whose picture, as in
        stable-baselines3, nobody sees.
        """
        if self._fire_reset == "steps":
            for action in self._emulator.actions[1:3]:
                self._count_reset_reward(self._skip(action))
                if self.is_over or self.life_lost:
                    seen = self._pictures.picture.copy()
                    self._no_op_step(seed)
                    self._pictures.picture = seen
