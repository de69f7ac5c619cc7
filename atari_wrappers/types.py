"""What a batch and a single env give, in types: arrays by their dtypes, the keys of infos.

`VecEnv` says what they hold. Where an env's own info has more, and with envs that are no Atari
games it may, those keys are read by `typing.cast(dict[str, Any], info)`.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

# Uint8 of Atari games, by whatever recipe; of other envs the dtype that their space has.
Observations = NDArray[Any]
Rewards = NDArray[np.float32]
Flags = NDArray[np.bool_]


class Episodes(TypedDict):
    """Of true games that ended, their return, agent steps and emulator frames; 0 elsewhere."""

    r: NDArray[np.float64]
    l: NDArray[np.int64]  # noqa: E741 - gymnasium's name
    frames: NDArray[np.int64]


class _Always(TypedDict):
    """What every info has."""

    env_id: NDArray[np.int32]
    raw_reward: NDArray[np.float32]
    lives: NDArray[np.int32]
    game_terminated: Flags
    game_truncated: Flags
    episode_return: NDArray[np.float64]
    episode_length: NDArray[np.int64]
    episode_frames: NDArray[np.int64]


class Info(_Always, total=False):
    """What the info of a step or a reset has, and, where something ended, what it has more."""

    episode: Episodes
    _episode: Flags
    final_obs: Observations
    _final_obs: Flags
    final_info: dict[str, Any]
    _final_info: Flags
    worker_restarted: Flags


ResetResult = tuple[Observations, Info]
StepResult = tuple[Observations, Rewards, Flags, Flags, Info]

# What a single env takes and gives.
Options = dict[str, Any] | None
EnvReset = tuple[Any, dict[str, Any]]
EnvStep = tuple[Any, Any, bool, bool, dict[str, Any]]
