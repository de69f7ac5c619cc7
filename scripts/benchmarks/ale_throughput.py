"""ALE's own vector env, driven from Python: `ale_throughput.py NUM_ENVS STEPS`.

Same settings, seeds and actions as `python_shim/examples/throughput.rs`, which it is compared to.
"""

import json
import sys
import time

import numpy as np
from ale_py.vector_env import AtariVectorEnv

num_envs, steps = map(int, sys.argv[1:])
env = AtariVectorEnv(
    "space_invaders",
    num_envs,
    autoreset_mode="SameStep",
    life_loss_info=True,
    reward_clipping=False,
)
env.reset(seed=0)
grid = np.arange(steps)[:, None] * 1_103_515_245 + np.arange(num_envs) * 12_345
actions = (grid >> 16) % 6
reward_sum, dones, started, cpu = 0, 0, 0.0, 0.0
warm_up = steps // 10
for step in range(steps):
    if step == warm_up:
        started, cpu = time.perf_counter(), time.process_time()
    _, reward, terminated, truncated, _ = env.step(actions[step])
    reward_sum += int(reward.sum())
    dones += int((terminated | truncated).sum())
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
taken = (steps - warm_up) * num_envs
print(
    json.dumps(
        {
            "steps_per_second": taken / seconds,
            "cpu_seconds_per_1000_steps": 1000 * cpu / taken,
            "work": [reward_sum, dones],
        }
    )
)
