"""stable-baselines3's PPO with our trainer's hyper-parameters: `sb3_ppo.py THREADS TOTAL_STEPS`.

Its own `make_atari_env` and `VecFrameStack` over `DummyVecEnv`: faster here than `SubprocVecEnv`.
"""

import json
import sys
import time

import ale_py
import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack


class Clock(BaseCallback):
    """Notes the time at the start of every rollout; the first warms up."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[tuple[float, float]] = []

    def _on_rollout_start(self) -> None:
        self.times.append((time.perf_counter(), time.process_time()))

    def _on_step(self) -> bool:
        return True


def main() -> None:
    gymnasium.register_envs(ale_py)
    threads, total_steps = map(int, sys.argv[1:])
    torch.set_num_threads(threads)
    envs = make_atari_env("SpaceInvadersNoFrameskip-v4", n_envs=8, seed=1, vec_env_cls=DummyVecEnv)
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
    model.learn(total_steps, callback=clock)
    seconds, cpu = (
        end - start
        for end, start in zip(
            (time.perf_counter(), time.process_time()), clock.times[1], strict=True
        )
    )
    steps = total_steps - 1024
    work = {
        "updates": len(clock.times),
        "gradient_steps": int(model.policy.optimizer.state_dict()["state"][0]["step"]),
    }
    report = {
        "steps_per_second": steps / seconds,
        "cpu_seconds_per_1000_steps": 1000 * cpu / steps,
        "work": work,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
