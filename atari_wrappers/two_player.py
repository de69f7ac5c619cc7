"""Games that two players play against each other, by the recipes of `game.AtariGame`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers.emulator import Emulator
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.game import AtariGame
from atari_wrappers.ids import EnvId
from atari_wrappers.recipes import Recipe
from atari_wrappers.settings import Settings
from atari_wrappers.two_player_ale import (
    DEFAULT_MODES,
    NUM_PLAYERS,
    TwoPlayerALE,
    available_variants,
)


class TwoPlayerGame(AtariGame):
    """Pong or SpaceInvaders for two, as PettingZoo's `pong_v3` and `space_invaders_v2` play them.

    An observation is uint8 `[2, frame_stack, height, width]` (or with 3 colours last), a view for
    each player; both see the same screen, as in PettingZoo. An action is a pair of integers, a
    reward float32 `[2]`; so are `raw_reward` and `episode_return` in the infos.

    A game ends for both players at once, and what ends a game or an episode is said once: they
    share the lives of SpaceInvaders, so that a lost life is a matter of both; Pong has none. In
    no-ops, and in FIRE at the start, both players press the same. The reward is not zero-sum:
    Pong takes a point from who does not serve in time, and gives it to nobody.

    Of a recipe, `continuous` does not apply; `mode` and `difficulty` are those of the game for two.

    Args:
        env_id: Which game.
        recipe: How it becomes episodes of observations.
        env_index: The env's place in its batch.
        on_frame: Called after each emulated frame.

    Raises:
        UnsupportedError: There is no such game for two players, or `multi_agent_ale_py` is missing.
    """
