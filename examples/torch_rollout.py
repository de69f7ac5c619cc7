"""A rollout of torch tensors that the emulators fill in place: no observation is copied.

    python examples/torch_rollout.py [--device cuda]

On the CPU each step writes its observations into `obs[step]`. On CUDA they are written to pinned
memory, and the copy to `obs[step]` is queued.
"""

from __future__ import annotations

import argparse

import torch

from atari_wrappers import make_vec

NUM_STEPS, NUM_ENVS = 32, 8


def main() -> None:
    parser = argparse.ArgumentParser(description="Fill a rollout of tensors in place.")
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    envs = make_vec("PongNoFrameskip-v4", NUM_ENVS, output="torch", device=device)
    shape = envs.single_observation_space.shape
    # One row more than steps: the last one is what the next rollout begins with.
    obs = torch.empty((NUM_STEPS + 1, NUM_ENVS, *shape), dtype=torch.uint8, device=device)
    rewards = torch.empty((NUM_STEPS, NUM_ENVS), device=device)
    ends = torch.empty((NUM_STEPS, NUM_ENVS), dtype=torch.bool, device=device)
    policy = torch.nn.Sequential(
        torch.nn.AvgPool2d(12), torch.nn.Flatten(), torch.nn.Linear(4 * 49, 6)
    ).to(device)

    envs.reset(seed=0, out=obs[0])
    for step in range(NUM_STEPS):
        with torch.no_grad():
            logits = policy(obs[step].float() / 255)
        actions = torch.distributions.Categorical(logits=logits).sample()
        _, rewards[step], terminated, truncated, _ = envs.step(actions, out=obs[step + 1])
        torch.logical_or(terminated, truncated, out=ends[step])
    envs.close()
    print(f"{list(obs.shape)} on {obs.device}, mean {obs.float().mean():.1f}, {ends.sum()} ends")


if __name__ == "__main__":
    main()
