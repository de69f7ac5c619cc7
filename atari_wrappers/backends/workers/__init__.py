"""The `async` backend: envs in worker processes of our own, and all that can go wrong with them.

`backend` is what the batch talks to. Its `dispatcher` hands work to the processes and notes in
`pending_work` who has what to do. `group` and `processes` are the host's hold on the processes;
`worker` is what runs in one, started with a `plan`. The two sides share `memory`, of which the
observations are `buffers`, and talk in `messages`. `failures` says what failed, `remote` stands for
an env in the host.
"""

from atari_wrappers.backends.workers.backend import AsyncBackend
from atari_wrappers.backends.workers.remote import RemoteEnv

__all__ = ["AsyncBackend", "RemoteEnv"]
