"""Which backend runs a batch: the one asked for, or the fastest that serves in this process."""

from __future__ import annotations

from atari_wrappers.backends.ale import AleBackend
from atari_wrappers.backends.base import Backend
from atari_wrappers.backends.sync import SyncBackend
from atari_wrappers.backends.workers import AsyncBackend
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.ids import EnvId
from atari_wrappers.settings import Settings
from atari_wrappers.single_env import check_id

# The fastest first: in this order `auto` asks them.
BACKENDS: tuple[type[Backend], ...] = (AleBackend, SyncBackend, AsyncBackend)


def choose_backend(env_id: EnvId, settings: Settings, num_envs: int) -> type[Backend]:
    """Return the backend that was asked for, or the fastest that serves in this process.

    Videos are of raw frames where the choice is free; a backend without them, asked for by name,
    records what it observes.

    Args:
        env_id: What `ids.resolve` returned.
        settings: As checked by `Settings`.
        num_envs: Envs in the batch.

    Raises:
        UnsupportedError: What was asked for cannot serve; the message names each setting that is in
            the way, its value and what it could be, and the backends that can. Or none can.
    """
    check_id(env_id, settings)
    obstacles = {each: list(each.obstacles(env_id, num_envs, settings)) for each in BACKENDS}
    if settings.backend == "auto":
        return next(
            each
            for each in BACKENDS
            if each.runs_in_process
            and not obstacles[each]
            and (each.shows_raw_frames or settings.video_dir is None)
        )
    chosen = next(each for each in BACKENDS if each.name == settings.backend)
    if obstacles[chosen]:
        able = " or ".join(f'"{each.name}"' for each in BACKENDS if not obstacles[each])
        raise UnsupportedError(
            f'backend "{chosen.name}" cannot serve `{env_id.name}`:'
            f" {'; '.join(obstacles[chosen])}; use backend={able}"
        )
    return chosen
