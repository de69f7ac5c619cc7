"""What a batch shows of its envs beside stepping them: pictures, attributes, saved states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from atari_wrappers.backends.base import ResetResult
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.recording.tiles import tile
from atari_wrappers.vector.checks import checked_index, checked_indices
from atari_wrappers.vector.lifetime import Lifetime


class Inspection(Lifetime):
    """Methods of `VecEnv` that look into single envs; none may be called while a step is pending.

    All raise `PendingStepError` then, `ClosedError` after `close`, and `UnsupportedError` where the
    backend cannot do it, which names one that can, or the envs draw no pictures. What an env raises
    in them closes nothing.
    """

    render_mode: str | None
    _ended: np.ndarray

    def render(self) -> tuple[np.ndarray, ...]:
        """Return what each env shows: uint8 RGB `[height, width, 3]`, 210 by 160 for Atari.

        `ale` keeps no raw frames; there it is the newest frame of the observation.
        """
        return tuple(self._frames(None))

    def render_at(self, index: int) -> np.ndarray:
        """Return what one env shows.

        Raises:
            ValueError: No env has this index.
            TypeError: It is no integer.
        """
        return self._frames(checked_index(index, self.num_envs))[0]

    def render_tiles(self) -> np.ndarray:
        """Return one picture of all envs, side by side in rows: uint8 RGB `[height, width, 3]`."""
        return tile(self._frames(None))

    def call(self, name: str, *args: Any, indices: Any = None, **kwargs: Any) -> tuple[Any, ...]:
        """Return each env's attribute `name`, called with the arguments if it is a method.

        Args:
            name: Of an attribute of the env or of one of its wrappers.
            *args: For the method.
            indices: Which envs, -1 the last one; `None` for all.
            **kwargs: For the method.
        """
        chosen = self._idle_indices(f'call("{name}")', indices)
        return tuple(self._ask(self._backend.call, chosen, name, args, kwargs))

    def get_attr(self, name: str, indices: Any = None) -> tuple[Any, ...]:
        """Return an attribute of each env."""
        return self.call(name, indices=indices)

    def set_attr(self, name: str, values: Any, indices: Any = None) -> None:
        """Set an attribute of each env.

        Args:
            name: Of the attribute.
            values: A list or tuple with one for each env, or one value for all.
            indices: Which envs, -1 the last one; `None` for all.

        Raises:
            ValueError: There are more or fewer values than envs.
        """
        chosen = self._idle_indices(f'set_attr("{name}")', indices)
        if not isinstance(values, list | tuple):
            values = [values] * len(chosen)
        if len(values) != len(chosen):
            raise ValueError(f"{len(values)} values of {name} for {len(chosen)} envs")
        self._ask(self._backend.set_attr, chosen, name, values)

    def get_sub_environments(self) -> list[Any]:
        """Return what stands for each env: itself, or (`async`) what reaches it in its process."""
        self._idle_indices("get_sub_environments", None)
        return self._ask(self._backend.sub_environments)

    def save_state(self, indices: Any = None) -> list[bytes]:
        """Return the whole state of each env: the emulator's and ours.

        An env that is brought back to it by `restore_state` replays identically, random numbers
        included, in this batch or in another one of the same id and settings.

        Args:
            indices: Which envs, -1 the last one; `None` for all.
        """
        return self._ask(self._backend.save, self._idle_indices("save_state", indices))

    def restore_state(self, states: Sequence[bytes], indices: Any = None) -> ResetResult:
        """Bring envs to saved states.

        Args:
            states: What `save_state` returned, one for each env, or one alone. They are pickles:
                only take them from where you trust.
            indices: Which envs, -1 the last one; `None` for all.

        Returns:
            obs and info of all envs, as `reset` does.

        Raises:
            ValueError: Their number is not that of the envs, or they are of other envs.
            ResetNeededError: There was no reset yet.
        """
        chosen = self._idle_indices("restore_state", indices)
        if isinstance(states, bytes):
            states = [states]
        if len(states) != len(chosen):
            raise ValueError(f"{len(states)} states for {len(chosen)} envs")
        self._pending.check_was_reset("restore_state")
        self._ask(self._backend.load, chosen, states)
        obs, _, terminated, truncated, info = self._ask(self._backend.current, None)
        self._ended = terminated | truncated
        self._pending.turn = None
        return obs, info

    def _frames(self, indices: Any) -> list[np.ndarray]:
        chosen = self._idle_indices("render", indices)
        if self.render_mode is None:
            raise UnsupportedError(f"render: the envs of {self} have no render mode rgb_array")
        return self._ask(self._backend.frames, chosen)

    def _idle_indices(self, call: str, indices: Any) -> list[int]:
        self._expect_open()
        self._pending.check_idle(call)
        return checked_indices(indices, self.num_envs, from_end=True)
