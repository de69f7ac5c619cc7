"""What the adapters share: settings that a library would get wrong, and infos env by env."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.settings import Settings
from atari_wrappers.vector.env import VecEnv

# These get names of their own in each interface, or say what a row's place says.
_NOT_OF_A_ROW = frozenset({"env_id", "episode", "final_obs", "final_info"})


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


def check_batch(venv: VecEnv, library: str, *, autoreset: str, keeps_obs: bool) -> None:
    """Refuse a batch that is made, as `check_settings`, and one whose results are tensors."""
    check_settings(venv.settings, library, autoreset=autoreset, keeps_obs=keeps_obs)
    if hasattr(venv, "device"):
        raise UnsupportedError(f'{library} takes arrays; leave output at "numpy", not "torch"')


def info_rows(info: Mapping[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Return what `info` says of each env, scalars as Python's own.

    Of an env whose episode ended in this step (same-step mode) it is the info of that step, with
    the lives that were left then, and not that of the reset that followed.
    `worker_restarted` is kept.

    Args:
        info: Of a step or reset of all envs; `episode` and `final_obs` are left out.
        num_envs: How many envs.
    """
    rows = _rows(info, num_envs)
    if "final_info" in info:
        final = _rows(info["final_info"], num_envs)
        for index in np.flatnonzero(info["_final_info"]):
            is_new = {name: rows[index][name] for name in {"worker_restarted"} & rows[index].keys()}
            rows[index] = final[index] | is_new
    return rows


def _rows(info: Mapping[str, Any], num_envs: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for name, values in info.items():
        if name in _NOT_OF_A_ROW or str(name).startswith("_"):
            continue
        if isinstance(values, dict):
            values = _rows(values, num_envs)
        elif values.ndim == 1:
            values = values.tolist()
        mask = info.get(f"_{name}")
        for index in range(num_envs) if mask is None else np.flatnonzero(mask):
            rows[index][name] = values[index]
    return rows
