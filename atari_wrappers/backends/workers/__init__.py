"""The `async` backend: envs in worker processes of our own, and all that can go wrong with them.

`backend` is what the batch talks to; `pool` and `processes` are the host's hold on the processes,
`worker` is what runs in one. They share `memory`, talk in `messages`, and `losses` says what failed.
"""

from atari_wrappers.backends.workers.backend import AsyncBackend
from atari_wrappers.backends.workers.remote import RemoteEnv

__all__ = ["AsyncBackend", "RemoteEnv"]
