"""The `sync` backend: envs stepped one after the other in this thread, while one waits for them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from atari_wrappers.backends.env_runner import EnvRunner, get_or_call, set_attr
from atari_wrappers.backends.python_envs import PythonEnvsBackend
from atari_wrappers.backends.restarts import (
    BEING_MADE,
    REMEDY,
    RestartSeeds,
    describe_reset,
    describe_step,
    log_restart,
    summary,
)
from atari_wrappers.backends.results import ObsArrays, ResultArrays
from atari_wrappers.backends.ticket import EnvReset
from atari_wrappers.errors import WorkerError
from atari_wrappers.request import BatchRequest
from atari_wrappers.single_env import build_env


class SyncBackend(PythonEnvsBackend):
    """Envs of this process; nothing happens between calls."""

    name = "sync"
    runs_in_process = shares_python_envs = True
    own_settings = ("on_worker_failure",)
    worker_pids: Sequence[int] = ()

    def __init__(self, request: BatchRequest) -> None:
        num_envs, settings = request.num_envs, request.settings
        super().__init__(num_envs, settings)
        self._request = request
        with contextlib.ExitStack() as made:  # closes what was made, if the rest cannot be
            envs = [
                made.enter_context(build_env(request.of(index), index)) for index in range(num_envs)
            ]
            self.single_observation_space = envs[0].observation_space
            self.single_action_space = envs[0].action_space
            self.expect_arrays(request.env_id.name)
            for index, env in enumerate(envs):
                self.expect_same_spaces(request, index, env.observation_space, env.action_space)
            made.pop_all()
        space = self.single_observation_space
        self.rows = ResultArrays(num_envs, space, settings.num_players, num_buffers=0)
        num_rows = settings.batch_size or num_envs
        self._obs_arrays = ObsArrays(settings.obs_buffers, num_rows, space)
        mode = settings.autoreset_mode
        self._runners = [EnvRunner(env, self.rows, index, mode) for index, env in enumerate(envs)]
        self.failed: dict[int, WorkerError] = {}
        self._retried: set[int] = set()
        self._seeds = RestartSeeds(num_envs)

    def begin_reset(
        self, indices: Sequence[int], seeds: Sequence[int | None], options: dict[str, Any]
    ) -> dict[int, Any]:
        """Have the envs restart when they are waited for."""
        for index, seed in zip(indices, seeds, strict=True):
            self._seeds.note(index, seed)
        pairs = zip(indices, seeds, strict=True)
        return {index: EnvReset(seed, dict(options)) for index, seed in pairs}  # an env may take it

    def begin_step(self, actions: np.ndarray, indices: Sequence[int] | None) -> dict[int, Any]:
        """Have the envs step when they are waited for."""
        return dict(zip(indices or self._all, actions, strict=True))

    def wait(self, count: int, timeout: float | None) -> None:
        """Run envs in the order begun; `timeout` cannot stop one of this thread."""
        del timeout
        ticket = self.ticket
        todo = list(ticket.asked)
        while len(ticket.ready) < count:
            index = todo[len(ticket.ready)]
            if index in self.failed:
                raise self.failed[index]
            try:
                self._run(index, ticket.asked[index])
            except Exception as error:
                self._note_failure(index, self._describe(index, ticket.asked[index]), error)
                self._restart_or_raise(index)
            else:
                self._retried.discard(index)
                ticket.ready.append(index)

    def recover(self) -> None:
        """Give up what was not run; the env that was interrupted is where that left it."""
        self.ticket.clear()
        self.extras.clear()

    def observations(self, indices: Sequence[int] | None, out: np.ndarray | None) -> np.ndarray:
        """Return what envs (`None`: all) observed last, in `out` if that is given."""
        chosen = self._all if indices is None else indices
        obs = self._obs_arrays.take(len(chosen), out)
        for row, index in enumerate(chosen):
            obs[row] = self._runners[index].obs
        return obs

    def restart(self, indices: Sequence[int] | None) -> list[int]:
        """Make failed envs anew."""
        chosen = sorted(self.failed if indices is None else indices)
        for index in chosen:
            runner = self._runners[index]
            with contextlib.suppress(Exception):  # it failed before
                runner.env.close()
            try:
                env = build_env(self._request.of(index), index)
            except Exception as error:
                self._note_failure(index, BEING_MADE, error)
                raise self.failed[index] from error
            runner.replace(env, self._seeds.of_restart(index))
            self.failed.pop(index, None)
        return chosen

    def _run(self, index: int, asked: Any) -> None:
        runner = self._runners[index]
        is_reset = isinstance(asked, EnvReset)
        extras = runner.reset(*asked) if is_reset else runner.step(asked)
        if extras:
            self.extras[index] = extras

    def _describe(self, index: int, asked: Any) -> str:
        if isinstance(asked, EnvReset):
            return describe_reset(asked.seed)
        return describe_step(self.rows, index, self.settings.autoreset_mode, asked)

    def _note_failure(self, index: int, doing: str, error: Exception) -> None:
        text = f"env {index} raised {summary(error)} in {doing}"
        self.failed[index] = WorkerError(text, [index], doing, remedy=REMEDY)
        self.failed[index].__cause__ = error

    def _restart_or_raise(self, index: int) -> None:
        """Make a failed env anew where that is set, once for each step; else raise."""
        if self.settings.on_worker_failure == "raise" or index in self._retried:
            raise self.failed[index]
        log_restart(self.failed[index])
        self._retried.add(index)
        self.restart([index])

    def call(
        self, indices: Sequence[int], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """Get or call an attribute of each env."""
        return [get_or_call(self._runners[index].env, name, args, kwargs) for index in indices]

    def set_attr(self, indices: Sequence[int], name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each env, where it is found; a new one on the env itself."""
        for index, value in zip(indices, values, strict=True):
            set_attr(self._runners[index].env, name, value)

    def save(self, indices: Sequence[int]) -> list[bytes]:
        """Return the state of each env."""
        return [self._runners[index].save() for index in indices]

    def check_states(self, indices: Sequence[int], states: Sequence[bytes]) -> None:
        """Refuse states that are not of these envs."""
        for index, state in zip(indices, states, strict=True):
            self._runners[index].check_state(state)

    def load_states(self, indices: Sequence[int], states: Sequence[bytes]) -> None:
        """Bring envs into saved states."""
        for index, state in zip(indices, states, strict=True):
            self._runners[index].load(state)

    def sub_environments(self) -> list[Any]:
        """Return the envs themselves."""
        return [runner.env for runner in self._runners]

    def after_fork(self) -> bool:
        """Keep the envs: the child has its own copies."""
        return False

    def close(self, *, terminate: bool) -> None:
        """Close the envs, all of them even if one raises."""
        del terminate  # nothing runs between calls
        with contextlib.ExitStack() as stack:
            for runner in reversed(self._runners):
                stack.callback(runner.env.close)
