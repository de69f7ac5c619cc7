"""From an environment id to what is registered under it, and whether that is an Atari game."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ale_py
import gymnasium as gym
from ale_py import roms
from gymnasium.envs.registration import EnvSpec, load_env_creator

from atari_wrappers.errors import MissingRomError, UnknownEnvError, UnsupportedError

gym.register_envs(ale_py)

# What may stand for an env: an id that gymnasium knows, or a callable that makes one.
EnvSource = str | Callable[..., gym.Env]

PICTURES = "rgb_array"

# What makes the env, and the batch, of an id that `adapters.gymnasium` has registered.
OUR_ENTRY_POINT = "atari_wrappers.adapters.gymnasium:open_env"
OUR_VECTOR_ENTRY_POINT = "atari_wrappers.adapters.gymnasium:open_vec"

# What the settings of this package decide, so that the id's own choice is replaced.
_DECIDED_BY_SETTINGS = frozenset(
    {
        "continuous",
        "continuous_action_threshold",
        "difficulty",
        "frameskip",
        "full_action_space",
        "max_num_frames_per_episode",
        "mode",
        "obs_type",
        "render_mode",
        "repeat_action_probability",
    }
)


@dataclass(frozen=True, slots=True)
class EnvId:
    """A registered environment, or a callable that makes one.

    Attributes:
        name: The id as given, with its `module:` prefix if it has one.
        spec: What gymnasium has registered under it; `None` for a callable.
        rom: The ROM's name, such as `space_invaders`; `None` when it is no Atari game.
        maker: The callable; `None` for an id.
    """

    name: str
    spec: EnvSpec | None
    rom: str | None
    maker: Callable[..., gym.Env] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was given: another process has a registry of its own."""
        return resolve, (self.maker or self.name,)

    @property
    def is_atari(self) -> bool:
        """Whether the id names an Atari game of ale-py."""
        return self.rom is not None

    @property
    def game(self) -> str:
        """The ROM's name, of an Atari game."""
        if self.rom is None:
            raise TypeError(f"`{self.name}` is no Atari game")
        return self.rom

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keywords that the id hands to what makes the env; a callable has none."""
        return {} if self.spec is None else self.spec.kwargs

    def spec_with(self, keywords: Mapping[str, Any]) -> EnvSpec | None:
        """Return the spec of which gymnasium makes what we make of the id with these keywords."""
        if self.spec is None:
            return None
        return replace(
            self.spec,
            entry_point=OUR_ENTRY_POINT,
            vector_entry_point=OUR_VECTOR_ENTRY_POINT,
            order_enforce=False,
            disable_env_checker=True,
            max_episode_steps=None if self.is_atari else self.spec.max_episode_steps,
            kwargs={"env_id": self.name, **keywords},
        )

    @property
    def sticky_actions(self) -> float:
        """The probability that an action is repeated, as the id says; else ALE's default."""
        return float(self.kwargs.get("repeat_action_probability", 0.25))

    @property
    def extra_arguments(self) -> tuple[str, ...]:
        """Arguments that the id sets and no setting decides."""
        return tuple(sorted(self.kwargs.keys() - _DECIDED_BY_SETTINGS - {"game"}))

    @property
    def render_mode(self) -> str | None:
        """The render mode of an env that can draw pictures, else `None`; so for a callable."""
        if self.spec is None:
            return None
        modes = getattr(self.creator, "metadata", {}).get("render_modes", ())
        return PICTURES if PICTURES in modes else None

    @property
    def creator(self) -> Callable[..., Any] | None:
        """What makes the env, by keywords; `None` where an id has batches alone."""
        if self.spec is None:
            return self.maker
        entry_point = self.spec.entry_point
        return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def rom_path(rom: str) -> str:
    """Return where a game's ROM is: in the folder `ALE_ROMS_DIR`, else where ale-py ships it.

    Raises:
        MissingRomError: It is not there.
    """
    folder = os.environ.get("ALE_ROMS_DIR") or None
    path = roms.get_rom_path(rom) if folder is None else Path(folder, f"{rom}.bin")
    if path is not None and Path(path).is_file():
        return str(path)
    if folder is None:
        remedy = f"ale-py ships no {rom}.bin; set ALE_ROMS_DIR to a folder that has it"
    else:
        remedy = f"there is no {path}; correct ALE_ROMS_DIR, or unset it for ale-py's ROMs"
    raise MissingRomError(f"no ROM of {rom}: {remedy}")


def listed(env_id: EnvSource | Sequence[EnvSource]) -> tuple[EnvSource, ...]:
    """Return the ids of a list, or one that stands alone."""
    if isinstance(env_id, Sequence) and not isinstance(env_id, str | bytes):
        return tuple(env_id)
    alone: Any = env_id  # what else it may be, `resolve` judges
    return (alone,)


def resolve(env_id: EnvSource) -> EnvId:
    """Look an id up, importing the module of a `module:Name-v0` id first.

    Raises:
        UnknownEnvError: Nothing is registered under it.
        UnsupportedError: It stands for another id with settings, in gymnasium's calls.
    """
    if callable(env_id):
        return EnvId(getattr(env_id, "__qualname__", None) or repr(env_id), None, None, env_id)
    if not isinstance(env_id, str):
        raise TypeError(f"env_id must be a string, or a callable that makes an env, not {env_id!r}")
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
        reason = str(cause).partition(" Did you mean")[0]
        # What names a namespace or a newer version says already what there is.
        if not isinstance(cause, gym.error.NamespaceNotFound | gym.error.DeprecatedEnv):
            reason = reason.rstrip(". ") + f".{_near(name)}"
        raise UnknownEnvError(f"no environment `{env_id}`: {reason}") from cause
    if spec.entry_point == OUR_ENTRY_POINT:
        meant = {**spec.kwargs}
        inner = meant.pop("env_id")
        told = ", ".join(f"{setting}={value!r}" for setting, value in meant.items())
        raise UnsupportedError(
            f"`{env_id}` is an id for gymnasium.make_vec and gymnasium.make; here it is called"
            f" `{inner}`" + (f" with {told}" if told else "")
        )
    is_atari = isinstance(spec.entry_point, str) and spec.entry_point.startswith("ale_py.")
    return EnvId(env_id, spec, spec.kwargs["game"] if is_atari else None)


def _game(name: str) -> str:
    """Return a name without what ids of Atari games say of frames: they would all be alike."""
    return name.removesuffix("noframeskip").removesuffix("deterministic")


def _near(name: str) -> str:
    """Suggest ids that there are; gymnasium suggests names without their versions."""
    names: dict[str, list[str]] = {}
    for spec in gym.registry.values():
        if spec.entry_point != OUR_ENTRY_POINT:  # which `resolve` refuses
            names.setdefault(_game(spec.name.lower()), []).append(spec.id)
    wanted, _, version = name.rpartition("/")[2].lower().partition("-")
    near = difflib.get_close_matches(_game(wanted), names, n=1)
    if not near:
        return ""
    ids = names[near[0]][::-1]
    ids.sort(key=lambda one: "NoFrameskip" not in one)
    ids.sort(key=lambda one: (bool(version) and not one.endswith(f"-{version}"), "/" in one))
    return f" Did you mean {' or '.join(f'`{one}`' for one in ids[:3])}?"
