"""From an environment id to what is registered under it, and whether that is an Atari game."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import ale_py
import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from atari_wrappers.errors import UnknownEnvError

gym.register_envs(ale_py)

# What the settings of this package decide, so that the id's own choice is replaced.
_DECIDED_BY_SETTINGS = frozenset(
    {
        "frameskip",
        "full_action_space",
        "max_num_frames_per_episode",
        "obs_type",
        "render_mode",
        "repeat_action_probability",
    }
)


@dataclass(frozen=True, slots=True)
class EnvId:
    """A registered environment.

    Attributes:
        name: The id as given, with its `module:` prefix if it has one.
        spec: What gymnasium has registered under it.
        rom: The ROM's name, such as `space_invaders`; `None` when it is no Atari game.
    """

    name: str
    spec: EnvSpec
    rom: str | None

    @property
    def is_atari(self) -> bool:
        """Whether the id names an Atari game of ale-py."""
        return self.rom is not None

    @property
    def sticky_actions(self) -> float:
        """The probability that an action is repeated, as the id says; else ALE's default."""
        return self.spec.kwargs.get("repeat_action_probability", 0.25)

    @property
    def extra_arguments(self) -> tuple[str, ...]:
        """Arguments, such as `mode` or `difficulty`, that the id sets and no setting decides."""
        return tuple(sorted(self.spec.kwargs.keys() - _DECIDED_BY_SETTINGS - {"game"}))


def resolve(env_id: str) -> EnvId:
    """Look an id up, importing the module of a `module:Name-v0` id first.

    Raises:
        UnknownEnvError: Nothing is registered under it.
        TypeError: It is no string.
    """
    if not isinstance(env_id, str):
        raise TypeError(f"env_id must be a string, not {env_id!r}")
    module, _, name = env_id.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except ImportError as cause:
            raise UnknownEnvError(
                f"no environment `{env_id}`: module `{module}` cannot be imported ({cause})"
            ) from cause
    try:
        spec = gym.spec(name)
    except gym.error.Error as cause:
        raise UnknownEnvError(f"no environment `{env_id}`: {cause}") from cause
    is_atari = isinstance(spec.entry_point, str) and spec.entry_point.startswith("ale_py.")
    return EnvId(env_id, spec, spec.kwargs["game"] if is_atari else None)
