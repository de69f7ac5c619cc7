"""ALE's polar actions: where a joystick is and how hard FIRE is pressed, as a console's action."""

from __future__ import annotations

from math import pi
from typing import Any

import gymnasium as gym
import numpy as np
from ale_py import Action


def polar_space() -> gym.spaces.Box:
    """Return the space of `[radius 0..1, angle -π..π, fire 0..1]`, as float32."""
    low, high = np.array([0.0, -pi, 0.0], np.float32), np.array([1.0, pi, 1.0], np.float32)
    return gym.spaces.Box(low, high, dtype=np.float32)


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
    return Action[name or "NOOP"], float(radius)
