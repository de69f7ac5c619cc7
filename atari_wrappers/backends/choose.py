"""Which backend runs a batch: the one asked for, or the fastest that serves in this process."""

from __future__ import annotations

import warnings

from atari_wrappers.backends.ale import AleBackend
from atari_wrappers.backends.base import Backend
from atari_wrappers.backends.native import NativeBackend
from atari_wrappers.backends.sync import SyncBackend
from atari_wrappers.backends.workers import AsyncBackend
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.request import BatchRequest, depth_of_user
from atari_wrappers.settings import Settings

# The fastest first: in this order `auto` asks them.
BACKENDS: tuple[type[Backend], ...] = (NativeBackend, AleBackend, SyncBackend, AsyncBackend)
_DEFAULTS = Settings()


def choose_backend(request: BatchRequest) -> type[Backend]:
    """Return the backend that was asked for, or the fastest that serves in this process.

    Videos are of raw frames where the choice is free; a backend without them, asked for by name,
    records what it observes.

    Args:
        request: The batch that is to be made.

    Raises:
        UnsupportedError: What was asked for cannot serve; the message names each setting that is in
            the way, its value and what it could be, and the backends that can. Or none can.
    """
    chosen = _choose(request)
    settings = request.settings
    for name in {name for each in BACKENDS for name in each.own_settings}:
        value = getattr(settings, name)
        if name not in chosen.own_settings and value != getattr(_DEFAULTS, name):
            readers = (f'"{each.name}"' for each in BACKENDS if name in each.own_settings)
            warnings.warn(
                f'{name}={value} has no effect: backend "{chosen.name}" runs the envs, and only'
                f" backend={' or '.join(readers)} reads it",
                stacklevel=depth_of_user(),
            )
    return chosen


def _choose(request: BatchRequest) -> type[Backend]:
    settings = request.settings
    obstacles = {each: list(each.obstacles(request)) for each in BACKENDS}
    if settings.backend == "auto":
        for each in BACKENDS:
            shows = each.shows_raw_frames or settings.video_dir is None
            if each.runs_in_process and not obstacles[each] and shows:
                return each
        problems = (f'"{each.name}": {"; ".join(obstacles[each])}' for each in BACKENDS)
        raise UnsupportedError(
            f"no backend can serve `{request.env_id.name}`: {'. '.join(problems)}"
        )
    chosen = next(each for each in BACKENDS if each.name == settings.backend)
    if obstacles[chosen]:
        able = " or ".join(f'"{each.name}"' for each in BACKENDS if not obstacles[each])
        raise UnsupportedError(
            f'backend "{chosen.name}" cannot serve `{request.env_id.name}`:'
            f" {'; '.join(obstacles[chosen])}{able and f'; use backend={able}'}"
        )
    return chosen
