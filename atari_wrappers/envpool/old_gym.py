"""EnvPool's forms with gym before 0.26, for scripts that were written for them.

    from atari_wrappers.envpool import old_gym as envpool

A reset returns obs alone, unless `gym_reset_return_info=True`; a step obs, reward, done and info,
which has `TimeLimit.truncated`. All else is as in `atari_wrappers.envpool`.
"""

from __future__ import annotations

from typing import Any, Literal, Unpack

from atari_wrappers.checks import check_choice
from atari_wrappers.envpool.config import ConfigKeywords, list_all_envs
from atari_wrappers.envpool.gymnasium_pool import GymnasiumEnvPool, StepInfo
from atari_wrappers.envpool.pool import State
from atari_wrappers.envpool.spec import EnvSpec, make_spec

__all__ = ["GymEnvPool", "list_all_envs", "make", "make_gym", "make_spec"]


class GymEnvPool(GymnasiumEnvPool):
    """A pool whose results are gym's before 0.26; `done` is `terminated | truncated`."""

    def __init__(self, spec: EnvSpec, *, return_info: bool = False) -> None:
        super().__init__(spec)
        self._return_info = return_info

    def _info(self, state: State) -> StepInfo:
        info = StepInfo(state, self._pool)
        info["TimeLimit.truncated"] = state.truncated
        return info

    def _reset_form(self, state: State) -> Any:
        return (state.obs, self._info(state)) if self._return_info else state.obs

    def _step_form(self, state: State) -> Any:
        done = state.terminated | state.truncated
        return state.obs, state.reward, done, self._info(state)


def make(
    task_id: str, env_type: Literal["gym"] = "gym", **settings: Unpack[ConfigKeywords]
) -> GymEnvPool:
    """Make a pool; ids, settings and errors are those of `atari_wrappers.envpool.make`."""
    check_choice("env_type", env_type, ("gym",))
    return_info = settings.pop("gym_reset_return_info", False)
    return GymEnvPool(make_spec(task_id, **settings), return_info=return_info)


def make_gym(task_id: str, **settings: Unpack[ConfigKeywords]) -> GymEnvPool:
    """Do what `make` does."""
    return make(task_id, **settings)
