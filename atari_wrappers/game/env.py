"""One Atari game as a gymnasium env, preprocessed by a recipe.

The parts are `emulator` (ALE), `rules`, `pictures`, and `seeding`.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from ale_py import ALEInterface
from gymnasium.envs.registration import EnvSpec

from atari_wrappers.checks import checked_integer, checked_seed
from atari_wrappers.errors import ClosedError, ResetNeededError
from atari_wrappers.game.emulator import Emulator, OnFrame
from atari_wrappers.game.pictures import make_observations
from atari_wrappers.game.rules import GameRules
from atari_wrappers.game.saved import STATE_VERSION, SavedAnywhere
from atari_wrappers.game.seeding import HashedDraws
from atari_wrappers.game.spaces import console_action, no_such_action, spaces_of
from atari_wrappers.ids import EnvId
from atari_wrappers.plain_data import check_alike, pack, unpack
from atari_wrappers.recipes import Recipe
from atari_wrappers.types import EnvReset, EnvStep, Options

# The reset option that asks for a new game, where one that lost a life would go on.
NEW_GAME = "new_game"
_PARTS = ("made_by", "is_ready", "emulator", "rules", "pictures")


class AtariGame(SavedAnywhere, gym.Env[np.ndarray, Any]):
    """An Atari game that observes uint8 `[frame_stack, height, width]`, oldest frame first.

    With `grayscale=False` it observes `[frame_stack, height, width, 3]`; with `channels_last=True`
    `[height, width, frame_stack]`, and 3 times as many channels in colour; with `obs_type="ram"`
    `[128]`. Actions are integers, or float32 `[3]` with `continuous=True`. Rewards are clipped if
    the recipe says so. The infos of steps and resets have these keys:

    - `raw_reward`: float, the step's reward as the game gives it; 0 at a reset.
    - `lives`: int, those left in the returned observation; 0 if the game has none.
    - `game_terminated`, `game_truncated`: bool, whether the game itself, and not only a life, ended
      in this call. A reset sets them if it should have continued a game after a lost life, and the
      game ended in the reset.
    - `episode_return`: float, `episode_length` and `episode_frames`: int, the sum of the raw
      rewards, the agent steps and the emulated frames of this call's game. The frames of its no-ops
      and FIRE are included; their rewards only if the recipe says so (`count_reset_rewards`). If
      the game ended, these are its totals.

    Args:
        env_id: Which game.
        recipe: How it becomes episodes of observations, each part with its value, as
            `request.request_env` returns it.
        env_index: The env's place in its batch.
        on_frame: Called after each emulated frame, those of no-ops and FIRE too; `render` then
            shows it.

    Raises:
        UnsupportedError: The game has no such mode or difficulty.
    """

    num_players: int = 1
    spec: EnvSpec | None
    env_index: int
    render_mode: str | None
    observation_space: gym.spaces.Box
    action_space: gym.Space[Any]
    _emulator_class: type[Emulator] = Emulator
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 60}  # noqa: RUF012

    def __init__(
        self, env_id: EnvId, recipe: Recipe, env_index: int = 0, on_frame: OnFrame = None
    ) -> None:
        self.spec, self.env_index = env_id.spec, env_index
        self._rom = env_id.game
        self.render_mode = "rgb_array"
        self.metadata = {**self.metadata, "render_fps": recipe.steps_per_second}
        self.recipe = recipe
        self._emulator = self._emulator_class(env_id, recipe, on_frame)
        self._pictures = make_observations(self._emulator, recipe)
        self._rules = GameRules(self._emulator, recipe, self._pictures)
        self._is_ready = self._is_closed = False
        self._made_of, self._on_frame = (env_id, recipe, env_index), on_frame
        self._share_generator()
        spaces = spaces_of(recipe, len(self._emulator.actions), self.num_players)
        self.observation_space, self.action_space = spaces

    @property
    def ale(self) -> ALEInterface:
        """ALE's interface, which plays the game."""
        return self._emulator.ale

    @property
    def frame_number(self) -> int:
        """Emulated frames since the game began."""
        return self._emulator.frames

    @property
    def is_first_frame(self) -> bool:
        """For `on_frame`: whether the frame is the first of its game."""
        return self._emulator.at_start

    @property
    def ended_in_reset(self) -> bool:
        """Whether a game ended while the last reset was to go on with it after a lost life."""
        return self._rules.cut_off is not None

    def get_action_meanings(self) -> list[str]:
        """Return the names of the console's actions, in the order of the integers for them."""
        return [action.name for action in self._emulator.actions]

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Start an episode: after a lost life as the recipe says, else with a new game.

        Args:
            seed: Restarts all random numbers, and begins a new game, in `[0, 2**31 - 1)`; `None`
                goes on with them, and without any seed before takes one from entropy.
            options: `{"new_game": True}` starts a new game after a lost life too.

        Returns:
            The observation, a fresh array, and its info.
        """
        if self._is_closed:
            raise ClosedError(f"reset of {self}: it was closed")
        seed = checked_seed(seed)
        super().reset(seed=seed)
        rules = self._rules
        goes_on = self._is_ready and rules.life_lost and not rules.is_over
        if seed is not None or not goes_on or (options or {}).get(NEW_GAME):
            rules.new_game(seed)
        else:
            rules.next_life()
        self._is_ready = True
        if seed is not None:
            self._share_generator()
        return self._observation(), self._info(0.0) | (rules.cut_off or {})

    def _observation(self) -> np.ndarray:
        return self._pictures.write_to(np.empty(self.recipe.observation_shape, np.uint8))

    def _share_generator(self) -> None:
        """Let `np_random` be what no-ops are drawn from, where that is one of numpy's."""
        if isinstance(self._rules.draws, HashedDraws):
            self.np_random = self._rules.draws.generator

    def step(self, action: Any) -> EnvStep:
        """Take a step of `frame_skip` frames.

        Args:
            action: An integer, or with `continuous=True` `[radius, angle, fire]`.

        Returns:
            Observation (a fresh array), reward, terminated, truncated, info.

        Raises:
            ValueError: There is no such action.
            TypeError: It is no integer.
            ResetNeededError: The game is over, or none has begun.
            ClosedError: The game was closed.
        """
        rules = self._rules
        if self._is_closed:
            raise ClosedError(f"step of {self}: it was closed")
        if not self._is_ready or rules.is_over:
            raise ResetNeededError(f"step of {self} without a game in play: call reset() first")
        raw_reward = rules.step(*self._console_action(action))
        terminated, truncated = self._flags()
        reward = np.sign(raw_reward) if self.recipe.clip_reward else raw_reward
        info = self._info(raw_reward)
        return self._observation(), reward, terminated, truncated, info

    def close(self) -> None:
        """End the game."""
        self._is_closed = True

    def _flags(self) -> tuple[bool, bool]:
        """Return what a learner is told of the step: whether it terminated, and was truncated."""
        rules, first = self._rules, self.recipe.end_precedence
        # Where a lost life is a mere signal, the end of the game goes before it.
        is_signal = self.recipe.after_life_loss == "go-on" and rules.truncated
        terminated = rules.terminated or (rules.life_lost and not is_signal)
        truncated = rules.truncated
        if terminated and truncated and first != "both":
            return first == "terminated", first == "truncated"
        return terminated, truncated

    def _console_action(self, action: Any) -> tuple[Any, float]:
        """Return what the emulator takes."""
        if self.recipe.continuous:
            if not self.action_space.contains(np.asarray(action, np.float32)):
                raise no_such_action(self, action)
            return console_action(action, self.recipe.continuous_action_threshold)
        actions = self._emulator.actions
        number = checked_integer("action", action)
        if not 0 <= number < len(actions):
            raise no_such_action(self, action)
        return actions[number], 1.0

    def _info(self, raw_reward: Any) -> dict[str, Any]:
        rules = self._rules
        return {"raw_reward": raw_reward, "lives": rules.lives, **rules.record()}

    def render(self) -> np.ndarray:
        """Return what the screen shows: uint8 RGB `[height, width, 3]`."""
        return self._emulator.screen()

    @property
    def _was_reset(self) -> bool:
        return self._is_ready

    def save_state(self) -> bytes:
        """Return the whole state, random numbers included: plain data, of which nothing runs."""
        state = {
            "made_by": self._made_by,
            "is_ready": self._is_ready,
            "emulator": self._emulator.save(),
            "rules": self._rules.save(),
            "pictures": self._pictures.state(),
        }
        return pack("game", STATE_VERSION, state)

    def check_state(self, state: bytes) -> dict[str, Any]:
        """Return what `save_state` put into a state; a `ValueError` says why it is none of this."""
        values = unpack("game", STATE_VERSION, state)
        if "native" in values:
            raise ValueError('this is not the state of a game on ale-py: backend "native" saved it')
        check_alike("this state of a game", values, dict.fromkeys(_PARTS, ...))
        self._check_maker(values["made_by"])
        check_alike("is_ready", values["is_ready"], self._is_ready)
        self._emulator.check(values["emulator"])
        self._rules.check(values["rules"])
        check_alike("pictures", values["pictures"], self._pictures.state())
        return values

    def restore_state(self, state: bytes) -> None:
        """Go to a state that `save_state` returned; what follows is the same to the last bit.

        The game is, and not every pixel of the next two frames: ale-py's states do not say what it
        shows in rows that a frame leaves out, as those of Q*bert, Tetris and Yars' Revenge do, or
        while a game takes more than one frame to think, as TicTacToe3D and VideoCheckers do. Those
        of `native` do say.

        Args:
            state: Of this env, or of another one with the same game and recipe.

        Raises:
            ValueError: As `check_state`; nothing has changed then.
        """
        values = self.check_state(state)
        self._emulator.restore(values["emulator"])
        self._rules.restore(values["rules"])
        self._pictures.set_state(values["pictures"])
        self._is_ready = values["is_ready"]

    @property
    def _made_by(self) -> dict[str, Any]:
        return super()._made_by | {"emulator": self._emulator.made_by}
