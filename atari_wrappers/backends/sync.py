"""The `sync` backend: envs stepped one after the other in this thread, while one waits for them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from atari_wrappers.backends.base import EnvReset, Indices, Info, Out, Seeds
from atari_wrappers.backends.env_runner import EnvRunner
from atari_wrappers.backends.python_envs import PythonEnvsBackend
from atari_wrappers.backends.restarts import BEING_MADE, EnvFailure, describe, summary
from atari_wrappers.backends.results import ObsArrays, ResultArrays
from atari_wrappers.request import BatchRequest
from atari_wrappers.single_env import build_env


class SyncBackend(PythonEnvsBackend):
    """Envs of this process; nothing happens between calls."""

    name = "sync"
    runs_in_process = shares_python_envs = True
    own_settings: ClassVar[tuple[str, ...]] = ("on_worker_failure",)

    def __init__(self, request: BatchRequest) -> None:
        super().__init__(request)
        num_envs, settings = request.num_envs, request.settings
        with contextlib.ExitStack() as made:  # closes what was made, if the rest cannot be
            envs = [
                made.enter_context(build_env(request.of(index), index)) for index in range(num_envs)
            ]
            spaces = [(env.observation_space, env.action_space) for env in envs]
            self._take_spaces(dict(enumerate(spaces)))
            made.pop_all()
        space, self._mode = self.single_observation_space, settings.autoreset_mode
        self.rows: ResultArrays = ResultArrays.of_this_process(
            num_envs, space, settings.num_players
        )
        num_rows = settings.batch_size or num_envs
        self._obs_arrays = ObsArrays(settings.obs_buffers, num_rows, space)
        self._runners = [
            EnvRunner(env, self.rows, index, self._mode) for index, env in enumerate(envs)
        ]

    def begin_reset(self, indices: Sequence[int], seeds: Seeds, options: Info) -> dict[int, Any]:
        """Have the envs restart when they are waited for."""
        asked = {}
        for index, seed in zip(indices, seeds, strict=True):
            self.restarts.note_seed(index, seed)
            asked[index] = EnvReset(seed, dict(options))  # which an env may keep
        return asked

    def begin_step(self, actions: np.ndarray, indices: Indices) -> dict[int, Any]:
        """Have the envs step when they are waited for."""
        return dict(zip(indices or self._all, actions, strict=True))

    def wait(self, count: int, timeout: float | None) -> None:
        """Run envs in the order begun; `timeout` cannot stop one of this thread."""
        del timeout
        ticket, restarts = self.ticket, self.restarts
        todo = list(ticket.asked)
        while len(ticket.ready) < count:
            index = todo[len(ticket.ready)]
            asked = ticket.asked[index]
            if index in restarts.failed:
                raise restarts.error()
            runner, is_reset = self._runners[index], isinstance(asked, EnvReset)
            try:
                extras = runner.reset(*asked) if is_reset else runner.step(asked)
            except Exception as error:
                self._note_failure(
                    index, describe(asked, asked, self.rows, index, self._mode), error
                )
                restarts.retry_or_raise([index])
                self.restart([index])
            else:
                restarts.retried.discard(index)
                ticket.ready.append(index)
                if extras:
                    self.extras[index] = extras

    def recover(self) -> None:
        """Give up what was not run; the env that was interrupted is where that left it."""
        self.ticket.clear()
        self.extras.clear()

    def observations(self, indices: Indices, out: Out) -> np.ndarray:
        chosen = self._all if indices is None else indices
        obs = self._obs_arrays.take(len(chosen), out)
        for row, index in enumerate(chosen):
            obs[row] = self._runners[index].obs
        return obs

    def restart(self, indices: Indices) -> list[int]:
        chosen = sorted(self.failed if indices is None else indices)
        for index in chosen:
            runner = self._runners[index]
            with contextlib.suppress(Exception):  # it failed before
                runner.env.close()
            try:
                env = build_env(self.request.of(index), index)
            except Exception as error:
                self._note_failure(index, BEING_MADE, error)
                raise self.restarts.error() from error
            runner.replace(env, self.restarts.new_seed(index))
            self.restarts.failed.pop(index, None)
        return chosen

    def _note_failure(self, index: int, doing: str, error: Exception) -> None:
        text = f"env {index} raised {summary(error)} in {doing}"
        self.restarts.failed[index] = EnvFailure(text, doing, cause=error)

    def ask(
        self, method: str, doing: str, requests: dict[int, tuple[Any, ...]], sent: str = ""
    ) -> list[Any]:
        del doing, sent
        return [
            getattr(self._runners[index], method)(*arguments)
            for index, arguments in requests.items()
        ]

    def sub_environments(self, access: contextlib.AbstractContextManager[None]) -> list[Any]:
        """Return the envs themselves."""
        del access
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
