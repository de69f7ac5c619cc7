"""What a pool is made with, and its spaces and arrays, without a pool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import gymnasium as gym
import numpy as np

from atari_wrappers.envpool.config import (
    Config,
    ConfigKeywords,
    checked_config,
    checked_render,
    rom_and_id,
)
from atari_wrappers.recipes import RAM_BYTES
from atari_wrappers.single_env import make_env

if TYPE_CHECKING:
    from atari_wrappers.envpool.dm_specs import Observation, specs

_INT32 = np.iinfo(np.int32)
_FLOAT32 = np.finfo(np.float32)


class ArraySpec(NamedTuple):
    """An array: its dtype, its shape (-1 for one row per env) and its bounds, both included."""

    dtype: Any
    shape: list[int]
    minimum: Any
    maximum: Any


class EnvSpec:
    """What a pool is made with.

    Attributes:
        config: Every setting.
        task_id: EnvPool's id.
        env_id: ale-py's.
        observation_space: Of one env: uint8 `[stack_num, height, width]`, or with colours
            `[3 * stack_num, height, width]`.
        reward_threshold: None, as EnvPool has it of Atari games.

    Raises:
        Exception: As `make`.
    """

    reward_threshold: float | None = None
    env_id: str
    render_mode: str | None
    render_env_id: int
    observation_space: gym.spaces.Box

    def __init__(self, task_id: str, settings: Mapping[str, Any]) -> None:
        rom, self.env_id = rom_and_id(task_id)
        self.task_id = task_id
        self.render_mode, self.render_env_id = checked_render(settings)
        of_pool = {name: settings[name] for name in settings if not name.startswith("render_")}
        self.config: Config = checked_config(rom, of_pool)
        channels = self.config.stack_num * (1 if self.config.gray_scale else 3)
        shape = (channels, self.config.img_height, self.config.img_width)
        self.observation_space = gym.spaces.Box(0, 255, shape, np.uint8)

    @cached_property
    def action_space(self) -> gym.spaces.Discrete:
        """Of one env."""
        full = self.config.full_action_space
        env = make_env(self.env_id, sticky_actions=0.0, full_action_space=full)
        env.close()
        assert isinstance(env.action_space, gym.spaces.Discrete)
        return env.action_space

    @property
    def gymnasium_observation_space(self) -> gym.spaces.Box:
        """The same as `observation_space`."""
        return self.observation_space

    @property
    def gymnasium_action_space(self) -> gym.spaces.Discrete:
        """The same as `action_space`."""
        return self.action_space

    def observation_spec(self) -> Observation:
        """Return what an env shows, in the words of `dm_env`, which must be there."""
        from atari_wrappers.envpool.dm_specs import observation_spec

        return observation_spec(self.state_array_spec)

    def action_spec(self) -> specs.DiscreteArray:
        """Return what an env takes, likewise."""
        from atari_wrappers.envpool.dm_specs import action_spec

        return action_spec(int(self.action_space.n))

    @property
    def state_array_spec(self) -> dict[str, ArraySpec]:
        """What a pool's results are made of, by EnvPool's names."""
        number = ArraySpec(np.int32, [], _INT32.min, _INT32.max)
        flag = ArraySpec(np.bool_, [], False, True)
        reward = ArraySpec(np.float32, [-1], float(_FLOAT32.tiny), float(_FLOAT32.max))
        return {
            "info:env_id": number,
            "info:players.env_id": number._replace(shape=[-1]),
            "elapsed_step": number,
            "done": flag,
            "reward": reward,
            "discount": ArraySpec(np.float32, [-1], 0.0, 1.0),
            "step_type": number,
            "trunc": flag,
            "obs": ArraySpec(np.uint8, list(self.observation_space.shape), 0, 255),
            "info:lives": number._replace(shape=[-1]),
            "info:reward": reward,
            "info:terminated": ArraySpec(np.int32, [-1], 0, 1),
            "info:ram": ArraySpec(np.uint8, [RAM_BYTES], 0, 255),
        }

    @property
    def action_array_spec(self) -> dict[str, ArraySpec]:
        """What a pool takes, by EnvPool's names."""
        number = ArraySpec(np.int32, [], _INT32.min, _INT32.max)
        last = int(self.action_space.n) - 1
        return {
            "env_id": number,
            "players.env_id": number._replace(shape=[-1]),
            "action": ArraySpec(np.int32, [-1], 0, last),
        }

    def __repr__(self) -> str:
        return f"AtariEnvSpec{repr(self.config)[len('Config') :]}"


def make_spec(task_id: str, **settings: Unpack[ConfigKeywords]) -> EnvSpec:
    """Return what a pool would be made with; the arguments are those of `make`."""
    return EnvSpec(task_id, settings)
