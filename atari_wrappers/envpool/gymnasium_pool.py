"""A pool with gymnasium's interface, in EnvPool's API."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from atari_wrappers.envpool.base import EnvPoolMixin
from atari_wrappers.envpool.pool import Pool, State
from atari_wrappers.envpool.spec import EnvSpec
from atari_wrappers.errors import warn
from atari_wrappers.vector.checks import checked_mask

Reset = tuple[NDArray[np.uint8], dict[str, Any]]
Step = tuple[
    NDArray[np.uint8], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
]


class StepInfo(dict[str, Any]):
    """What a step says beside, each an array with a row for each env of `env_id`.

    `env_id` int32; `players`, a dict of the same; `lives` int32; `reward` float32, not clipped;
    `terminated` int32, 1 where a game ended, which a lost life does not; `elapsed_step` int32, the
    agent's steps since the game began. And `ram`, uint8 `[n, 128]`, which is read when it is asked
    for: before the next step, and while no env is on its way.
    """

    def __init__(self, state: State, pool: Pool) -> None:
        super().__init__(
            env_id=state.env_id,
            players={"env_id": state.env_id},
            lives=state.lives,
            reward=state.raw_reward,
            terminated=state.game_over,
            elapsed_step=state.elapsed_step,
        )
        self._pool, self._when = pool, pool.num_received

    def __missing__(self, name: str) -> Any:
        if name != "ram":
            raise KeyError(name)
        if self._pool.num_received != self._when:
            raise KeyError("ram: read it before the next step; the consoles have gone on since")
        self["ram"] = ram = self._pool.ram(self["env_id"])
        return ram

    def __contains__(self, name: object) -> bool:
        return name == "ram" or super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dict, which has `ram`."""
        return self[name] if name == "ram" else super().get(name, default)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let copies be plain dicts, with `ram` if it can still be read."""
        with suppress(KeyError, RuntimeError):
            self["ram"]
        return dict, (dict(self),)


class GymnasiumEnvPool(EnvPoolMixin, VectorEnv[Any, Any, Any], gym.Env[Any, Any]):  # type: ignore[misc]
    """A pool whose results are gymnasium's.

    A reset returns obs, uint8 `[n, stack_num, height, width]`, and info; a step obs, reward float32
    `[n]`, terminated and truncated bool `[n]`, and info, which `StepInfo` documents. Spaces are
    those of one env, as EnvPool has them.
    """

    render_mode: str | None
    observation_space: gym.Space[Any]
    single_observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    single_action_space: gym.Space[Any]
    metadata: dict[str, Any] = {  # noqa: RUF012 - gymnasium's
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    # What wrappers of old gym ask for.
    is_vector_env = True

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self.render_mode = spec.render_mode
        self.observation_space = self.single_observation_space = spec.observation_space
        self.action_space = self.single_action_space = self._pool.envs.single_action_space

    def reset(
        self, env_id: Any = None, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> Reset:
        """Restart envs with new games.

        Args:
            env_id: Which; the results are in this order.
            seed: Not read, as in EnvPool, and a warning says so.
            options: `{"reset_mask": bool [num_envs]}` in place of `env_id`.

        Raises:
            ValueError: There are other options, or env ids too; or the mask does not fit.
        """
        if seed is not None:
            warn("reset(seed=...) does nothing: give seeds to envpool.make(..., seed=seed)")
        others = (options or {}).keys() - {"reset_mask"}
        mask = (options or {}).get("reset_mask")
        if others or (mask is not None and env_id is not None):
            raise ValueError(f"reset takes env_id, or reset_mask as its only option, not {options}")
        if mask is not None:
            env_id = np.flatnonzero(checked_mask(mask, len(self)))
        result: Reset = self._reset_form(self._pool.reset(env_id))
        return result

    def recv(self, reset: bool = False, return_info: bool = True) -> Any:
        """Wait for the envs that were begun, or for the first `batch_size` of them.

        Args:
            reset: Return what a reset does.
            return_info: Not read: infos are always there.
        """
        del return_info
        state = self._pool.recv()
        return self._reset_form(state) if reset else self._step_form(state)

    def step(self, action: Any, env_id: Any = None) -> Any:
        """Do `send`, then `recv`."""
        self._pool.send(action, env_id)
        return self._step_form(self._pool.recv())

    def _reset_form(self, state: State) -> Any:
        return state.obs, StepInfo(state, self._pool)

    def _step_form(self, state: State) -> Any:
        info = StepInfo(state, self._pool)
        return state.obs, state.reward, state.terminated, state.truncated, info
