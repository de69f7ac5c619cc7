"""What a client may ask for: a part of the server's envs, and how games become episodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from atari_wrappers.checks import check_count
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.recipes import Recipe
from atari_wrappers.request import OF_VIDEOS, BatchRequest, request_batch
from atari_wrappers.settings import Settings

# None of them names a file, a process or code of the server's.
_OF_CLIENTS = ("preset", "autoreset", "batch_size", "clip_actions", "num_players")
SETTINGS = (*_OF_CLIENTS, *(name for name in Recipe.names() if name in Settings.names()))
# What would take much of the server's memory, or of its time, beyond these.
_MOST = {"frame_stack": 256, "frame_skip": 10_000, "noop_max": 10_000}
_MOST_OBS_BYTES = 16 << 20
_NO_VIDEOS = {name: getattr(Settings(), name) for name in ("video_dir", *OF_VIDEOS)}


def asked_batch(request: BatchRequest, num_envs: int, settings: dict[str, Any]) -> BatchRequest:
    """Return the batch of one client.

    Args:
        request: What the server serves each client.
        num_envs: How many of its envs; 0 for all.
        settings: In place of the server's.

    Raises:
        ValueError: The server has fewer envs, or a setting is out of its range.
        UnsupportedError: It is no setting that a client may ask for, or the envs cannot do it.
    """
    most = request.num_envs
    if num_envs > most:
        raise ValueError(f"num_envs must be at most {most} on this server, not {num_envs}")
    num_envs = num_envs or most
    for name in settings:
        if name not in SETTINGS:
            raise UnsupportedError(
                f"{name}: no setting that a server takes from its clients, which are"
                f" {', '.join(SETTINGS)}"
            )
    for name, most_of_it in _MOST.items():
        value = settings.get(name)
        if isinstance(value, int | np.integer) and value > most_of_it:
            raise ValueError(f"{name} must be at most {most_of_it} on a server, not {value}")
    envs = request.envs if len(request.envs) == 1 else request.envs[:num_envs]
    own = _for_first(request.settings, num_envs)
    if settings:
        if "preset" in settings and own.recipe is not None:
            own = replace(own, recipe=None)
        sources = [env.env_id.maker or env.env_id.name for env in envs]
        asked = replace(own, **settings)
        made = request_batch(sources if len(sources) > 1 else sources[0], num_envs, asked)
        _check_sizes(made)
        return made
    check_count("num_envs", num_envs, own.batch_size or 1)
    return BatchRequest(tuple(replace(env, settings=own) for env in envs), num_envs, own)


def _check_sizes(request: BatchRequest) -> None:
    """Refuse observations that would take much of the server's memory."""
    for env in request.envs:
        recipe = env.recipe
        if recipe is None or recipe.obs_type != "screen":
            continue
        height, width = recipe.screen_size
        size = height * width * (1 if recipe.grayscale else 3) * recipe.frame_stack
        if size > _MOST_OBS_BYTES:
            raise ValueError(
                f"screen_size and frame_stack make observations of {size} bytes; on a server they"
                f" have at most {_MOST_OBS_BYTES}"
            )


def _for_first(settings: Settings, num_envs: int) -> Settings:
    """Return the settings of the first envs, of which fewer may be recorded."""
    if settings.video_envs is None:
        return settings
    recorded = tuple(index for index in settings.video_envs if index < num_envs)
    return replace(settings, **({"video_envs": recorded} if recorded else _NO_VIDEOS))
