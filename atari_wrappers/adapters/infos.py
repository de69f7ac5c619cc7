"""A batch's info, which is a dict of arrays, as the dict per env that older interfaces hand out."""

from __future__ import annotations

from typing import Any

import numpy as np

from atari_wrappers.backends.base import Info

# These get names of their own in each interface, or say what a row's place says.
_NOT_OF_A_ROW = frozenset({"env_id", "episode", "final_obs", "final_info"})

_OF_A_RESTART = ("worker_restarted",)


def info_rows(info: Info, num_envs: int) -> list[dict[str, Any]]:
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
            kept = {name: rows[index][name] for name in _OF_A_RESTART if name in rows[index]}
            rows[index] = final[index] | kept
    return rows


def _rows(info: Info, num_envs: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for name, values in info.items():
        if name in _NOT_OF_A_ROW or name.startswith("_"):
            continue
        if isinstance(values, dict):
            values = _rows(values, num_envs)
        elif values.ndim == 1:
            values = values.tolist()
        mask = info.get(f"_{name}")
        for index in range(num_envs) if mask is None else np.flatnonzero(mask):
            rows[index][name] = values[index]
    return rows
