"""What a step gives, for all backends: where observations go, records of games, last observations.

`ResultArrays` have a row per env, in memory that processes can share. Rows are written by envs
(`env_runner`) or out of what ALE reports (`ale_records`), and read out by `collect`, which makes
every info but those that `atari_core` makes. Nothing here steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import gymnasium as gym
import numpy as np

from atari_wrappers.backends.base import Info
from atari_wrappers.checks import dtype_of

Dtypes = dict[str, type[np.generic]]  # by name
# What each env's info says of every step; `reward`-like ones have an axis for players.
RECORD: Dtypes = {
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
_FLAGS: Dtypes = {"reward": np.float32, "terminated": np.bool_, "truncated": np.bool_}
_FINAL: Dtypes = {"final": np.bool_, "final_lives": np.int32, "restarted": np.bool_}
_ALIGNMENT = 64
Shapes = dict[str, tuple[np.dtype[Any], tuple[int, ...]]]  # of arrays, by name, with their dtypes
# Reward, terminated, truncated and info: a step's results but for the observations.
Outcome = tuple[np.ndarray, np.ndarray, np.ndarray, Info]


class ResultArrays:
    """The arrays of `num_envs` envs.

    Attributes:
        obs: One array `[num_envs, *space.shape]` per buffer that processes share.
        final_obs: Of the same shape; a row counts where `final` is set.
        reward, raw_reward, ...: As in `VecEnv`, `[num_envs]`, or `[num_envs, num_players]`.

    Args:
        arrays: By name, as `result_shapes` says.
        num_buffers: Observation arrays among them.
    """

    final_obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    raw_reward: np.ndarray
    lives: np.ndarray
    game_terminated: np.ndarray
    game_truncated: np.ndarray
    episode_return: np.ndarray
    episode_length: np.ndarray
    episode_frames: np.ndarray
    final: np.ndarray
    final_lives: np.ndarray
    restarted: np.ndarray

    def __init__(self, arrays: dict[str, np.ndarray], num_buffers: int = 0) -> None:
        self.obs: list[np.ndarray] = [arrays.pop(f"obs{buffer}") for buffer in range(num_buffers)]
        self.num_envs: int = len(arrays["lives"])
        self.arrays = arrays
        self.__dict__.update(arrays)
        self._small = {name: array for name, array in arrays.items() if name != "final_obs"}
        self._all = np.arange(self.num_envs)

    @classmethod
    def of_this_process(cls, num_envs: int, space: gym.Space[Any], num_players: int = 1) -> Self:
        """Return arrays that no other process sees."""
        shapes = result_shapes(num_envs, space, num_players)
        return cls({name: np.zeros(shape, dtype) for name, (dtype, shape) in shapes.items()})

    def collect(self, indices: Sequence[int] | None, begun: Sequence[int] | None = None) -> Outcome:
        """Return what a step brought to envs (`None`: all), as `VecEnv` documents it.

        Args:
            indices: Of which envs.
            begun: With all of them: which took part; what ended in the others was said before.
        """
        if indices is None:
            ids = self._all
            arrays = {name: array.copy() for name, array in self._small.items()}
        else:
            ids = np.asarray(indices)
            arrays = {name: array[ids] for name, array in self._small.items()}
        info: Info = {name: arrays[name] for name in RECORD}
        info["env_id"] = ids.astype(np.int32)
        game_over = info["game_terminated"] | info["game_truncated"]
        restarted, final = arrays["restarted"], arrays["final"]
        if begun is not None:
            took_part = np.zeros(len(ids), bool)
            took_part[list(begun)] = True
            for flags in (game_over, restarted, final):
                flags &= took_part
        add_games(info, game_over)
        if _any(restarted):
            info["worker_restarted"] = restarted
        if _any(final):
            # Untouched pages cost nothing: only the rows that count are written.
            final_obs = np.empty((len(ids), *self.final_obs.shape[1:]), self.final_obs.dtype)
            final_obs[final] = self.final_obs[ids[final]]
            add_final(info, final, final_obs, arrays["final_lives"])
        return arrays["reward"], arrays["terminated"], arrays["truncated"], info


class ObsArrays:
    """Hands out arrays of observations: the caller's own, one of a ring, or a fresh one.

    Of `num_buffers` in the ring, 0 for none, each is overwritten by the `num_buffers`-th call after
    it. They have `num_rows`; another number of rows comes in a fresh array.
    """

    def __init__(self, num_buffers: int, num_rows: int, space: gym.Space[Any]) -> None:
        self._num_buffers, self._num_rows = num_buffers, num_rows
        self._row_shape, self._dtype = space.shape or (), space.dtype
        self._ring: list[np.ndarray] = []

    def take(self, num_rows: int, out: np.ndarray | None) -> np.ndarray:
        """Return where to write a call's observations to, `out` if that is given."""
        if out is not None:
            return out
        if num_rows == self._num_rows and len(self._ring) == self._num_buffers > 0:
            self._ring.append(self._ring.pop(0))
            return self._ring[-1]
        array = np.empty((num_rows, *self._row_shape), self._dtype)
        if num_rows == self._num_rows and self._num_buffers:
            self._ring.append(array)
        return array

    def hand_out(self, obs: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        """Return `obs`, which is fresh, or what it is copied to."""
        if out is None and not self._num_buffers:
            return obs
        array = self.take(len(obs), out)
        np.copyto(array, obs)
        return array


def _any(flags: np.ndarray) -> bool:
    """Whether a flag is set; within a step, with the caches full of frames, numpy's costs 2 µs."""
    return 1 in flags.tobytes()


def add_games(info: Info, game_over: np.ndarray) -> None:
    """Add the records of the games that ended, if any did; other rows are zero."""
    if not _any(game_over):
        return
    keys = {"r": "episode_return", "l": "episode_length", "frames": "episode_frames"}
    record = {key: info[name].copy() for key, name in keys.items()}
    for values in record.values():
        values[~game_over] = 0
    info["episode"], info["_episode"] = record, game_over


def add_final(info: Info, ended: np.ndarray, obs: np.ndarray, lives: np.ndarray) -> None:
    """Add the last observations, lives and infos of the episodes that ended, row by row."""
    final_info = {name: info[name].copy() for name in (*RECORD, "env_id")}
    info["final_obs"], info["_final_obs"] = obs, ended
    info["final_info"], info["_final_info"] = final_info | {"lives": lives}, ended.copy()


def result_shapes(
    num_envs: int, space: gym.Space[Any], num_players: int = 1, num_buffers: int = 0
) -> Shapes:
    """Return the arrays that `ResultArrays` has of envs with an observation space.

    There are as many arrays of observations as buffers; none where they need not be shared.
    """
    batch = (num_envs, *(space.shape or ()))
    dtype = dtype_of(space)
    shapes: Shapes = {f"obs{buffer}": (dtype, batch) for buffer in range(num_buffers)}
    shapes["final_obs"] = (dtype, batch)
    for name, kind in (_FLAGS | RECORD | _FINAL).items():
        players = (num_players,) if num_players > 1 and name in PER_PLAYER else ()
        shapes[name] = (np.dtype(kind), (num_envs, *players))
    return shapes


def arrays_in(memory: Any, shapes: Shapes) -> dict[str, np.ndarray]:
    """Return arrays that lie in `memory` one behind the other."""
    arrays, offset = {}, 0
    for name, (dtype, shape) in shapes.items():
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(memory, dtype, count, offset).reshape(shape)
        offset += _aligned_bytes(dtype, shape)
    return arrays


def total_bytes(shapes: Shapes) -> int:
    """Return how many bytes the arrays take."""
    return sum(_aligned_bytes(dtype, shape) for dtype, shape in shapes.values())


def _aligned_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    """Return how many bytes an array takes, so that the one behind it begins at a cache line."""
    size = int(np.prod(shape)) * dtype.itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT
