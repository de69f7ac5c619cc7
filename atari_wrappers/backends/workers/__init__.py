"""The `async` backend: envs in worker processes of our own, and all that can go wrong with them.

`backend` is what the batch talks to. Its `dispatcher` hands work to the processes and notes in
`pending_work` who has what to do. `group` and `processes` are the host's hold on the processes;
`worker` is what runs in one. The two sides share `memory` and talk in `messages`. `remote` stands
for an env in the host.
"""

from atari_wrappers.backends.workers.backend import AsyncBackend

__all__ = ["AsyncBackend"]
