"""`Envs`: a batch in Rust in Gymnasium's words."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from .checks import MAX_SEED, Array, action_space, obs_space
from .errors import ClosedError, NoPendingStepError, PendingStepError, ResetNeededError


class Envs:
    """A batch in Rust: its spaces, the order of its calls, arrays for what it writes."""

    def __init__(self, batch: Any, num_envs: int, mode: AutoresetMode) -> None:
        self._batch, self.num_envs, self._mode = batch, num_envs, mode
        about = batch.describe()
        self.obs_space = obs_space(about)
        self.action_space = action_space(about)
        self.render_fps: float = about["render_fps"]
        self._was_reset = self._pending = self._closed = False
        self._ended = np.zeros(num_envs, bool)
        self._obs: Array | None = None
        self._action_shape = (num_envs, *(self.action_space.shape or ()))
        self._action_dtype = np.dtype(self.action_space.dtype)

    def _memory(self) -> tuple[Array, Array]:
        """Return an array for observations, and its bytes."""
        obs: Array = np.empty((self.num_envs, *self.obs_space.shape), self.obs_space.dtype)
        return obs, obs.reshape(-1).view(np.uint8)

    def check_open(self, call: str) -> None:
        """Refuse a call after `close`."""
        if self._closed:
            raise ClosedError(f"{call}: the environment is closed")

    def _check_idle(self, call: str) -> None:
        self.check_open(call)
        if self._pending:
            raise PendingStepError(f"{call}: a step is pending; call recv first", "step")

    def _check_reset(self, call: str) -> None:
        if not self._was_reset:
            raise ResetNeededError(f"{call}: call reset first")

    def reset(
        self, seeds: Sequence[int | None], generator: np.random.Generator, mask: Array | None
    ) -> Array:
        """Restart environments, those of a mask if it is given, and return what all show."""
        self._check_idle("reset")
        chosen = range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist()
        if not self._was_reset:
            if len(chosen) < self.num_envs:
                raise ResetNeededError("reset: the first reset must be of all environments")
            # Without a seed the futures of different batches differ.
            fresh = generator.integers(0, MAX_SEED, self.num_envs).tolist()
            seeds = [own if seed is None else seed for seed, own in zip(seeds, fresh, strict=True)]
        obs, memory = self._memory()
        self._batch.reset(list(chosen), [seeds[index] for index in chosen], memory)
        self._was_reset = True
        self._ended[list(chosen)] = False
        return obs

    def send(self, actions: Any, *, call: str = "send") -> None:
        """Begin a step."""
        self._check_idle(call)
        self._check_reset(call)
        if self._mode == AutoresetMode.DISABLED and self._ended.any():
            ended = np.flatnonzero(self._ended).tolist()
            raise ResetNeededError(
                f"{call}: envs {ended} need a reset, as their episodes have ended"
            )
        checked = self._checked(actions)
        self._obs, memory = self._memory()
        self._batch.send(checked, memory)
        self._pending = True

    def _checked(self, actions: Any) -> Array:
        """Return actions as an array of the space's type; the batch checks their range."""
        try:
            given = np.asarray(actions)
        except ValueError:
            message = f"actions must have the same shape for each env, not {actions!r}"
            raise ValueError(message) from None
        if given.shape != self._action_shape:
            raise ValueError(
                f"actions have shape {list(given.shape)}; {self.num_envs} envs take"
                f" {list(self._action_shape)}"
            )
        if not np.can_cast(given.dtype, self._action_dtype, "same_kind"):
            raise TypeError(f"actions must be {self._action_dtype}, not {given.dtype}")
        return np.ascontiguousarray(given, self._action_dtype)

    def recv(self, *, call: str = "recv") -> tuple[Array, Array, Array, Array, Any]:
        """Wait for the step; last are mask and observations of what ended, or `None`."""
        self.check_open(call)
        if not self._pending:
            raise NoPendingStepError(f"{call}: nothing was sent", "step")
        self._pending = False
        reward, terminated, truncated, final = self._batch.recv()
        obs, self._obs = self._obs, None
        assert obs is not None
        self._ended = terminated | truncated
        if final is not None:
            is_final, rows = final
            shape = (self.num_envs, *self.obs_space.shape)
            final = is_final, rows.view(self.obs_space.dtype).reshape(shape)
        return obs, reward, terminated, truncated, final

    def drop_step(self) -> None:
        """Forget a step that was broken off before or behind its beginning; a reset comes next."""
        self._pending = self._was_reset = False
        with contextlib.suppress(Exception):  # none has begun, or it has failed
            self._batch.recv()

    def frame(self, index: int) -> Array | None:
        """Return a picture of an environment, if it can be drawn."""
        self._check_idle("render")
        frame: Array | None = self._batch.render(index)
        return frame

    def save_state(self) -> list[bytes]:
        """Return the state of each environment."""
        self._check_idle("save_state")
        self._check_reset("save_state")
        states: list[bytes] = self._batch.save_state()
        return states

    def restore_state(self, states: Sequence[bytes]) -> Array:
        """Bring each environment to a state, and return what they show."""
        self._check_idle("restore_state")
        obs, memory = self._memory()
        self._ended = np.array(self._batch.restore_state(list(states), memory))
        self._was_reset = True
        return obs

    def close(self) -> None:
        """End the threads."""
        if not self._closed:
            self._closed = True
            self._batch.close()
