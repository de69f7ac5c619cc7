"""What is asked of `atari_core`, which emulates Atari games in Rust: whether it can, and a batch.

It is a module of its own, which needs not be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import gymnasium as gym
import numpy as np
from ale_py import roms

from atari_wrappers.game.polar import polar_space
from atari_wrappers.recipes import Recipe
from atari_wrappers.request import EnvRequest
from atari_wrappers.settings import Settings

if TYPE_CHECKING:
    from atari_core import AtariVecEnv

_NOT_INSTALLED = "its module atari_core is not installed (pip install ./atari_core/python)"


def obstacles(request: EnvRequest) -> Iterator[str]:
    """Say what keeps `atari_core` from playing a game as it is asked for, if anything."""
    if request.recipe is None:
        yield "it is no Atari game"
        return
    try:
        from atari_core import obstacle
    except ImportError:
        yield _NOT_INSTALLED
        return
    num_players = request.settings.num_players
    problem = obstacle(rom_path(request), asdict(request.recipe), num_players)
    if problem is not None:
        yield problem


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
        asdict(recipe),
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
