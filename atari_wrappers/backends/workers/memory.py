"""The memory that a batch and its workers share: rows of results, actions, and who is how far.

It is a memfd: memory without a name, which is gone with the last process that has it, however that
one ends.
"""

from __future__ import annotations

import mmap
import os

import gymnasium as gym
import numpy as np

from atari_wrappers.backends.results import ResultArrays, arrays_in, total_bytes


class Memfd:
    """An empty piece of memory without a name, freed with this object and all mappings of it.

    Args:
        label: What `/proc` calls it.

    Attributes:
        fd: Its descriptor; -1 after `close`.
    """

    def __init__(self, label: str) -> None:
        self.fd = os.memfd_create(label, os.MFD_CLOEXEC)

    def close(self) -> None:
        """Give the descriptor back; what is mapped stays."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    __del__ = close


class BatchMemory:
    """Arrays over a memfd.

    The mapping lives as long as an array over it does, so that what was lent from it stays readable
    after the batch was closed.

    Args:
        fd: The memfd; it is made as large as the arrays, or is already.
        num_envs: How many envs.
        num_workers: How many processes.
        space: The observation space of one env.
        action_space: Its action space.
        num_players: 1 or 2.
        num_buffers: Observation arrays.

    Attributes:
        rows: What the envs bring.
        actions: What they take, of the action space's dtype: `[num_envs, *shape]`.
        done: bool `[num_envs]`, whether an env has done what it was sent last.
        busy: int32 `[num_workers]`, the env that a worker turned to last.
    """

    def __init__(
        self,
        fd: int,
        num_envs: int,
        num_workers: int,
        space: gym.Space,
        action_space: gym.Space,
        num_players: int,
        num_buffers: int,
    ) -> None:
        shape = (num_envs, *(action_space.shape or ()))
        shapes = {
            "actions": (action_space.dtype, shape),
            "done": (np.dtype(np.bool_), (num_envs,)),
            "busy": (np.dtype(np.int32), (num_workers,)),
        }
        rows_size = ResultArrays.num_bytes(num_envs, space, num_players, num_buffers)
        size = rows_size + total_bytes(shapes)
        if os.fstat(fd).st_size < size:
            os.ftruncate(fd, size)
        mapping = mmap.mmap(fd, size)
        self.rows = ResultArrays(num_envs, space, num_players, num_buffers, mapping)
        arrays = arrays_in(mapping, shapes, rows_size)
        self.actions, self.done, self.busy = arrays["actions"], arrays["done"], arrays["busy"]

    def progress(self, worker: int, indices: range) -> tuple[int, int]:
        """Return what changes with each env that a worker turns to, and with each that is done."""
        return int(self.busy[worker]), int(self.done[indices.start : indices.stop].sum())
