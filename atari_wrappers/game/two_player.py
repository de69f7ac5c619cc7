"""Games that two players play against each other, by the recipes of `game.AtariGame`.

The emulator behind them, and which games and modes it has, is in `two_player_emulator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers.game.env import AtariGame
from atari_wrappers.game.two_player_emulator import NUM_PLAYERS, TwoPlayerEmulator
from atari_wrappers.ids import EnvId
from atari_wrappers.recipes import Recipe


class TwoPlayerGame(AtariGame):
    """A game for two, as PettingZoo's `pong_v3`, `space_invaders_v2` and their like play it.

    Every array has an axis of the two players: observations are uint8
    `[2, frame_stack, height, width]` (with `grayscale=False` and 3 colours last), actions
    integers `[2]`, rewards float32 `[2]`, and in the infos so is `raw_reward`; `episode_return` is
    float64 `[2]`. Both players see the same screen, as in PettingZoo.

    All else is said once, for it is of both: a game ends for both at the same frame. Lives are
    those that both share (SpaceInvaders), or those of both together (Entombed, MarioBros,
    WizardOfWor), so that `episodic_life` ends the episode of both; most games have none.
    No-ops and FIRE at the start are pressed by both. Rewards need not sum to zero: Pong takes a
    point from a player who does not serve in time, and gives it to nobody.

    The recipe's `mode` and `difficulty` are those of the game for two, as
    `two_player_emulator.recipe_for_two` returned them. It has no polar actions.

    Args:
        env_id: Which game.
        recipe: How it becomes episodes of observations.
        env_index: The env's place in its batch.
        on_frame: Called after each emulated frame.
    """

    num_players = NUM_PLAYERS

    def __init__(
        self,
        env_id: EnvId,
        recipe: Recipe,
        env_index: int = 0,
        on_frame: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(env_id, recipe, env_index, on_frame)
        shape = (NUM_PLAYERS, *self._pictures.shape)
        self.observation_space = gym.spaces.Box(0, 255, shape, np.uint8)
        self._codes = np.array([action.value for action in self._emulator.actions], np.int32)

    def _make_emulator(
        self, env_id: EnvId, recipe: Recipe, on_frame: Callable[[], None] | None
    ) -> TwoPlayerEmulator:
        return TwoPlayerEmulator(env_id, recipe, on_frame)

    def _make_action_space(self) -> gym.Space:
        return gym.spaces.MultiDiscrete([len(self._emulator.actions)] * NUM_PLAYERS)

    def _observation(self) -> np.ndarray:
        out = np.empty(self.observation_space.shape, np.uint8)
        self._pictures.write_to(out[0])
        out[1:] = out[0]
        return out

    def step(self, action: Any) -> tuple[np.ndarray, np.ndarray, bool, bool, dict[str, Any]]:
        """Take a step of `frame_skip` frames.

        Args:
            action: The players' actions, integers `[2]`.

        Returns:
            Observation (a fresh array), rewards, terminated, truncated, info.

        Raises:
            ValueError: There is no such action.
            ResetNeededError: The game is over, or none has begun.
        """
        obs, rewards, terminated, truncated, info = super().step(action)
        return obs, rewards.astype(np.float32), terminated, truncated, info

    def _console_action(self, action: Any) -> tuple[np.ndarray, float]:
        pair = np.asarray(action)
        if not self.action_space.contains(pair):
            raise ValueError(f"actions {action} of {self} are outside of {self.action_space}")
        return self._codes[pair], 1.0

    def _info(self, raw_reward: Any) -> dict[str, Any]:
        info = super()._info(raw_reward)
        for name, dtype in (("raw_reward", np.float32), ("episode_return", np.float64)):
            # Before the first frame of a game there is a single 0.
            info[name] = np.full(NUM_PLAYERS, info[name], dtype)
        return info
