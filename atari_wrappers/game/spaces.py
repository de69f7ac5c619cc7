"""What a game observes and takes, and ALE's polar actions as a console's.

A polar action says where a joystick is and how hard FIRE is pressed.
"""

from __future__ import annotations

from math import pi
from typing import Any

import gymnasium as gym
import numpy as np
from ale_py import Action

from atari_wrappers.recipes import Recipe


def spaces_of(
    recipe: Recipe, num_actions: int, num_players: int = 1
) -> tuple[gym.spaces.Box, gym.Space[Any]]:
    """Return the spaces of observations and of actions; an axis for two players comes first."""
    shape = recipe.observation_shape
    takes: gym.Space[Any] = gym.spaces.Discrete(num_actions)
    if num_players > 1:
        shape = (num_players, *shape)
        takes = gym.spaces.MultiDiscrete([num_actions] * num_players)
    elif recipe.continuous:  # [radius 0..1, angle -π..π, fire 0..1]
        low, high = np.array([0.0, -pi, 0.0], np.float32), np.array([1.0, pi, 1.0], np.float32)
        takes = gym.spaces.Box(low, high, dtype=np.float32)
    return gym.spaces.Box(0, 255, shape, np.uint8), takes


def no_such_action(game: gym.Env, action: Any) -> ValueError:
    """Return the error for an action that is none of a game's."""
    space = game.action_space
    if isinstance(space, gym.spaces.MultiDiscrete):
        return ValueError(f"actions {action} of {game} are outside of {space}")
    if isinstance(space, gym.spaces.Discrete):
        return ValueError(
            f"action {action} of {game} is outside of the valid range 0 to {space.n - 1}"
        )
    return ValueError(f"action {action} of {game} is outside of {space}")


def console_action(polar: Any, threshold: float) -> tuple[Action, float]:
    """Return the action that a polar one stands for, and how far it turns a paddle: the radius.

    ALE computes in 32-bit floats; at π/6 and a threshold of 0.5 the precision decides.

    Args:
        polar: `[radius, angle, fire]`; angle 0 is to the right and π/2 up.
        threshold: Beyond which a coordinate of the joystick, or FIRE, counts.
    """
    radius, angle, fire = np.asarray(polar, np.float32)
    x, y, limit = radius * np.cos(angle), radius * np.sin(angle), np.float32(threshold)
    name = "UP" if y > limit else "DOWN" if -y > limit else ""
    name += "RIGHT" if x > limit else "LEFT" if -x > limit else ""
    name += "FIRE" if fire > limit else ""
    return Action.__members__[name or "NOOP"], float(radius)
