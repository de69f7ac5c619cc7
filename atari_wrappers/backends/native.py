"""The `native` backend: games of `atari_core`, emulated in Rust by threads of this process.

Observations are written by those threads, once, to the array that is handed out. The module is
optional: `game.native` says what keeps a game from being played on it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np

from atari_wrappers.backends.base import Backend, Indices, Info, Out, Seeds, StepResult
from atari_wrappers.backends.env_runner import get_or_call, set_attr
from atari_wrappers.backends.python_envs import expect_same_spaces
from atari_wrappers.backends.results import ObsArrays, add_final, add_games
from atari_wrappers.game.env import NEW_GAME
from atari_wrappers.game.native import NativeView, native_spaces, obstacles, open_core
from atari_wrappers.recording.recorder import Recorder, make_recorder
from atari_wrappers.request import BatchRequest

if TYPE_CHECKING:
    from atari_core import AtariVecEnv


def obstacles_to_native(request: BatchRequest) -> Iterator[str]:
    """Name what is in the way: each setting or game, and why."""
    if request.settings.wrappers:
        yield "wrappers: its envs are stepped in Rust"
    yield from dict.fromkeys(problem for env in request.envs for problem in obstacles(env))
    recipes = [env.recipe for env in request.envs]
    if any(recipe != recipes[0] for recipe in recipes):
        yield "ids that differ in more than the game: it has one recipe for all"


class NativeBackend(Backend):
    """`atari_core.AtariVecEnv`.

    Steps have their destination before emulation starts. Of parts of a batch it is not known which
    come first: whoever is ready takes the next row.
    """

    name = "native"
    own_settings: ClassVar[tuple[str, ...]] = ("num_threads",)
    runs_in_process = shows_raw_frames = takes_reset_options = True
    has_python_envs = shares_python_envs = True
    obstacles = staticmethod(obstacles_to_native)

    def __init__(self, request: BatchRequest) -> None:
        num_envs, settings = request.num_envs, request.settings
        spaces = native_spaces(request.envs[0])
        self.single_observation_space: gym.Space[Any] = spaces[0]
        self.single_action_space: gym.Space[Any] = spaces[1]
        for index, env in enumerate(request.envs[1:], 1):
            expect_same_spaces(request, index, native_spaces(env), spaces)
        self._core = open_core(
            request.envs, num_envs, str(settings.autoreset), settings.num_threads
        )
        self._recorders: dict[int, Recorder] = {}
        self._is_filmed = settings.img_dir is not None or settings.video_dir is not None
        self._views: list[NativeView] = []
        for index in range(num_envs):
            recorder = make_recorder(settings, index)
            on_frame = None if recorder is None else recorder.on_frame
            view = NativeView(self._core, index, request.of(index), spaces, index, on_frame)
            self._views.append(view)
            if recorder is not None:
                recorder.watch(view)
                self._recorders[index] = recorder
        self._num_envs, self._all = num_envs, list(range(num_envs))
        self._batch_size = settings.batch_size or num_envs
        self._is_whole = self._batch_size == num_envs
        self._obs_arrays = ObsArrays(
            settings.obs_buffers, self._batch_size, self.single_observation_space
        )

    def reset(self, indices: Indices, seeds: Seeds | None, options: Info, out: Out) -> None:
        chosen = self._all if indices is None else indices
        seeds = seeds or [None] * len(chosen)
        self._core.begin_reset(chosen, seeds, bool(options.get(NEW_GAME)))
        self._core.out = out

    def send(self, actions: np.ndarray, indices: Indices, out: Out) -> None:
        core = self._core
        if indices is None and self._is_whole:
            core.send(actions, self._obs_arrays.take(self._num_envs, out))
        else:
            core.begin_step(actions, self._all if indices is None else list(indices))
            if core.obs is None and self._batch_size <= core.count and not self._is_whole:
                core.offer(self._obs_arrays.take(self._batch_size, out))
        if out is not None:
            core.out = out

    def recv(
        self, count: int, out: Out, timeout: float | None, *, every: bool = False
    ) -> StepResult:
        """Wait for envs, however long; the GIL is free meanwhile."""
        del timeout  # a step ends by itself within milliseconds
        core = self._core
        out = core.out if out is None else out
        obs = core.obs
        if obs is None:
            received = core.receive(count)
            indices, took_part = received, None
            if every:
                indices, took_part = self._all, [False] * self._num_envs
                for index in received:
                    took_part[index] = True
            obs = self._obs_arrays.take(len(indices), out)
            results = core.read(indices, obs, took_part)
        else:
            if self._is_whole:
                results, received = core.recv(), self._all
            else:
                received = core.receive(count)
                results = core.read(received)
            if out is not None and out is not obs:  # said too late
                np.copyto(out, obs)
                obs = out
        if self._is_filmed:
            self._play_films(received)
        return _step_result(obs, results)

    def _play_films(self, indices: Sequence[int]) -> None:
        """Let the recorders see what was filmed; the core films each env, recorded or not."""
        for index in indices:
            if index in self._recorders:
                self._views[index].play_film(self._recorders[index].after_step)
            else:
                self._core.take_film(index)

    def recover(self) -> None:
        """Wait for the threads, which are done within milliseconds."""
        self._core.drain()

    @property
    def ticket(self) -> AtariVecEnv:
        """The core, which has what is in flight, and where it goes."""
        return self._core

    def frames(self, indices: Sequence[int]) -> list[np.ndarray]:
        return [self._views[index].render() for index in indices]

    def call(
        self, indices: Sequence[int], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        return [get_or_call(self._views[index], name, args, kwargs) for index in indices]

    def set_attr(self, indices: Sequence[int], name: str, values: Sequence[Any]) -> None:
        for index, value in zip(indices, values, strict=True):
            set_attr(self._views[index], name, value)

    def save(self, indices: Sequence[int]) -> list[bytes]:
        return [self._views[index].save_state() for index in indices]

    def load(self, indices: Sequence[int], states: Sequence[bytes]) -> StepResult:
        """Bring envs into saved states: all of them, or none where one does not fit."""
        checked = []
        for index, state in zip(indices, states, strict=True):
            try:
                checked.append(self._views[index].check_state(state))
            except ValueError as error:
                raise ValueError(f"env {index}: {error}") from error
        self._core.restore_states(list(indices), checked)
        obs = self._obs_arrays.take(self._num_envs, None)
        return _step_result(obs, self._core.read(self._all, obs, [False] * self._num_envs))

    def sub_environments(self, access: AbstractContextManager[None]) -> list[Any]:
        """Return the views."""
        del access
        return list(self._views)

    def after_fork(self) -> bool:
        """Leak the batch: freeing it would wait for threads that the parent has."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._core))
        return True

    def close(self, *, terminate: bool) -> None:
        """End the games that are recorded, and the threads."""
        del terminate
        with ExitStack() as stack:
            stack.callback(self._core.close)
            for recorder in self._recorders.values():
                stack.callback(recorder.close)


def _step_result(obs: np.ndarray, results: Any) -> StepResult:
    reward, terminated, truncated, info, games, final = results
    if games is not None:
        add_games(info, games)
    if final is not None:
        add_final(info, *final)
    return obs, reward, terminated, truncated, info
