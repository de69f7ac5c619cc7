"""stable-baselines3's PPO on the robot arm: `python examples/robot_arm/train_sb3.py 300000`.

Install the arm first: `pip install ./examples/robot_arm`. The settings are those of
`rust_trainer/examples/train_robot_arm.rs`.
"""

import sys
import time

import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize


def main() -> None:
    total_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    envs = make_vec_env(lambda: gymnasium.make("robot_arm:RobotArm-v0"), 16, seed=1)
    model = PPO(
        "MlpPolicy",
        VecNormalize(envs, norm_obs=False, gamma=0.95),
        n_steps=128,
        batch_size=256,
        learning_rate=lambda left: 1e-3 * left,
        gamma=0.95,
        seed=1,
        device="cpu",
    )
    start = time.perf_counter()
    model.learn(total_steps)
    seconds = time.perf_counter() - start
    returns, lengths = evaluate_policy(
        model, envs, 100, deterministic=True, return_episode_rewards=True
    )
    print(
        f"{model.num_timesteps} steps in {seconds:.0f} s; greedy: mean return"
        f" {sum(returns) / 100:.1f}, mean length {sum(lengths) / 100:.1f} over 100 episodes"
    )


if __name__ == "__main__":
    main()
