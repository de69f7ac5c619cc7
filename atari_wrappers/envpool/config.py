"""EnvPool's ids and settings of Atari, checked, and what they are called here."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypedDict, get_type_hints

import gymnasium as gym

from atari_wrappers.checks import check_choice, checked_by_type, checked_integer, checked_seed
from atari_wrappers.errors import UnknownEnvError, UnsupportedError, warn
from atari_wrappers.keywords import SettingKeywords
from atari_wrappers.recipes import PRESETS, Interpolation


class Config(NamedTuple):
    """EnvPool's settings, with its names and its defaults.

    Attributes:
        num_envs: How many envs.
        batch_size: Envs per `recv`, the first that are ready; 0 waits for all.
        num_threads: Threads that emulate; 0 is one per core.
        max_num_players: At least 1; Atari games have one player, whatever it says.
        thread_affinity_offset: -1. Nothing binds threads to cores; another number brings a warning.
        seed: Env `i` plays by `seed + i`; or a list, one for each env. From 0 on.
        env_seed: Those of such a list.
        gym_reset_return_info: True; `old_gym` has resets without infos.
        max_episode_steps: Agent steps after which a game is truncated, at least 1.
        stack_num: Frames per observation, oldest first.
        frame_skip: Emulator frames per agent step, the last two max-pooled.
        noop_max: Most no-ops at the start of a game, at least 1 of which is made; 0 for none.
        zero_discount_on_life_loss: A lost life has the discount 0, which `make_dm` shows.
        episodic_life: A lost life ends the episode; the game goes on with the next one.
        reward_clip: Replace each reward by its sign; `info["reward"]` is not clipped.
        use_fire_reset: Press FIRE when a game begins that has it.
        img_height: Of an observation, in pixels.
        img_width: The same.
        task: The ROM's name, which follows from the id.
        mode: Of the game; -1 is its default.
        difficulty: Of the game; -1 is its default.
        full_action_space: All 18 actions.
        repeat_action_probability: Of each frame, that it repeats the action before.
        use_inter_area_resize: Whether observations are resized by INTER_AREA; else by INTER_LINEAR.
        gray_scale: Gray observations `[stack_num, height, width]`; else, with colours,
            `[3 * stack_num, height, width]`.
    """

    num_envs: int = 1
    batch_size: int = 0
    num_threads: int = 0
    max_num_players: int = 1
    thread_affinity_offset: int = -1
    seed: int = 42
    env_seed: list[int] = []  # noqa: RUF012 - EnvPool's; nobody writes to it
    gym_reset_return_info: bool = True
    max_episode_steps: int = 27_000
    stack_num: int = 4
    frame_skip: int = 4
    noop_max: int = 30
    zero_discount_on_life_loss: bool = False
    episodic_life: bool = False
    reward_clip: bool = False
    use_fire_reset: bool = True
    img_height: int = 84
    img_width: int = 84
    task: str = "pong"
    mode: int = -1
    difficulty: int = -1
    full_action_space: bool = False
    repeat_action_probability: float = 0.0
    use_inter_area_resize: bool = True
    gray_scale: bool = True


class ConfigKeywords(TypedDict, total=False):
    """The fields of `Config` that a caller sets, and how pictures are shown; a test compares."""

    num_envs: int
    batch_size: int
    num_threads: int
    max_num_players: int
    thread_affinity_offset: int
    seed: int | Sequence[int]
    env_seed: Sequence[int]
    gym_reset_return_info: bool
    max_episode_steps: int
    stack_num: int
    frame_skip: int
    noop_max: int
    zero_discount_on_life_loss: bool
    episodic_life: bool
    reward_clip: bool
    use_fire_reset: bool
    img_height: int
    img_width: int
    mode: int
    difficulty: int
    full_action_space: bool
    repeat_action_probability: float
    use_inter_area_resize: bool
    gray_scale: bool
    render_mode: Literal["rgb_array"] | None
    render_env_id: int


# Of integers, where it is not 0.
_MINIMA = {
    **dict.fromkeys(("num_envs", "max_num_players", "max_episode_steps", "stack_num"), 1),
    **dict.fromkeys(("frame_skip", "img_height", "img_width"), 1),
    **dict.fromkeys(("thread_affinity_offset", "mode", "difficulty"), -1),
}
_SEEDS = ("seed", "env_seed")
_TYPES = {
    name: kind for name, kind in get_type_hints(Config).items() if name not in (*_SEEDS, "task")
}


@functools.cache
def _roms() -> dict[str, tuple[str, str]]:
    """Return, by EnvPool's id, each game's ROM and the id under which ale-py registered it."""
    games = (spec for spec in gym.registry.values() if spec.namespace == "ALE")
    roms = {spec.kwargs["game"]: spec.id for spec in games}
    return {
        f"{''.join(word.capitalize() for word in rom.split('_'))}-v5": (rom, roms[rom])
        for rom in sorted(roms)
    }


def list_all_envs() -> list[str]:
    """Return EnvPool's ids of all Atari games."""
    return list(_roms())


def rom_and_id(task_id: str) -> tuple[str, str]:
    """Return the ROM that an id of EnvPool's names, and ale-py's id.

    Raises:
        UnknownEnvError: There is no such id.
    """
    if task_id not in _roms():
        near = difflib.get_close_matches(str(task_id), _roms(), n=1)
        hint = f"did you mean `{near[0]}`?" if near else "envpool.list_all_envs() has them all"
        raise UnknownEnvError(f"no Atari game of EnvPool's has the id `{task_id}`; {hint}")
    return _roms()[task_id]


def checked_config(rom: str, keywords: Mapping[str, Any]) -> Config:
    """Return the settings that were given, each checked, and the defaults of the others."""
    unknown = sorted(keywords.keys() - {*_TYPES, *_SEEDS})
    if unknown:
        near = difflib.get_close_matches(unknown[0], [*_TYPES, *_SEEDS], n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_TYPES)}"
        raise TypeError(f"EnvPool's Atari games have no setting {', '.join(unknown)}; {hint}")
    given = {
        name: checked_by_type(name, value, _TYPES[name], _MINIMA.get(name, 0))
        for name, value in keywords.items()
        if name in _TYPES
    }
    num_envs = given.get("num_envs", 1)
    # EnvPool says so too, of a batch of all.
    given["batch_size"] = given.get("batch_size", 0) or num_envs
    if given["batch_size"] > num_envs:
        raise ValueError(
            f"batch_size must be at most num_envs ({num_envs}), not {given['batch_size']}"
        )
    _refuse_what_is_envpools_alone(given)
    return Config(**given, **_seeds(keywords, num_envs), task=rom)


def _refuse_what_is_envpools_alone(given: Mapping[str, Any]) -> None:
    if not given.get("gym_reset_return_info", True):
        raise UnsupportedError(
            "gym_reset_return_info=False: resets return infos, as EnvPool's do since 1.0; for a"
            " script that expects the older forms: from atari_wrappers.envpool import old_gym"
        )
    if given.get("thread_affinity_offset", -1) != -1:
        warn("thread_affinity_offset has no effect: no thread is bound to a core")


def _seeds(keywords: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    seed, env_seed = keywords.get("seed", Config().seed), keywords.get("env_seed")
    if getattr(seed, "ndim", 0) or isinstance(seed, list | tuple):
        if env_seed is not None:
            raise ValueError("give seeds as seed=[...] or as env_seed=[...], not both")
        seed, env_seed = 0, seed
    seeds = [] if env_seed is None else [checked_integer("seed", one) for one in env_seed]
    if seeds and len(seeds) != num_envs:
        raise ValueError(f"{len(seeds)} seeds for {num_envs} envs")
    seed = checked_integer("seed", seed)
    for one in seeds or (seed, seed + num_envs - 1):
        checked_seed(one)
    return {"seed": seed, "env_seed": seeds}


def checked_render(settings: Mapping[str, Any]) -> tuple[str | None, int]:
    """Return whether pictures are asked for, and of which env unless `render` is told."""
    mode = settings.get("render_mode")
    if mode == "human":
        raise UnsupportedError('render_mode="human": there is no window; take "rgb_array"')
    if mode is not None:
        check_choice("render_mode", mode, ("rgb_array",))
    return mode, checked_integer("render_env_id", settings.get("render_env_id", 0))


def settings_of(config: Config) -> SettingKeywords:
    """Return what `make_vec` calls these settings."""
    interpolation: Interpolation = "area" if config.use_inter_area_resize else "linear"
    return {
        "recipe": replace(PRESETS["envpool"], interpolation=interpolation),
        "autoreset": "next-step",
        "batch_size": 0 if config.batch_size == config.num_envs else config.batch_size,
        "num_threads": config.num_threads,
        "max_episode_steps": config.max_episode_steps,
        "frame_stack": config.stack_num,
        "frame_skip": config.frame_skip,
        "noop_max": config.noop_max,
        "episodic_life": config.episodic_life,
        "clip_reward": config.reward_clip,
        "fire_reset": config.use_fire_reset,
        "screen_size": (config.img_height, config.img_width),
        "mode": None if config.mode < 0 else config.mode,
        "difficulty": None if config.difficulty < 0 else config.difficulty,
        "full_action_space": config.full_action_space,
        "sticky_actions": config.repeat_action_probability,
        "grayscale": config.gray_scale,
        # Of colours this is EnvPool's order, but for where the axis stands.
        "channels_last": not config.gray_scale,
    }
