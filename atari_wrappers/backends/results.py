"""A step's results as arrays with a row per env, in memory that processes can share.

Envs write their rows (`env_runner`), the host reads them out (`collect`). Nothing here steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers.backends.base import Info, StepResult

# What each env's info says of every step; `reward`-like ones have an axis for players.
RECORD = {
    "raw_reward": np.float32,
    "lives": np.int32,
    "game_terminated": np.bool_,
    "game_truncated": np.bool_,
    "episode_return": np.float64,
    "episode_length": np.int64,
    "episode_frames": np.int64,
}
# What a batch's info says itself; an env's own keys of these names are left out.
RESERVED = frozenset({*RECORD, "env_id", "episode", "final_obs", "final_info", "worker_restarted"})
PER_PLAYER = frozenset({"reward", "raw_reward", "episode_return"})
_FLAGS = {"reward": np.float32, "terminated": np.bool_, "truncated": np.bool_}
_FINAL = {"final": np.bool_, "final_lives": np.int32, "restarted": np.bool_}
_ALIGNMENT = 64


class ResultArrays:
    """The arrays of `num_envs` envs.

    Attributes:
        obs: One array `[num_envs, *space.shape]` per buffer.
        final_obs: The same shape; a row counts where `final` is set.
        reward, raw_reward, ...: As in `VecEnv`, `[num_envs]`, or `[num_envs, num_players]`.

    Args:
        num_envs: How many envs.
        space: The observation space of one.
        num_players: 1, or the length of the players' axis.
        num_buffers: Observation arrays, at least 1.
        memory: Where the arrays lie, at least `num_bytes` of the same arguments; new if `None`.
    """

    def __init__(
        self,
        num_envs: int,
        space: gym.Space,
        num_players: int = 1,
        num_buffers: int = 1,
        memory: Any = None,
    ) -> None:
        self.num_envs = num_envs
        layout = _layout(num_envs, space, num_players, num_buffers)
        if memory is None:
            memory = bytearray(_end(layout))
        arrays = {
            name: np.frombuffer(memory, dtype, int(np.prod(shape)), offset).reshape(shape)
            for name, (dtype, shape, offset) in layout.items()
        }
        self.obs = [arrays.pop(f"obs{buffer}") for buffer in range(num_buffers)]
        self.arrays = arrays
        self.__dict__.update(arrays)

    @staticmethod
    def num_bytes(
        num_envs: int, space: gym.Space, num_players: int = 1, num_buffers: int = 1
    ) -> int:
        """Return how many bytes the arrays take."""
        return _end(_layout(num_envs, space, num_players, num_buffers))

    def collect(
        self,
        indices: Sequence[int] | None,
        buffer: int,
        out: np.ndarray | None,
        *,
        fresh: bool,
        ends: bool = True,
    ) -> StepResult:
        """Read a step's results out.

        Args:
            indices: Of which envs; `None` for all.
            buffer: Which buffer holds the observations.
            out: Where to copy the observations to; `None` for nowhere.
            fresh: Without `out`: copy them to a new array, or hand out the buffer itself.
            ends: Say in info what ended; it was said already if the rows are read again.

        Returns:
            The step's results as `VecEnv` documents them.
        """
        ids = np.arange(self.num_envs) if indices is None else np.asarray(indices)
        # A slice is a view, to be copied; a choice by index is a copy already.
        chosen, copied = (slice(None), np.copy) if indices is None else (ids, np.asarray)
        obs = self.obs[buffer]
        if out is not None:
            np.copyto(out, obs[chosen])
            obs = out
        elif fresh:
            obs = copied(obs[chosen])
        arrays = {
            name: copied(array[chosen])
            for name, array in self.arrays.items()
            if name != "final_obs"
        }
        info: Info = {name: arrays[name] for name in RECORD}
        info["env_id"] = ids.astype(np.int32)
        if ends:
            self._add_ends(info, arrays, chosen)
        return obs, arrays["reward"], arrays["terminated"], arrays["truncated"], info

    def _add_ends(self, info: Info, arrays: dict[str, np.ndarray], chosen: Any) -> None:
        game_over = info["game_terminated"] | info["game_truncated"]
        if game_over.any():
            info["episode"] = episode_record(info, game_over)
            info["_episode"] = game_over
        if arrays["restarted"].any():
            info["worker_restarted"] = arrays["restarted"]
        final = arrays["final"]
        if final.any():
            info["final_obs"] = np.array(self.arrays["final_obs"][chosen])
            info["_final_obs"] = final
            info["final_info"] = {
                name: info[name].copy() for name in (*RECORD, "env_id") if name != "lives"
            } | {"lives": arrays["final_lives"]}
            info["_final_info"] = final.copy()


def episode_record(info: Info, game_over: np.ndarray) -> dict[str, np.ndarray]:
    """Return the records of the games that ended, zero in other rows."""
    keys = {"r": "episode_return", "l": "episode_length", "frames": "episode_frames"}
    record = {key: info[name].copy() for key, name in keys.items()}
    for values in record.values():
        values[~game_over] = 0
    return record


def spread(info: Info, num_envs: int) -> Info:
    """Return the info of some envs with a row for every env; those of the others are zero."""

    def rows(values: Any) -> Any:
        if isinstance(values, dict):
            return {name: rows(inner) for name, inner in values.items()}
        whole = np.zeros((num_envs, *values.shape[1:]), values.dtype)
        whole[info["env_id"]] = values
        return whole

    return rows(info)


def _layout(
    num_envs: int, space: gym.Space, num_players: int, num_buffers: int
) -> dict[str, tuple[np.dtype, tuple[int, ...], int]]:
    """Return dtype, shape and offset of each array."""
    batch = (num_envs, *(space.shape or ()))
    shapes = {f"obs{buffer}": (space.dtype, batch) for buffer in range(num_buffers)}
    shapes["final_obs"] = (space.dtype, batch)
    for name, dtype in (_FLAGS | RECORD | _FINAL).items():
        players = (num_players,) if num_players > 1 and name in PER_PLAYER else ()
        shapes[name] = (np.dtype(dtype), (num_envs, *players))
    layout, offset = {}, 0
    for name, (dtype, shape) in shapes.items():
        layout[name] = (dtype, shape, offset)
        offset += aligned_bytes(dtype, shape)
    return layout


def _end(layout: dict[str, tuple[np.dtype, tuple[int, ...], int]]) -> int:
    dtype, shape, offset = list(layout.values())[-1]
    return offset + aligned_bytes(dtype, shape)


def aligned_bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    """Return how many bytes an array takes, so that the one behind it begins at a cache line."""
    size = int(np.prod(shape)) * dtype.itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT
