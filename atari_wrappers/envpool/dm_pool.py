"""A pool with dm_env's interface, in EnvPool's API."""

from __future__ import annotations

from typing import Any

import numpy as np

from atari_wrappers.envpool.base import EnvPoolMixin
from atari_wrappers.envpool.dm_specs import Observation, Players, dm_env, specs
from atari_wrappers.envpool.pool import State
from atari_wrappers.envpool.spec import EnvSpec


class DMEnvPool(EnvPoolMixin, dm_env.Environment):  # type: ignore[misc]
    """A pool whose results are time steps with a row for each env.

    `step_type` int32 (0 first, 1 mid, 2 last), `reward` and `discount` float32. The discount is 0
    where an episode ends, truncated ones too, and with `zero_discount_on_life_loss` where a life is
    lost.
    """

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._begins = np.ones(len(self), bool)
        self._lives = np.zeros(len(self), np.int32)
        self._zero_on_loss = spec.config.zero_discount_on_life_loss

    def reset(self, env_id: Any = None) -> dm_env.TimeStep:
        """Restart envs with new games."""
        state = self._pool.reset(env_id)
        self._begins[slice(None) if env_id is None else env_id] = True
        return self._time_step(state)

    def async_reset(self) -> None:
        """Begin to restart every env; `recv` waits for it."""
        super().async_reset()
        self._begins[:] = True

    def recv(self, reset: bool = False, return_info: bool = True) -> dm_env.TimeStep:
        """Wait for the envs that were begun, or for the first `batch_size` of them."""
        del reset, return_info
        return self._time_step(self._pool.recv())

    def step(self, action: Any, env_id: Any = None) -> dm_env.TimeStep:
        """Do `send`, then `recv`."""
        self.send(action, env_id)
        return self.recv()

    def _time_step(self, state: State) -> dm_env.TimeStep:
        ids = state.env_id
        ended, begins = state.terminated | state.truncated, self._begins[ids]
        step_type = np.where(ended, 2, np.where(begins, 0, 1)).astype(np.int32)
        zero = ended
        if self._zero_on_loss:
            zero = ended | (~begins & (state.lives < self._lives[ids]))
        self._begins[ids], self._lives[ids] = ended, state.lives
        return dm_env.TimeStep(
            step_type=step_type,
            reward=state.reward,
            discount=np.where(zero, 0, 1).astype(np.float32),
            observation=Observation(
                ids, Players(ids), state.obs, state.lives, state.raw_reward, state.game_over
            ),
        )

    def action_spec(self) -> specs.DiscreteArray:
        """Return what an env takes."""
        return self.spec.action_spec()

    def observation_spec(self) -> Observation:
        """Return what an env shows."""
        shown: Observation = self.spec.observation_spec()
        return shown
