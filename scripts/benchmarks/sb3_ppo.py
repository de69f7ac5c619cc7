"""stable-baselines3's PPO with our trainer's hyper-parameters: `sb3_ppo.py dummy|subproc`.

Its own `make_atari_env` and `VecFrameStack`, and as many torch threads as there are cores.
"""

import json
import os
import sys
import time

import ale_py
import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack

STEPS = 9216


class Clock(BaseCallback):
    """Notes the time at the start of every rollout; the first warms up."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def _on_rollout_start(self) -> None:
        self.times.append(time.perf_counter())

    def _on_step(self) -> bool:
        return True


def main() -> None:
    gymnasium.register_envs(ale_py)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    backend = {"dummy": DummyVecEnv, "subproc": SubprocVecEnv}[sys.argv[1]]
    envs = make_atari_env("SpaceInvadersNoFrameskip-v4", n_envs=8, seed=1, vec_env_cls=backend)
    env = VecFrameStack(envs, n_stack=4)
    model = PPO(
        "CnnPolicy",
        env,
        n_steps=128,
        batch_size=256,
        n_epochs=4,
        learning_rate=lambda left: 2.5e-4 * left,
        clip_range=0.1,
        clip_range_vf=0.1,
        ent_coef=0.01,
        vf_coef=0.5,
        max_grad_norm=0.5,
        gae_lambda=0.95,
        gamma=0.99,
        device="cpu",
        seed=1,
    )
    clock = Clock()
    model.learn(STEPS, callback=clock)
    end = time.perf_counter()
    seconds = end - clock.times[1]
    print(json.dumps({"steps_per_second": (STEPS - 1024) / seconds}))


if __name__ == "__main__":
    main()
