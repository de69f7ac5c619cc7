"""The memory that a batch and its workers share: rows of results, actions, and who is how far.

It is a memfd: memory without a name, which is gone with the last process that has it, however that
one ends. Workers write the observations in it, and the host hands them out or lends them.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from multiprocessing import reduction
from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers.backends.results import (
    ObsArrays,
    ResultArrays,
    arrays_in,
    result_shapes,
    total_bytes,
)
from atari_wrappers.checks import dtype_of
from atari_wrappers.settings import Settings


class Memfd:
    """An empty piece of memory without a name, freed with this object and all mappings of it."""

    def __init__(self, label: str) -> None:
        self.fd: int = os.memfd_create(label, os.MFD_CLOEXEC)

    def close(self) -> None:
        """Give the descriptor back; what is mapped stays."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    __del__ = close


class SharedFd:
    """A file descriptor that goes along to a process as it is started, and to nothing else."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __reduce__(self) -> tuple[Any, ...]:
        """Have `multiprocessing` hand the descriptor on."""
        return _received_fd, (reduction.DupFd(self.fd),)


def _received_fd(carrier: Any) -> SharedFd:
    fd = carrier.detach()
    os.set_inheritable(fd, False)  # a program that an env starts must not keep the pipes open
    return SharedFd(fd)


class BatchMemory:
    """Arrays over a memfd.

    The mapping lives as long as an array over it does, so that what was lent from it stays readable
    after the batch was closed.

    The memfd is made as large as the arrays of envs with these spaces, or is already.

    Attributes:
        rows: What the envs bring.
        actions: What they take, of the action space's dtype: `[num_envs, *shape]`.
        done: bool `[num_envs]`, whether an env has done what it was sent last.
        busy: int32 `[num_workers]`, the env that a worker turned to last.
    """

    def __init__(
        self,
        fd: int,
        space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        num_workers: int,
        num_players: int,
        num_buffers: int,
    ) -> None:
        shapes = result_shapes(num_envs, space, num_players, num_buffers)
        shapes["actions"] = dtype_of(action_space), (num_envs, *(action_space.shape or ()))
        shapes["done"] = np.dtype(np.bool_), (num_envs,)
        shapes["busy"] = np.dtype(np.int32), (num_workers,)
        size = total_bytes(shapes)
        if os.fstat(fd).st_size < size:
            os.ftruncate(fd, size)
        arrays = arrays_in(mmap.mmap(fd, size), shapes)
        self.actions: np.ndarray = arrays.pop("actions")
        self.done: np.ndarray = arrays.pop("done")
        self.busy: np.ndarray = arrays.pop("busy")
        self.rows: ResultArrays = ResultArrays(arrays, num_buffers)

    def progress(self, worker: int, indices: range) -> tuple[int, int]:
        """Return what changes with each env that a worker turns to, and with each that is done."""
        return int(self.busy[worker]), int(self.done[indices.start : indices.stop].sum())


class SharedBuffers:
    """Arrays of all envs' observations, of which workers write to one at a time.

    With `obs_buffers` there are as many, lent in turn. Parts of a batch are gathered, so that what
    is lent of them is not what is written to; then there is one.

    Attributes:
        count: How many arrays there are.
        current: Which of them the envs write to.
    """

    def __init__(self, num_envs: int, settings: Settings) -> None:
        self._num_envs, self._num_rows = num_envs, settings.batch_size or num_envs
        self._ring = settings.obs_buffers if self._num_rows < num_envs else 0
        self.count: int = 1 if self._ring else max(settings.obs_buffers, 1)
        self.current: int = 0

    def attach(self, arrays: list[np.ndarray], space: gym.Space[Any]) -> None:
        """Use these arrays `[num_envs, *space.shape]`."""
        self._arrays = arrays
        self._obs_arrays = ObsArrays(self._ring, self._num_rows, space)

    def turn(self, written: Sequence[int] | None) -> None:
        """Turn to the array lent longest ago; keep the rows of envs that will not write theirs."""
        if self.count == 1:
            return
        last, self.current = self.current, (self.current + 1) % self.count
        if written is not None:
            kept = np.setdiff1d(np.arange(self._num_envs), written)
            self._arrays[self.current][kept] = self._arrays[last][kept]

    def hand_out(self, indices: Sequence[int] | None, out: np.ndarray | None) -> np.ndarray:
        """Return the observations of envs (`None`: all), in `out` if that is given."""
        rows = self._arrays[self.current]
        if indices is None:
            # An array is lent as a whole, and not where the next step writes to it.
            if out is None and self.count > 1:
                return rows
            obs = self._obs_arrays.take(self._num_envs, out)
            np.copyto(obs, rows)
            return obs
        obs = self._obs_arrays.take(len(indices), out)
        return np.take(rows, indices, axis=0, out=obs, mode="clip")  # "raise" would copy twice
