"""gymnasium's registry: ids whose `gymnasium.make_vec` is ours.

Importing this module registers `atari_wrappers/<Game>-v0` for each game of ale-py: without sticky
actions, whatever the preset, unless a caller gives `sticky_actions`.
"""

from __future__ import annotations

from typing import Any, Unpack

import gymnasium as gym

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.factory import EnvSources, make_vec
from atari_wrappers.ids import OUR_ENTRY_POINT, OUR_VECTOR_ENTRY_POINT, EnvSource, resolve
from atari_wrappers.keywords import SettingKeywords
from atari_wrappers.settings import merged
from atari_wrappers.single_env import make_env
from atari_wrappers.vector.env import VecEnv

NAMESPACE = "atari_wrappers"


def register(env_id: str, name: str | None = None, **settings: Unpack[SettingKeywords]) -> str:
    """Register an id for `gymnasium.make_vec`, which makes a `VecEnv`, and `gymnasium.make`.

    Keywords of these calls take precedence over `settings`. Gymnasium makes a `VecEnv` in its mode
    `"vector_entry_point"`, which it chooses by itself.

    Args:
        env_id: What to make: any id that gymnasium knows.
        name: The new id; `atari_wrappers/` and `env_id` without its namespace if `None`.
        **settings: Of `Settings`.

    Returns:
        The new id; one that was registered before is replaced.

    Raises:
        UnknownEnvError: Nothing is registered under `env_id`.
        UnsupportedError: It was registered by this function.
        ValueError: A setting is out of range.
        TypeError: There is no such setting.
    """
    merged(None, settings)
    spec = resolve(env_id).spec
    if spec is None:
        raise TypeError(f"env_id must be an id, not {env_id!r}")
    version = "" if spec.version is None else f"-v{spec.version}"
    name = name or f"{NAMESPACE}/{spec.name}{version}"
    gym.registry.pop(name, None)
    _register(name, env_id, dict(settings))
    return name


def open_env(env_id: EnvSource, render_mode: str | None = None, **keywords: Any) -> gym.Env:
    """Make one env as `make_env` does: what `gymnasium.make` calls."""
    return make_env(env_id, render_mode=render_mode, **keywords)


def open_vec(
    env_id: EnvSources, num_envs: int = 1, render_mode: str | None = None, **keywords: Any
) -> VecEnv:
    """Make a batch as our `make_vec` does: what `gymnasium.make_vec` calls."""
    if render_mode not in (None, "rgb_array"):
        raise UnsupportedError(f'render_mode must be "rgb_array", not {render_mode!r}')
    return make_vec(env_id, num_envs, **keywords)


def _register(name: str, env_id: str, settings: dict[str, Any]) -> None:
    gym.register(
        name,
        entry_point=OUR_ENTRY_POINT,
        vector_entry_point=OUR_VECTOR_ENTRY_POINT,
        kwargs={"env_id": env_id, **settings},
        order_enforce=False,
        disable_env_checker=True,
    )


def _register_games() -> None:
    # The namespace of ale-py that has every game.
    for spec in [spec for spec in gym.registry.values() if spec.namespace == "ALE"]:
        name = f"{NAMESPACE}/{spec.name}-v0"
        if name not in gym.registry:
            _register(name, spec.id, {"sticky_actions": 0.0})


_register_games()
