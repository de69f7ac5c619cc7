"""Gymnasium's own vector envs over our single-env pipeline: `sync` and `async`.

Running the envs is gymnasium's; here its infos become `VecEnv`'s, and worker processes are kept
from hanging, from being orphaned and from hearing the terminal's Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from dataclasses import dataclass
from typing import Any

import cv2
import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from atari_wrappers.backends.base import Info, ResetResult, StepResult
from atari_wrappers.errors import UnsupportedError, WorkerError
from atari_wrappers.ids import EnvId
from atari_wrappers.pipeline import make_env
from atari_wrappers.settings import Settings

_ARRAY_SPACES = (
    gym.spaces.Box,
    gym.spaces.Discrete,
    gym.spaces.MultiBinary,
    gym.spaces.MultiDiscrete,
)


@dataclass(frozen=True)
class EnvMaker:
    """Make the env of one place in the batch; carried to its worker by pickle."""

    env_id: str
    settings: Settings
    env_index: int

    def __call__(self) -> gym.Env:
        """Make it."""
        return make_env(self.env_id, self.settings, self.env_index)


@dataclass(frozen=True)
class WorkerEnvMaker(EnvMaker):
    """The same in a process of its own."""

    host_pid: int

    def __call__(self) -> gym.Env:
        """Make it; in the worker, prepare the process too. Gymnasium also calls it in the host."""
        if os.getpid() != self.host_pid:
            # The terminal sends Ctrl-C to workers as well. The host decides when they end.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            cv2.setNumThreads(1)
        return CarriableErrors(super().__call__())


class CarriableErrors(gym.Wrapper[Any, Any, Any, Any]):
    """Raise a `WorkerError` in place of what pickle cannot carry to the host.

    Gymnasium's host waits for ever for an error that got lost on the way.
    """

    def step(self, action: Any) -> Any:
        """Step."""
        with _carriable():
            return self.env.step(action)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset."""
        with _carriable():
            return self.env.reset(seed=seed, options=options)


@contextlib.contextmanager
def _carriable() -> Any:
    try:
        yield
    except Exception as error:
        try:
            # Gymnasium's host raises `type(error)(error)`.
            type(pickle.loads(pickle.dumps(error)))(error)
        except Exception:
            raise WorkerError(f"{type(error).__qualname__}: {error}") from error
        raise


class SyncBackend:
    """`SyncVectorEnv`: the envs step one after the other in `recv`."""

    def __init__(self, env_id: EnvId, num_envs: int, settings: Settings) -> None:
        makers = [EnvMaker(env_id.name, settings, index) for index in range(num_envs)]
        self._env = SyncVectorEnv(makers, copy=False, autoreset_mode=settings.autoreset_mode)
        self._infos = InfoReader(self._env, env_id)
        self.single_observation_space = self._env.single_observation_space
        self.single_action_space = self._env.single_action_space

    def reset(self, seeds: list[int] | None, options: dict[str, Any]) -> ResetResult:
        """Restart the envs."""
        obs, infos = self._env.reset(seed=seeds, options=options)
        return np.array(obs), self._infos.of_reset(infos)

    def send(self, actions: np.ndarray) -> None:
        """Keep the actions for `recv`."""
        self._actions = actions

    def recv(self) -> StepResult:
        """Step the envs."""
        return self._infos.of_step(self._env.step(self._actions))

    def close(self, *, terminate: bool) -> None:
        """Close the envs."""
        del terminate  # nothing runs between calls
        self._env.close()


class AsyncBackend:
    """`AsyncVectorEnv`: one process per env, started by spawn or forkserver."""

    def __init__(self, env_id: EnvId, num_envs: int, settings: Settings) -> None:
        makers = [
            WorkerEnvMaker(env_id.name, settings, index, os.getpid()) for index in range(num_envs)
        ]
        # Made and initialised apart, so that workers of a failed start can be found and ended.
        self._env = AsyncVectorEnv.__new__(AsyncVectorEnv)
        try:
            self._env.__init__(
                makers, copy=False, context=settings.context, autoreset_mode=settings.autoreset_mode
            )
            self._infos = InfoReader(self._env, env_id)
        except BaseException as error:
            self.close(terminate=True)
            if isinstance(error, EOFError | OSError):
                raise self._worker_error() from error
            raise
        self.single_observation_space = self._env.single_observation_space
        self.single_action_space = self._env.single_action_space

    def reset(self, seeds: list[int] | None, options: dict[str, Any]) -> ResetResult:
        """Restart the envs."""
        with self._worker_errors():
            obs, infos = self._env.reset(seed=seeds, options=options)
        return np.array(obs), self._infos.of_reset(infos)

    def send(self, actions: np.ndarray) -> None:
        """Send each worker its action."""
        with self._worker_errors():
            self._env.step_async(actions)

    def recv(self) -> StepResult:
        """Wait for the workers."""
        with self._worker_errors():
            result = self._env.step_wait()
        return self._infos.of_step(result)

    def close(self, *, terminate: bool) -> None:
        """End the workers: asked first, unless `terminate`, and then made to."""
        if not terminate:
            with contextlib.suppress(OSError, EOFError):  # a worker that died has no pipe
                self._env.close()
        self._env.closed = True  # or its destructor would do the same again
        processes = getattr(self._env, "processes", [])
        for process in processes:
            if process.is_alive():
                process.terminate()
        for process in processes:
            process.join(timeout=5)
            if process.exitcode is None:
                process.kill()
                process.join()
        for pipe in getattr(self._env, "parent_pipes", []):
            if pipe is not None:
                pipe.close()

    @contextlib.contextmanager
    def _worker_errors(self) -> Any:
        try:
            yield
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            raise self._worker_error() from error

    def _worker_error(self) -> WorkerError:
        for process in self._env.processes:
            process.join(timeout=0.2)
        ended = {
            index: process.exitcode
            for index, process in enumerate(self._env.processes)
            if process.exitcode is not None
        }
        return WorkerError(f"the workers of these envs died, with these exit codes: {ended}")


class InfoReader:
    """Turns gymnasium's infos, filled row by row where an env had the key, into `VecEnv`'s."""

    def __init__(self, env: SyncVectorEnv | AsyncVectorEnv, env_id: EnvId) -> None:
        space = env.single_observation_space
        if not isinstance(space, _ARRAY_SPACES):
            raise UnsupportedError(
                f"`{env_id.name}` observes {space}, which is no array; register it with"
                " gymnasium.wrappers.FlattenObservation"
            )
        self._num_envs = env.num_envs
        self._lives = np.zeros(env.num_envs, np.int32)

    def of_reset(self, infos: Info) -> Info:
        """Return the info of a reset."""
        raw_reward = np.zeros(self._num_envs, np.float32)
        info: Info = {"raw_reward": raw_reward, "lives": self._updated_lives(infos)}
        self._add_episode(info, infos)
        return info

    def of_step(self, result: StepResult) -> StepResult:
        """Return a step's result with dtypes and info as promised, in arrays of its own."""
        obs, reward, terminated, truncated, infos = result
        last = infos.get("final_info", {})
        raw_reward = np.zeros(self._num_envs, np.float32)
        for source in (infos, last):
            _copy_rows(source, "raw_reward", raw_reward)
        info: Info = {"raw_reward": raw_reward, "lives": self._updated_lives(infos)}
        # A game ended in the step, or in the reset that should have continued it (see
        # EpisodeRecord); a reset of the same step has its info beside `final_info`.
        self._add_episode(info, infos, last)
        if "final_obs" in infos:
            mask = infos["_final_obs"]
            final_obs = np.zeros_like(obs)
            for index in np.flatnonzero(mask):
                final_obs[index] = infos["final_obs"][index]
            info["final_obs"], info["_final_obs"] = final_obs, mask
        return np.array(obs), reward.astype(np.float32), terminated, truncated, info

    def _updated_lives(self, infos: Info) -> np.ndarray:
        _copy_rows(infos, "lives", self._lives)
        return self._lives.copy()

    def _add_episode(self, info: Info, *sources: Info) -> None:
        ended = [source for source in sources if "episode" in source]
        if not ended:
            return
        dtypes = {"r": np.float64, "l": np.int64, "frames": np.int64}
        record = {key: np.zeros(self._num_envs, dtype) for key, dtype in dtypes.items()}
        for source in ended:
            for key, rows in record.items():
                _copy_rows(source["episode"], key, rows)
        info["episode"] = record
        info["_episode"] = np.logical_or.reduce([source["_episode"] for source in ended])


def _copy_rows(source: Info, key: str, rows: np.ndarray) -> None:
    if key in source:
        mask = source[f"_{key}"]
        rows[mask] = source[key][mask]
