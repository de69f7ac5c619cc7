"""What is asked for, decided: ids and settings become envs whose recipes have a value in each part.

This happens once, when an env or a batch is made, presets and what ids say included. Backends,
games and recordings read the result; none of them decides again.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import gymnasium as gym

from atari_wrappers.checks import check_count
from atari_wrappers.errors import UnsupportedError, warn
from atari_wrappers.ids import PICTURES, EnvId, EnvSource, listed, resolve
from atari_wrappers.recipes import Recipe
from atari_wrappers.settings import Settings
from atari_wrappers.two_players import recipe_for_two

# Arguments of an id that are parts of a recipe under the same name.
_OF_THE_ID = (
    "mode",
    "difficulty",
    "full_action_space",
    "continuous",
    "continuous_action_threshold",
)
_DEFAULTS = {field.name: field.default for field in fields(Recipe)}
# The limit that all ids of ale-py have, and that presets replace by their own.
_USUAL_LIMIT = 108_000
_DEFAULT_SETTINGS = Settings()
OF_VIDEOS = ("video_envs", "record_every", "record_unfinished")
_OF_THE_SCREEN = ("screen_size", "grayscale", "frame_stack", "channels_last")
# Of envs that are no Atari games: the parts that they have too, and what others may say there
# because it asks for nothing.
_OF_ANY_ENV = ("clip_reward", "max_episode_steps")
_ASKS_NOTHING = {
    "frame_skip": (1,),
    "frame_stack": (1,),
    "channels_last": (False,),
    "noop_max": (0,),
    "fire_reset": (False, "off"),
    "episodic_life": (False,),
    "max_episode_frames": (0,),
    "sticky_actions": (0,),
    "full_action_space": (False,),
    "continuous": (False,),
}


@dataclass(frozen=True, slots=True)
class EnvRequest:
    """One env that is to be made.

    Attributes:
        env_id: Which.
        settings: As they were given.
        recipe: How the game becomes episodes, each part with its value; `None` where the env is no
            Atari game.
    """

    env_id: EnvId
    settings: Settings
    recipe: Recipe | None

    @property
    def game_recipe(self) -> Recipe:
        """The recipe of an Atari game."""
        if self.recipe is None:
            raise TypeError(f"`{self.env_id.name}` is no Atari game")
        return self.recipe


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A batch that is to be made.

    Attributes:
        envs: One request for all envs, or one for each.
        num_envs: How many envs.
        settings: As they were given.
    """

    envs: tuple[EnvRequest, ...]
    num_envs: int
    settings: Settings

    def of(self, index: int) -> EnvRequest:
        """Return the request of one env."""
        return self.envs[index if len(self.envs) > 1 else 0]

    @property
    def env_id(self) -> EnvId:
        """Which env; the first one where they differ."""
        return self.envs[0].env_id

    @property
    def recipe(self) -> Recipe | None:
        """The recipe; the first env's where they differ."""
        return self.envs[0].recipe

    @property
    def game_recipe(self) -> Recipe:
        """The recipe of Atari games; the first one's where they differ."""
        return self.envs[0].game_recipe


def request_batch(
    env_id: EnvSource | Sequence[EnvSource], num_envs: int | None, settings: Settings
) -> BatchRequest:
    """Return what a batch is to be; `make_vec` says what may be asked for."""
    sources = listed(env_id)
    if num_envs is None:
        num_envs = check_count("the number of listed ids", len(sources), 1)
    count = check_count("num_envs", num_envs, 1)
    if sources != (env_id,) and len(sources) != count:
        raise ValueError(f"num_envs must be that of the listed ids ({len(sources)}), not {count}")
    if settings.batch_size > count:
        raise ValueError(
            f"batch_size must be at most num_envs ({count}), not {settings.batch_size}"
        )
    for index in settings.video_envs or ():
        if index >= count:
            raise ValueError(f"video_envs: no env {index} among 0 to {count - 1}")
    keys = [source if isinstance(source, str) else id(source) for source in sources]
    distinct = {
        key: request_env(source, settings)
        for key, source in dict(zip(keys, sources, strict=True)).items()
    }
    envs = tuple(distinct[key] for key in keys)
    return BatchRequest(envs[:1] if len(distinct) == 1 else envs, count, settings)


def request_env(env_id: EnvSource, settings: Settings) -> EnvRequest:
    """Return what one env is to be.

    Raises:
        UnknownEnvError: Nothing is registered under the id.
        UnsupportedError: The env cannot do what the settings, or its id, ask for.
        TypeError: It does not take `env_kwargs`.
    """
    resolved = resolve(env_id)
    for name in OF_VIDEOS if settings.video_dir is None else ():
        value = getattr(settings, name)
        if value != getattr(_DEFAULT_SETTINGS, name):
            warn(f"{name}={value} has no effect: there is no video_dir")
    recipe = _recipe(resolved, settings) if resolved.is_atari else None
    if settings.num_players == 2:
        recipe = recipe_for_two(resolved, recipe or settings.base_recipe)
    if recipe is None:
        _check_other(resolved, settings)
    return EnvRequest(resolved, settings, recipe)


def _check_other(env_id: EnvId, settings: Settings) -> None:
    """Refuse what an env that is no Atari game would ignore."""
    for name, value in settings.parts.items():
        asks = name not in _OF_ANY_ENV and value not in _ASKS_NOTHING.get(name, ())
        if asks:
            raise UnsupportedError(
                f"{name}={value!r} is a setting of Atari games; `{env_id.name}` is none;"
                " in `make_vec` the keyword `wrappers` changes what an env observes"
            )
    if settings.recipe is not None:
        raise UnsupportedError(f"recipe: `{env_id.name}` is no Atari game")
    if settings.preset not in (None, "default"):
        warn(f"preset={settings.preset!r} has no effect: `{env_id.name}` is no Atari game")
    if settings.env_kwargs or env_id.maker is not None:
        _check_env_kwargs(env_id, settings.env_kwargs or {})
    for name in ("img_dir", "video_dir"):
        if getattr(settings, name) is not None and env_id.spec and not env_id.render_mode:
            raise UnsupportedError(
                f"{name}: `{env_id.name}` is no Atari game and has no render mode {PICTURES}:"
                f" no frames to save; leave {name} out"
            )


def _check_env_kwargs(env_id: EnvId, kwargs: Mapping[str, Any]) -> None:
    """Refuse keywords that what makes the env does not take, by a `TypeError`."""
    own = env_id.kwargs
    of_make = () if env_id.spec is None else inspect.signature(gym.make).parameters
    given = own | {name: value for name, value in kwargs.items() if name not in of_make}
    if env_id.creator is None:
        return
    try:
        signature = inspect.signature(env_id.creator)
    except (TypeError, ValueError):  # such as some of C
        return
    try:
        signature.bind(**given)
    except TypeError as error:
        raise TypeError(f"env_kwargs={dict(kwargs)}: `{env_id.name}` {error}") from None


def _recipe(env_id: EnvId, settings: Settings) -> Recipe:
    """Return the recipe of an Atari game, as settings and then the id change it."""
    if settings.env_kwargs:
        raise UnsupportedError(
            f"env_kwargs: `{env_id.name}` is an Atari game, of which settings say what there is to"
            f" say: mode, difficulty, sticky_actions, ...; not {', '.join(settings.env_kwargs)}"
        )
    base = settings.base_recipe
    parts = _from_id(env_id, settings) | settings.parts
    if isinstance(parts.get("fire_reset"), bool):
        way = "steps" if base.fire_reset == "off" else base.fire_reset
        parts["fire_reset"] = way if parts["fire_reset"] else "off"
    # A `noop_max` below the recipe's fewest means what it says.
    if "noop_max" in parts:
        parts["noop_min"] = min(base.noop_min, parts["noop_max"])
    if parts.get("obs_type", base.obs_type) == "ram":
        stacks = settings.frame_stack not in (None, 1)
        given = [name for name in _OF_THE_SCREEN if name in settings.parts]
        if stacks or [name for name in given if name != "frame_stack"]:
            raise UnsupportedError(
                f'obs_type="ram": `{env_id.name}` shows no screen, to which'
                f" {', '.join(given)} would apply"
            )
        parts["frame_stack"] = 1
    recipe = replace(base, **parts)
    threshold = settings.continuous_action_threshold
    if threshold is not None and not recipe.continuous:
        warn(f"continuous_action_threshold={threshold} has no effect: continuous is False")
    return recipe


def _from_id(env_id: EnvId, settings: Settings) -> dict[str, Any]:
    """Return parts that the id decides, and tell of what it says in vain."""
    told, base, given = env_id.kwargs, settings.base_recipe, settings.parts
    if env_id.extra_arguments:
        raise UnsupportedError(
            f"`{env_id.name}` sets {', '.join(env_id.extra_arguments)}, which no setting says"
        )
    steps = None if env_id.spec is None else env_id.spec.max_episode_steps
    if steps is not None and not {"max_episode_steps", "max_episode_frames"} & given.keys():
        raise UnsupportedError(
            f"`{env_id.name}` has max_episode_steps={steps}, which counts steps of a bare game; say"
            " max_episode_steps (agent steps) or max_episode_frames"
        )
    # What a recipe says beyond the usual goes before what an id says.
    parts = {
        name: told[name]
        for name in _OF_THE_ID
        if name in told and getattr(base, name) == _DEFAULTS[name]
    }
    if told.get("obs_type") == "ram":
        parts["obs_type"] = "ram"
    if base.sticky_actions is None:
        parts["sticky_actions"] = env_id.sticky_actions
    in_vain = {
        "sticky_actions": env_id.sticky_actions,
        "max_episode_frames": told.get("max_num_frames_per_episode", _USUAL_LIMIT),
    }
    skip = told.get("frameskip", 1)
    # An id of 1 is for wrappers that skip; a pair is drawn from in each step, which no recipe does.
    if skip not in (1, base.frame_skip) and settings.recipe is None and "frame_skip" not in given:
        theirs = f"a random {skip[0]} to {skip[1] - 1}" if isinstance(skip, tuple) else skip
        warn(
            f"`{env_id.name}` takes {theirs} frames per step, but the preset in use"
            f" {base.frame_skip}, which holds; give frame_skip={base.frame_skip} to settle it"
        )
    for name, theirs in in_vain.items() if settings.recipe is None else ():
        ours = getattr(base, name)
        if name not in (given | parts) and theirs not in (ours, _USUAL_LIMIT):
            warn(
                f"`{env_id.name}` has {name}={theirs}, but the preset in use {ours}, which holds;"
                f" give {name}={theirs} or {name}={ours} to settle it"
            )
    return parts
