"""A batch of ours in Tianshou: its collector steps and resets it, some envs at a time.

    pip install tianshou
    python examples/tianshou_collect.py

Tried with Tianshou 2.0.1, whose vector envs restart by hand: `autoreset="disabled"`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tianshou.algorithm.algorithm_base import Policy
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import BaseVectorEnv

from atari_wrappers import make_vec
from atari_wrappers.adapters.shared import info_rows


class TianshouVectorEnv(BaseVectorEnv):
    """A batch made with `autoreset="disabled"`, behind Tianshou's interface."""

    def __init__(self, venv: Any) -> None:
        self.venv, self.env_num, self.is_async = venv, venv.num_envs, False
        self.is_closed, self.workers = False, []

    def _assert_is_not_closed(self) -> None:
        if self.is_closed:
            raise RuntimeError("the batch was closed")

    def get_env_attr(self, key: str, id: Any = None) -> list[Any]:  # noqa: A002 - Tianshou's name
        if key == "action_space":
            return [self.venv.single_action_space] * len(self._wrap_id(id))
        return list(self.venv.get_attr(key, self._wrap_id(id)))

    def reset(self, env_id: Any = None, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
        ids = np.asarray(self._wrap_id(env_id))
        mask = None if len(ids) == self.env_num else np.isin(np.arange(self.env_num), ids)
        obs, info = self.venv.reset(mask=mask, **kwargs)
        return obs[ids], np.array(info_rows(info, self.env_num))[ids]

    def step(self, action: Any, id: Any = None) -> Any:  # noqa: A002 - Tianshou's name
        ids = list(self._wrap_id(id))
        obs, reward, terminated, truncated, info = self.venv.step(np.asarray(action), ids)
        rows = info_rows(info, len(ids))
        for row, index in zip(rows, info["env_id"].tolist(), strict=True):
            row["env_id"] = index
        # All envs come in their own order.
        order = [info["env_id"].tolist().index(index) for index in ids]
        results = (obs, reward, terminated, truncated, np.array(rows))
        return tuple(result[order] for result in results)

    def close(self) -> None:
        self.is_closed = True
        self.venv.close()


class RandomPolicy(Policy):
    """Any of Pong's six actions."""

    def forward(self, batch: Batch, state: Any = None, **_: Any) -> Batch:
        del state
        return Batch(act=np.random.randint(6, size=len(batch.obs)))  # noqa: NPY002


def main() -> None:
    envs = make_vec("PongNoFrameskip-v4", 4, autoreset="disabled", max_episode_frames=80)
    venv = TianshouVectorEnv(envs)
    policy = RandomPolicy(action_space=envs.single_action_space)
    collector = Collector(policy, venv, VectorReplayBuffer(2000, 4))
    stats = collector.collect(n_step=200, reset_before_collect=True)
    print(f"{stats.n_collected_steps} steps, {stats.n_collected_episodes} games of {stats.lens}")
    venv.close()


if __name__ == "__main__":
    main()
