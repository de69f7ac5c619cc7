"""What pools of each interface have: EnvPool's calls and attributes but what a step returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atari_wrappers.envpool.pool import Pool
from atari_wrappers.envpool.spec import EnvSpec
from atari_wrappers.errors import UnsupportedError, warn


class EnvPoolMixin:
    """EnvPool's calls. `env_id` names envs, int32 `[n]`; `None` stands for all.

    Actions are integers `[n]`. An end restarts its env with the next step, which ignores the action
    and has the reward 0.

    Args:
        spec: What is to be made.

    Attributes:
        spec: The same.
        num_envs: How many envs.
    """

    def __init__(self, spec: EnvSpec) -> None:
        self.spec: Any = spec
        self.num_envs: int = spec.config.num_envs
        self._pool = Pool(spec)

    def __len__(self) -> int:
        return self._pool.num_envs

    @property
    def config(self) -> dict[str, Any]:
        """Every setting, by name."""
        return self._pool.spec.config._asdict()

    @property
    def all_env_ids(self) -> NDArray[np.int32]:
        """The ids of all envs."""
        return np.arange(self._pool.num_envs, dtype=np.int32)

    @property
    def is_async(self) -> bool:
        """Whether `recv` returns less than all envs."""
        return self._pool.is_async

    def seed(self, seed: Any = None) -> None:
        """Do nothing but warn, as EnvPool does: seeds are given when a pool is made."""
        del seed
        warn("seed does nothing: give seeds to envpool.make(..., seed=seed)")

    def send(self, action: Any, env_id: Any = None) -> None:
        """Begin a step, and return without waiting for it.

        Args:
            action: For each of the envs an integer; or a dict of `action` and `env_id`.
            env_id: Which envs.

        Raises:
            ValueError: The shape is wrong, or an action out of range; nothing was sent.
            PendingStepError: An env was sent before and not received.
        """
        self._pool.send(action, env_id)

    def async_reset(self) -> None:
        """Begin to restart every env, and return without waiting for it; `recv` does."""
        self._pool.begin_reset()

    def render(self, env_ids: Any = None, camera_id: Any = None) -> NDArray[np.uint8]:
        """Return what envs show, by default `render_env_id`: uint8 RGB `[n, height, width, 3]`.

        Raises:
            RuntimeError: The pool was made without `render_mode="rgb_array"`.
        """
        del camera_id
        spec = self._pool.spec
        if spec.render_mode is None:
            raise RuntimeError('render: make the pool with render_mode="rgb_array"')
        return self._pool.frames(spec.render_env_id if env_ids is None else env_ids)

    def xla(self) -> Any:
        """Refuse: steps within a compiled JAX program are EnvPool's alone."""
        raise UnsupportedError("xla: steps within a compiled JAX program are EnvPool's alone")

    def close(self, **kwargs: Any) -> None:
        """Free everything; a second call does nothing."""
        del kwargs
        self._pool.envs.close()

    def __repr__(self) -> str:
        return repr(self._pool.spec).replace("AtariEnvSpec", type(self).__name__, 1)

    __str__ = __repr__
