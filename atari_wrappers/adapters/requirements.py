"""What a library expects of a batch, and the refusal of one that it would silently get wrong."""

from __future__ import annotations

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.settings import Settings


def check_settings(settings: Settings, library: str, *, autoreset: str, keeps_obs: bool) -> None:
    """Refuse a batch that `library` cannot use; the message says how to make another.

    It is written for an autoreset mode, and with `keeps_obs` it keeps observations for longer than
    two steps without copying them.
    """
    if settings.autoreset != autoreset:
        raise UnsupportedError(
            f'{library} expects autoreset="{autoreset}" and would learn from wrong transitions'
            f' with "{settings.autoreset}"'
        )
    if settings.batch_size:
        raise UnsupportedError(
            f"{library} steps all envs at once; leave batch_size at 0, not {settings.batch_size}"
        )
    if settings.num_players != 1:
        raise UnsupportedError(
            f"{library} knows one reward per env; num_players must be 1, not {settings.num_players}"
        )
    if keeps_obs and settings.obs_buffers:
        raise UnsupportedError(
            f"{library} keeps observations that a ring of buffers would overwrite; leave"
            f" obs_buffers at 0, not {settings.obs_buffers}"
        )
