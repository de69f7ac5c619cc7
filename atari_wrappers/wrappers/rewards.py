"""What the learner sees as reward."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs


class ClipReward(gym.RewardWrapper[Any, Any], RecordConstructorArgs):
    """Replace each reward by its sign: -1, 0 or +1 (Mnih et al. 2015, Methods)."""

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gym.RewardWrapper.__init__(self, env)

    def reward(self, reward: SupportsFloat) -> float:
        """Return the sign of `reward`."""
        return float(np.sign(float(reward)))
