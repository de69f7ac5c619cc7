"""ALE's polar actions: a joystick's position and how hard FIRE is pressed, as a console's action."""

from __future__ import annotations

from math import cos, pi, sin

import gymnasium as gym
import numpy as np
from ale_py import Action


def polar_space() -> gym.spaces.Box:
    """Return the space of `[radius 0..1, angle -π..π, fire 0..1]`, as float32."""
    low, high = np.array([0.0, -pi, 0.0], np.float32), np.array([1.0, pi, 1.0], np.float32)
    return gym.spaces.Box(low, high, dtype=np.float32)


def console_action(polar: np.ndarray, threshold: float) -> tuple[Action, float]:
    """Return the action that a polar one stands for, and how far it turns a paddle: the radius.

    Args:
        polar: `[radius, angle, fire]`; angle 0 is to the right and π/2 up.
        threshold: Beyond which a joystick's coordinate or FIRE counts.
    """
    radius, angle, fire = (float(value) for value in polar)
    x, y = radius * cos(angle), radius * sin(angle)
    name = "UP" if y > threshold else "DOWN" if y < -threshold else ""
    name += "RIGHT" if x > threshold else "LEFT" if x < -threshold else ""
    name += "FIRE" if fire > threshold else ""
    return Action[name or "NOOP"], radius
