"""A pool of envs by EnvPool's calls, without the forms in which it returns what they bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atari_wrappers.envpool.config import settings_of
from atari_wrappers.envpool.spec import EnvSpec
from atari_wrappers.factory import make_vec
from atari_wrappers.game.env import NEW_GAME
from atari_wrappers.vector.checks import checked_indices
from atari_wrappers.vector.env import VecEnv


class State(NamedTuple):
    """What `n` envs brought, in EnvPool's API; `raw_reward` is what it calls `info:reward`."""

    obs: NDArray[np.uint8]  # [n, channels, height, width]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    env_id: NDArray[np.int32]
    lives: NDArray[np.int32]
    raw_reward: NDArray[np.float32]
    game_over: NDArray[np.int32]
    elapsed_step: NDArray[np.int32]

    def rows(self, indices: list[int]) -> State:
        """Return some rows, in this order."""
        arrays: Any = (array[indices] for array in self)
        return State(*arrays)


class Pool:
    """Envs by EnvPool's calls.

    Args:
        spec: What is to be made.

    Attributes:
        envs: The batch that plays.
        is_async: Whether `recv` returns some of the envs only.
        num_received: How often something was received.
    """

    def __init__(self, spec: EnvSpec) -> None:
        config = spec.config
        self.spec: EnvSpec = spec
        self.num_envs: int = config.num_envs
        self.is_async: bool = config.batch_size < config.num_envs
        self.envs: VecEnv = make_vec(spec.env_id, config.num_envs, **settings_of(config))
        self.num_received: int = 0
        self._has_colours = not config.gray_scale
        self._was_reset = False
        self._sent: list[int] = []  # in which order, if it is not that of the envs

    def begin_reset(self, env_ids: list[int] | None = None) -> None:
        """Begin to restart envs with new games: all, and at first all, or those that are named."""
        mask = None if env_ids is None else np.isin(np.arange(self.num_envs), env_ids)
        config = self.spec.config
        # As in EnvPool seeds are of the first games, after which the random numbers go on.
        seed = None if self._was_reset else config.env_seed or config.seed
        self.envs.reset_async(seed, {NEW_GAME: True}, mask)
        self._was_reset, self._sent = True, []

    def reset(self, env_id: Any = None) -> State:
        """Restart envs with new games, and return what they show, in the order of `env_id`."""
        chosen = None if env_id is None else checked_indices(env_id, self.num_envs, "env_id")
        self.begin_reset(chosen)
        state = self.recv()
        if chosen is None or self.is_async:
            return state
        return state.rows(chosen)

    def send(self, action: Any, env_id: Any = None) -> None:
        """Begin a step of the envs named, or of all; at first it resets all, as in EnvPool.

        `action` is integers `[n]`, or a mapping with them as `action`, and perhaps `env_id`.

        Raises:
            ResetNeededError: The first call names some envs only, which EnvPool would reset.
        """
        if isinstance(action, Mapping):
            action, env_id = action["action"], action.get("env_id", env_id)
        named = None if env_id is None else checked_indices(env_id, self.num_envs, "env_id")
        if self._was_reset or (named is not None and len(named) < self.num_envs):
            actions = np.asarray(action)
            if not np.issubdtype(actions.dtype, np.integer):
                actions = actions.astype(np.int32)  # as EnvPool does
            self.envs.send(actions, named)
        else:
            self.begin_reset()
        if named is not None and not self.is_async:
            self._sent += named

    def recv(self) -> State:
        """Wait for the envs that were begun, or for the first `batch_size` of them."""
        envs = self.envs
        if envs.pending == "reset" and not self.is_async:
            obs, info = envs.reset_wait()
            reward = np.zeros(len(obs), np.float32)
            terminated, truncated = np.zeros((2, len(obs)), bool)
        else:
            obs, reward, terminated, truncated, info = envs.recv()
        self.num_received += 1
        sent, self._sent = self._sent, []
        if self._has_colours:
            obs = np.ascontiguousarray(np.moveaxis(obs, -1, 1))
        state = State(
            obs,
            reward,
            terminated,
            truncated,
            info["env_id"],
            info["lives"],
            info["raw_reward"],
            info["game_terminated"].astype(np.int32),
            info["episode_length"].astype(np.int32),
        )
        # A batch gives all envs in their own order; EnvPool, in that in which they were sent.
        return state.rows(sent) if len(sent) == self.num_envs else state

    def ram(self, env_ids: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Return the consoles' memory as it is now: uint8 `[n, 128]`."""
        consoles = self.envs.call("ale", indices=env_ids)
        return np.stack([console.getRAM() for console in consoles])

    def frames(self, env_ids: Any) -> NDArray[np.uint8]:
        """Return what envs show: uint8 RGB `[n, height, width, 3]`."""
        chosen = checked_indices(env_ids, self.num_envs, "env_ids")
        return np.stack([self.envs.render_at(index) for index in chosen])
