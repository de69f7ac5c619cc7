"""What pools of dm_env's interface take and show, for their specs too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

try:
    import dm_env
    from dm_env import specs
except ImportError as error:
    raise ImportError("EnvPool's dm interface needs dm-env: pip install dm-env") from error

__all__ = ["Observation", "Players", "action_spec", "dm_env", "observation_spec", "specs"]


class Players(NamedTuple):
    """The env of each player."""

    env_id: Any


class Observation(NamedTuple):
    """What a time step has beside reward and discount; `StepInfo` documents each."""

    env_id: Any
    players: Players
    obs: Any
    lives: Any
    reward: Any
    terminated: Any


def action_spec(num_actions: int) -> specs.DiscreteArray:
    """Return what an env takes."""
    return specs.DiscreteArray(num_actions, dtype=np.int32, name="action")


def observation_spec(arrays: Mapping[str, Any]) -> Observation:
    """Return what an env shows, of `EnvSpec.state_array_spec`."""

    def array(name: str) -> specs.BoundedArray:
        of = arrays[{"env_id": "info:env_id", "obs": "obs"}.get(name, f"info:{name}")]
        shape = [side for side in of.shape if side >= 0]
        return specs.BoundedArray(shape, of.dtype, of.minimum, of.maximum, name)

    env_id = array("env_id")
    return Observation(
        env_id,
        Players(env_id),
        array("obs"),
        array("lives"),
        array("reward"),
        specs.DiscreteArray(2, np.int32, "terminated"),
    )
