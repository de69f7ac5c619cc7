"""A batch beside stepping it: pictures, attributes, saved states, restarts, its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Self, cast

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv

from atari_wrappers.backends.base import Backend
from atari_wrappers.backends.choose import passed_over
from atari_wrappers.errors import UnsupportedAttributeError, UnsupportedError
from atari_wrappers.game.env import AtariGame
from atari_wrappers.ids import PICTURES
from atari_wrappers.recipes import Recipe
from atari_wrappers.recording.tiles import Picture, tile
from atari_wrappers.request import BatchRequest
from atari_wrappers.settings import Settings
from atari_wrappers.types import ResetResult, StepResult
from atari_wrappers.vector.checks import checked_index, checked_indices
from atari_wrappers.vector.lifetime import Access, Lifetime
from atari_wrappers.vector.order import CallOrder


class Batch(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """An open batch of envs, which can be looked into, repaired and closed; `VecEnv` steps it.

    Methods that reach single envs raise `PendingStepError` while a step is pending, `ClosedError`
    after `close`, and `UnsupportedError` if the backend cannot do it (the message names one that
    can) or the envs draw no pictures. An exception of an env there does not close the batch.
    """

    num_envs: int
    batch_size: int
    single_observation_space: gym.Space[Any]
    single_action_space: gym.Space[Any]
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    spec: EnvSpec | None
    metadata: dict[str, Any]
    autoreset_mode: AutoresetMode
    backend: str
    settings: Settings
    recipe: Recipe | None
    has_python_envs: bool
    shares_python_envs: bool
    _backend: Backend
    _lifetime: Lifetime
    _order: CallOrder
    _request: BatchRequest
    _seeds: list[int]
    _access: Access

    def _describe(self) -> None:
        """Say of the batch what its envs say of themselves."""
        if self.has_python_envs:
            [metadata], [mode] = self.get_attr("metadata", 0), self.get_attr("render_mode", 0)
        else:
            metadata, mode = AtariGame.metadata, PICTURES
        self.render_mode = mode if mode == PICTURES else None
        self.autoreset_mode = self.settings.autoreset_mode
        self.metadata = metadata | {"autoreset_mode": self.autoreset_mode}
        if self.recipe is not None:  # a picture for each step, and not for each frame
            self.metadata["render_fps"] = self.recipe.steps_per_second

    def render(self) -> tuple[np.ndarray, ...]:
        """Return what each env shows: uint8 RGB `[height, width, 3]`, 210 by 160 for Atari.

        `ale` keeps no raw frames and returns the newest frame of the observation.
        """
        return tuple(self._frames(None))

    def render_at(self, index: int) -> np.ndarray:
        """Return what one env shows.

        Raises:
            ValueError: No env has this index.
            TypeError: It is no integer.
        """
        return self._frames(checked_index(index, self.num_envs))[0]

    def render_tiles(self) -> Picture:
        """Return one picture of all envs, side by side in rows: uint8 RGB `[height, width, 3]`.

        A notebook displays it.
        """
        return tile(self._frames(None))

    def call(self, name: str, *args: Any, indices: Any = None, **kwargs: Any) -> tuple[Any, ...]:
        """Return each env's attribute `name`, called with the arguments if it is a method.

        Args:
            name: An attribute of the env or of one of its wrappers.
            *args: For the method.
            indices: Which envs, -1 the last one; `None` for all.
            **kwargs: For the method.
        """
        with self._access:
            chosen = self._python_envs(f'call("{name}")', indices)
            return tuple(self._backend.call(chosen, name, args, kwargs))

    def get_attr(self, name: str, indices: Any = None) -> tuple[Any, ...]:
        """Return an attribute of each env."""
        return self.call(name, indices=indices)

    def set_attr(self, name: str, values: Any, indices: Any = None) -> None:
        """Set an attribute of each env on the wrapper that has it, else on the unwrapped env.

        Args:
            name: The attribute's name.
            values: A list or tuple with one value for each env, or one value for all.
            indices: Which envs, -1 the last one; `None` for all.

        Raises:
            ValueError: There are more or fewer values than envs.
        """
        with self._access:
            chosen = self._python_envs(f'set_attr("{name}")', indices)
            if not isinstance(values, list | tuple):
                values = [values] * len(chosen)
            if len(values) != len(chosen):
                raise ValueError(f"{len(values)} values of {name} for {len(chosen)} envs")
            self._backend.set_attr(chosen, name, values)

    def get_sub_environments(self) -> list[Any]:
        """Return each env, or on `async` an object that reaches it in its process."""
        with self._access:
            self._python_envs("get_sub_environments", None)
            return self._backend.sub_environments(self._access)

    @property  # type: ignore[misc]  # gymnasium's can be set
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Each env's random number generator; on `async` a copy of it.

        Raises:
            UnsupportedAttributeError: The random numbers are the emulator's (`ale`, `native`).
        """
        try:
            return self.get_attr("np_random")
        except UnsupportedError as error:
            raise UnsupportedAttributeError(str(error)) from error

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed that each env was last reset with, -1 where it had none."""
        return tuple(self._seeds)

    def save_state(self, indices: Any = None, *, plain: bool = False) -> list[bytes]:
        """Return the whole state of each env: the emulator's and ours.

        After `restore_state` an env replays identically, random numbers included, in this batch or
        in another one of the same id and settings.

        Args:
            indices: Which envs, -1 the last one; `None` for all.
            plain: Allow plain data only, such as the states of Atari games, and no pickles.

        Raises:
            ResetNeededError: There was no reset yet, or none of an env that was restarted.
            UnsupportedError: The envs cannot be saved, or not as plain data.
        """
        with self._access:
            chosen = self._python_envs("save_state", indices)
            self._order.check_was_reset("save_state")
            if plain:
                self._expect_plain_states("save_state", chosen)
            return self._backend.save(chosen)

    def restore_state(
        self, states: Sequence[bytes], indices: Any = None, *, plain: bool = False
    ) -> ResetResult:
        """Bring envs to saved states: all of them, or none where one is refused.

        Args:
            states: What `save_state` returned, one for each env, or one alone. Those of Atari games
                are plain data. Those of other envs are pickles: load only those that you trust.
            indices: Which envs, -1 the last one; `None` for all.
            plain: Allow plain data only, which runs no code, and no pickles.

        Returns:
            obs and info of all envs, as `reset` does.

        Raises:
            UnsupportedError: The states of these envs are not plain data.
            ValueError: There are more or fewer states than envs, or one is of another env or
                version.
            TypeError: `states` is no list.
            ResetNeededError: There was no reset yet.
        """
        with self._access:
            chosen = self._python_envs("restore_state", indices)
            if isinstance(states, bytes):
                states = [states]
            if not isinstance(states, Sequence) or isinstance(states, str):
                raise TypeError(f"states must be a list of bytes, from save_state, not {states!r}")
            if len(states) != len(chosen):
                raise ValueError(f"{len(states)} states for {len(chosen)} envs")
            self._order.check_was_reset("restore_state")
            if plain:
                self._expect_plain_states("restore_state", chosen)
            result = cast("StepResult", self._backend.load(chosen, states))
            self._note(result)
            return result[0], result[4]

    def _note(self, result: StepResult) -> None:
        """Note whose results were received, and what had ended."""
        self._order.note_received(result[4]["env_id"], result[2], result[3])

    def _expect_plain_states(self, call: str, indices: list[int]) -> None:
        """Refuse envs that do not judge states before they take them: theirs may be pickles."""
        if not all(self._backend.call(indices, "has_wrapper_attr", ("check_state",), {})):
            raise UnsupportedError(
                f"{call}: the states of {self} are pickles, which may run code when they are loaded"
            )

    def _python_envs(self, call: str, indices: Any) -> list[int]:
        """Return `indices` as a list, if none of the envs is in flight and they are of Python."""
        chosen = self._idle_indices(call, indices)
        if not self.has_python_envs:
            raise UnsupportedError(
                f'{call}: backend "{self.backend}" cannot reach into its envs, which are C++;'
                ' use backend="native", "sync" or "async"'
            )
        return chosen

    def _frames(self, indices: Any) -> list[np.ndarray]:
        with self._access:
            chosen = self._idle_indices("render", indices)
            if self.render_mode is None:
                raise UnsupportedError(f"render: the envs of {self} have no render mode rgb_array")
            return self._backend.frames(chosen)

    def _idle_indices(self, call: str, indices: Any) -> list[int]:
        """Return `indices` as a list, if none of the envs is in flight."""
        self._order.check_idle(call)
        return checked_indices(indices, self.num_envs, from_end=True)

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """Whether the batch was closed, by its owner or by a failure."""
        return self._lifetime.closed

    @property
    def passed_over(self) -> dict[str, str]:
        """Why `backend="auto"` took none of the faster backends, by their names.

        It is empty if the fastest one runs the batch, or if you named one.
        """
        return passed_over(self._request)

    @property
    def worker_pids(self) -> list[int]:
        """Ids of `async`'s worker processes, in the order of their envs; other backends have none.

        Raises:
            ClosedError: The batch was closed.
        """
        self._lifetime.expect_open()
        return list(self._backend.worker_pids)

    def restart_workers(self, indices: Any = None) -> list[int]:
        """Restart envs that failed, those named or all; `recv` then completes their step.

        Returns:
            The envs that were restarted. All envs of a dead process restart together.

        Raises:
            ClosedError: The batch was closed.
            WorkerError: It failed again.
        """
        with self._access:
            chosen = None if indices is None else checked_indices(indices, self.num_envs)
            return self._lifetime.do(self._backend.restart, chosen)

    def close(self, **kwargs: Any) -> None:
        """Free everything, and give up a pending step; a second call does nothing."""
        del kwargs
        with self._access.lock:  # waits for another thread
            if not self.closed:
                is_busy = self._order.is_interrupted or self._backend.ticket.kind is not None
                self._lifetime.close(is_busy=is_busy)

    def __enter__(self) -> Self:
        """Return the batch, which is closed at the end of the `with` block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the batch."""
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise TypeError(
            f"{self} cannot be copied or pickled; make another one and bring it to the same state"
            " by save_state and restore_state"
        )
