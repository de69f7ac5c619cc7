"""The observations that workers write, and the host hands out or lends."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from atari_wrappers.backends.results import ObsArrays
from atari_wrappers.settings import Settings


class SharedBuffers:
    """Arrays of all envs' observations, of which workers write to one at a time.

    With `obs_buffers` there are as many, lent in turn. Parts of a batch are gathered, so that what
    is lent of them is not what is written to; then there is one.

    Args:
        num_envs: How many envs.
        settings: Of the batch.

    Attributes:
        count: How many arrays there are.
        current: Which of them the envs write to.
    """

    def __init__(self, num_envs: int, settings: Settings) -> None:
        self._num_envs, self._num_rows = num_envs, settings.batch_size or num_envs
        self._ring = settings.obs_buffers if self._num_rows < num_envs else 0
        self.count = 1 if self._ring else max(settings.obs_buffers, 1)
        self.current = 0

    def attach(self, arrays: list[np.ndarray], space: gym.Space) -> None:
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
