"""A plain PyTorch PQN on EnvPool, in one file: `torch_pqn.py THREADS TOTAL_STEPS`.

What people write, as `torch_ppo.py`; CleanRL's network with layer normalization. It knows nothing
of this project; its hyper-parameters are those of the `pqn` defaults, the authors' for Atari.
"""

import json
import sys
import time

import envpool
import numpy as np
import torch
from torch import nn

NUM_ENVS, NUM_STEPS, MINIBATCHES, EPOCHS = 128, 32, 32, 2
BATCH = NUM_ENVS * NUM_STEPS
GAMMA, LAMBDA, LEARNING_RATE, MAX_GRAD_NORM = 0.99, 0.65, 2.5e-4, 10.0
START_E, END_E, EXPLORATION = 1.0, 0.001, 0.1


def network(num_actions: int) -> nn.Module:
    """Return the Nature CNN with layer normalization, for numbers from 0 to 1."""
    return nn.Sequential(
        nn.Conv2d(4, 32, 8, stride=4),
        nn.LayerNorm([32, 20, 20]),
        nn.ReLU(),
        nn.Conv2d(32, 64, 4, stride=2),
        nn.LayerNorm([64, 9, 9]),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3),
        nn.LayerNorm([64, 7, 7]),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(3136, 512),
        nn.LayerNorm(512),
        nn.ReLU(),
        nn.Linear(512, num_actions),
    )


def main() -> None:
    threads, total_steps = map(int, sys.argv[1:])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    envs = envpool.make(
        "SpaceInvaders-v5",
        env_type="gymnasium",
        num_envs=NUM_ENVS,
        num_threads=threads,
        episodic_life=True,
        reward_clip=True,
        seed=1,
    )
    num_actions = envs.action_space.n
    net = network(num_actions)
    optimizer = torch.optim.RAdam(net.parameters(), lr=LEARNING_RATE)

    obs = torch.zeros(NUM_STEPS, NUM_ENVS, 4, 84, 84)
    actions = torch.zeros(NUM_STEPS, NUM_ENVS, dtype=torch.int64)
    rewards, dones, values = torch.zeros(3, NUM_STEPS, NUM_ENVS)
    next_obs = torch.tensor(envs.reset()[0], dtype=torch.float32)
    num_updates = total_steps // BATCH
    gradient_steps = 0
    spent = {"acting": 0.0, "stepping": 0.0, "learning": 0.0}
    started = cpu = 0.0
    for update in range(num_updates):
        if update == 1:  # the first warms up
            started, cpu = time.perf_counter(), time.process_time()
            spent = dict.fromkeys(spent, 0.0)
        done_share = update / (EXPLORATION * num_updates)
        epsilon = max(END_E, START_E + (END_E - START_E) * done_share)
        for step in range(NUM_STEPS):
            then = time.perf_counter()
            obs[step] = next_obs
            with torch.no_grad():
                q_values = net(next_obs / 255.0)
            values[step], best = q_values.max(1)
            explores = torch.tensor(rng.random(NUM_ENVS) < epsilon)
            at_random = torch.tensor(rng.integers(num_actions, size=NUM_ENVS))
            actions[step] = torch.where(explores, at_random, best)
            acted = time.perf_counter()
            seen, reward, terminated, truncated, _ = envs.step(actions[step].numpy())
            rewards[step] = torch.tensor(reward)
            dones[step] = torch.tensor(terminated | truncated, dtype=torch.float32)
            next_obs = torch.tensor(seen, dtype=torch.float32)
            spent["acting"] += acted - then
            spent["stepping"] += time.perf_counter() - acted

        then = time.perf_counter()
        with torch.no_grad():
            returns = torch.zeros_like(rewards)
            following = net(next_obs / 255.0).max(1).values
            later = following
            for step in reversed(range(NUM_STEPS)):
                mixed = LAMBDA * later + (1 - LAMBDA) * following
                later = returns[step] = rewards[step] + GAMMA * (1 - dones[step]) * mixed
                following = values[step]
        flat_obs = obs.reshape(BATCH, 4, 84, 84)
        flat_actions, flat_returns = actions.reshape(-1, 1), returns.reshape(-1)
        for _ in range(EPOCHS):
            for picked in torch.randperm(BATCH).split(BATCH // MINIBATCHES):
                taken = net(flat_obs[picked] / 255.0).gather(1, flat_actions[picked]).squeeze(1)
                loss = 0.5 * (taken - flat_returns[picked]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), MAX_GRAD_NORM)
                optimizer.step()
                gradient_steps += 1
        spent["learning"] += time.perf_counter() - then

    steps = (num_updates - 1) * BATCH
    report = {
        "steps_per_second": steps / (time.perf_counter() - started),
        "cpu_seconds_per_1000_steps": 1000 * (time.process_time() - cpu) / steps,
        "seconds_per_1000_steps": {part: 1000 * spent[part] / steps for part in spent},
        "work": {"updates": num_updates, "gradient_steps": gradient_steps},
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
