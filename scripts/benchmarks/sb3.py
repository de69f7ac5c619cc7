"""stable-baselines3 with our trainer's hyper-parameters: `sb3.py ppo|a2c|dqn THREADS TOTAL_STEPS`.

Its own `make_atari_env` and `VecFrameStack` over `DummyVecEnv`: faster here than `SubprocVecEnv`.
"""

import json
import sys
import time

import ale_py
import gymnasium
import torch
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.sb2_compat.rmsprop_tf_like import RMSpropTFLike
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecFrameStack

# Environments, and the agent steps of an update, the first of which warms up.
SIZES = {"ppo": (8, 1024), "a2c": (16, 80), "dqn": (8, 1024)}


class Clock(BaseCallback):
    """Notes steps, time and CPU time at the start of every rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[tuple[int, float, float]] = []

    def _on_rollout_start(self) -> None:
        self.times.append((self.num_timesteps, time.perf_counter(), time.process_time()))

    def _on_step(self) -> bool:
        return True


def make(algorithm: str, env: VecEnv) -> BaseAlgorithm:
    """Return the model with the settings of ours."""
    if algorithm == "ppo":
        return PPO(
            "CnnPolicy",
            env,
            n_steps=128,
            batch_size=256,
            n_epochs=4,
            learning_rate=lambda left: 2.5e-4 * left,
            clip_range=0.1,
            clip_range_vf=0.1,
            ent_coef=0.01,
            vf_coef=0.25,  # of the squared error; ours is 0.5 of half of it
            max_grad_norm=0.5,
            gae_lambda=0.95,
            gamma=0.99,
            device="cpu",
            seed=1,
        )
    if algorithm == "a2c":
        optimizer = {"alpha": 0.99, "eps": 1e-5, "weight_decay": 0}
        return A2C(
            "CnnPolicy",
            env,
            n_steps=5,
            learning_rate=lambda left: 7e-4 * left,
            ent_coef=0.01,
            vf_coef=0.5,
            max_grad_norm=0.5,
            policy_kwargs={"optimizer_class": RMSpropTFLike, "optimizer_kwargs": optimizer},
            device="cpu",
            seed=1,
        )
    return DQN(
        "CnnPolicy",
        env,
        learning_rate=1e-4,
        buffer_size=20_000,
        learning_starts=DQN_LEARNING_STARTS,
        batch_size=32,
        gamma=0.99,
        train_freq=1,  # of all 8 environments: 2 gradient steps, one for every 4 agent steps
        gradient_steps=2,
        target_update_interval=1000,
        max_grad_norm=10,
        device="cpu",
        seed=1,
    )


# Ours learns once it holds 1000 transitions, this once it has more than so many.
DQN_LEARNING_STARTS = 999


def main() -> None:
    gymnasium.register_envs(ale_py)
    algorithm, (threads, total_steps) = sys.argv[1], map(int, sys.argv[2:])
    num_envs, warm_up = SIZES[algorithm]
    torch.set_num_threads(threads)
    envs = make_atari_env(
        "SpaceInvadersNoFrameskip-v4", n_envs=num_envs, seed=1, vec_env_cls=DummyVecEnv
    )
    model = make(algorithm, VecFrameStack(envs, n_stack=4))
    clock = Clock()
    model.learn(total_steps, callback=clock)
    ended = (total_steps, time.perf_counter(), time.process_time())
    begun = next(begun for begun in clock.times if begun[0] >= warm_up)
    steps, seconds, cpu = (end - start for end, start in zip(ended, begun, strict=True))
    moments = model.policy.optimizer.state_dict()["state"][0]
    report = {
        "steps_per_second": steps / seconds,
        "cpu_seconds_per_1000_steps": 1000 * cpu / steps,
        "work": {"updates": total_steps // warm_up, "gradient_steps": int(moments["step"])},
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
