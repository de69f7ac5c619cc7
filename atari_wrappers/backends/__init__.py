"""The runners of a batch of envs: `ale` (C++ threads), `sync` (this thread), `async` (processes).

A later backend is a class with `base.Backend`'s methods, a line in `open_backend`, and its limits
in `choose`.
"""

from __future__ import annotations

from atari_wrappers.backends.ale import AleBackend
from atari_wrappers.backends.base import Backend
from atari_wrappers.backends.choose import choose_backend
from atari_wrappers.backends.sync import SyncBackend
from atari_wrappers.backends.workers import AsyncBackend
from atari_wrappers.ids import EnvId
from atari_wrappers.settings import Settings

__all__ = ["Backend", "choose_backend", "open_backend"]


def open_backend(name: str, env_id: EnvId, num_envs: int, settings: Settings) -> Backend:
    """Start `num_envs` envs on the backend that `choose_backend` named."""
    runners = {"ale": AleBackend, "sync": SyncBackend, "async": AsyncBackend}
    return runners[name](env_id, num_envs, settings)
