"""What is asked of `atari_core`, which emulates Atari games in Rust: whether it can, and a batch.

It is a module of its own, which needs not be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from ale_py import roms

from atari_wrappers.game.polar import polar_space
from atari_wrappers.recipes import PRESETS, Recipe
from atari_wrappers.request import EnvRequest
from atari_wrappers.settings import Settings

if TYPE_CHECKING:
    from atari_core import AtariVecEnv

_INSTALL = "pip install ./atari_core/python"
_NOT_INSTALLED = f"its module atari_core is not installed ({_INSTALL})"


def problem_of_module() -> str | None:
    """Say what keeps the module `atari_core` from being used at all: it is not there, or broken."""
    try:
        import atari_core
    except ModuleNotFoundError as error:
        if error.name == "atari_core":
            return _NOT_INSTALLED
        return _broken(error)
    except ImportError as error:
        return _broken(error)
    if atari_core.__file__ is None:  # a folder of that name, such as that of its sources
        return _NOT_INSTALLED
    lacks = [
        name for name in ("AtariVecEnv", "actions", "obstacle") if not hasattr(atari_core, name)
    ]
    return _broken(f"it has no {', '.join(lacks)}") if lacks else None


def is_installed() -> bool:
    """Return whether there is a module `atari_core`, be it broken."""
    return problem_of_module() != _NOT_INSTALLED


def _broken(why: Any) -> str:
    return (
        f"its module atari_core is installed and cannot be used ({why}); make it anew: {_INSTALL}"
    )


def obstacles(request: EnvRequest) -> Iterator[str]:
    """Say what keeps `atari_core` from playing a game as it is asked for, if anything."""
    if request.recipe is None:
        yield "it is no Atari game"
        return
    problem = problem_of_module() or _problem_of_game(request)
    if problem is not None:
        yield problem


def _problem_of_game(request: EnvRequest) -> str | None:
    from atari_core import obstacle

    try:
        return obstacle(rom_path(request), _parts(request.recipe), request.settings.num_players)
    except (TypeError, ValueError) as error:  # a part that it does not know, or no such value
        return str(error)


def _parts(recipe: Recipe) -> dict[str, Any]:
    """Return the parts that are not those of ALE's recipe, which `atari_core` starts from.

    So a module that is older than a part plays all recipes that do not ask for it.
    """
    usual = asdict(PRESETS["ale"])
    return {name: value for name, value in asdict(recipe).items() if value != usual[name]}


def rom_path(request: EnvRequest) -> str:
    """Return where ale-py has the ROM."""
    return str(roms.get_rom_path(request.env_id.rom))


def spaces_of(request: EnvRequest) -> tuple[gym.Space, gym.Space]:
    """Return what a game observes, and what it takes."""
    from atari_core import actions

    recipe, num_players = request.recipe, request.settings.num_players
    shape = _shape_of_one(recipe)
    if recipe.continuous:
        return gym.spaces.Box(0, 255, shape, np.uint8), polar_space()
    num_actions = len(actions(rom_path(request), num_players, full=recipe.full_action_space))
    if num_players == 1:
        takes: gym.Space = gym.spaces.Discrete(num_actions)
    else:
        shape = (num_players, *shape)
        takes = gym.spaces.MultiDiscrete([num_actions] * num_players)
    return gym.spaces.Box(0, 255, shape, np.uint8), takes


def _shape_of_one(recipe: Recipe) -> tuple[int, ...]:
    if recipe.obs_type == "ram":
        return (128,)
    colours = () if recipe.grayscale else (3,)
    if recipe.channels_last:
        return (*recipe.screen_size, recipe.frame_stack * (colours or (1,))[0])
    return (recipe.frame_stack, *recipe.screen_size, *colours)


def open_core(
    requests: Iterable[EnvRequest], num_envs: int, autoreset: str, num_threads: int
) -> AtariVecEnv:
    """Return a batch of `atari_core`: of one game, or of one for each env, by one recipe."""
    from atari_core import AtariVecEnv

    requests = list(requests)
    settings, recipe = requests[0].settings, requests[0].recipe
    return AtariVecEnv(
        [rom_path(request) for request in requests],
        num_envs,
        _parts(recipe),
        num_players=settings.num_players,
        autoreset=autoreset,
        num_threads=num_threads,
        film_every=_film_every(settings),
        film_unfinished=settings.record_unfinished,
    )


def _film_every(settings: Settings) -> int:
    """Return of which games every frame is wanted: the first and every n-th, 0 for none."""
    if settings.img_dir is not None:
        return 1
    return settings.record_every if settings.video_dir is not None else 0
