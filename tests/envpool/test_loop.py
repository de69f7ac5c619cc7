"""A training loop as people write it for EnvPool, with EnvPool's module and with ours.

It is in the style of CleanRL's: a wrapper that counts true returns by `info["reward"]` and
`info["lives"]`, a policy in torch, rollouts in tensors, advantages backwards over the ends.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import envpool as theirs
import gymnasium as gym
import numpy as np
import pytest

from atari_wrappers import envpool as ours

torch = pytest.importorskip("torch")

NUM_ENVS, NUM_STEPS, UPDATES = 4, 32, 4


class EpisodeStatistics(gym.Wrapper):
    """Counts what games bring, whatever the learner sees of them."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.num_envs = env.num_envs

    def reset(self, **kwargs: Any) -> Any:
        self.returns = np.zeros(self.num_envs, np.float32)
        self.lengths = np.zeros(self.num_envs, np.int32)
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        self.returns += info["reward"]
        self.lengths += 1
        info["r"], info["l"] = self.returns.copy(), self.lengths.copy()
        over = info["terminated"].astype(bool) | truncated
        self.returns[over] = 0
        self.lengths[over] = 0
        return obs, reward, terminated, truncated, info


class Run(NamedTuple):
    """What a run came to."""

    games: list[tuple[int, float, int]]
    losses: list[float]
    lives_lost: int


def train(envpool: ModuleType) -> Run:
    """Run the script: only the module differs."""
    envs = envpool.make(
        "Breakout-v5",
        env_type="gym",
        num_envs=NUM_ENVS,
        episodic_life=True,
        reward_clip=True,
        max_episode_steps=90,
        seed=1,
    )
    envs = EpisodeStatistics(envs)
    torch.manual_seed(1)
    actions_of = envs.action_space.n
    agent = torch.nn.Sequential(
        torch.nn.AvgPool2d(12), torch.nn.Flatten(), torch.nn.Linear(4 * 49, actions_of + 1)
    )
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    obs = torch.zeros((NUM_STEPS, NUM_ENVS, *envs.observation_space.shape))
    actions, rewards, dones, values = torch.zeros((4, NUM_STEPS, NUM_ENVS))
    run = Run([], [], 0)
    lost = 0
    next_obs = torch.Tensor(envs.reset()[0])
    next_done = torch.zeros(NUM_ENVS)
    for update in range(UPDATES):
        for step in range(NUM_STEPS):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                out = agent(next_obs / 255)
                action = torch.distributions.Categorical(logits=out[:, :-1]).sample()
            actions[step], values[step] = action, out[:, -1]
            seen, reward, terminated, truncated, info = envs.step(action.numpy())
            done = np.logical_or(terminated, truncated)
            rewards[step] = torch.tensor(reward)
            next_obs, next_done = torch.Tensor(seen), torch.Tensor(done)
            for env in np.flatnonzero(done):
                if info["lives"][env] == 0 or truncated[env]:
                    now = update * NUM_STEPS + step
                    run.games.append((now, float(info["r"][env]), int(info["l"][env])))
                else:
                    lost += 1
        with torch.no_grad():
            following = agent(next_obs / 255)[:, -1]
        advantages, last = torch.zeros_like(rewards), 0.0
        for step in reversed(range(NUM_STEPS)):
            ended = next_done if step == NUM_STEPS - 1 else dones[step + 1]
            value = following if step == NUM_STEPS - 1 else values[step + 1]
            delta = rewards[step] + 0.99 * value * (1 - ended) - values[step]
            advantages[step] = last = delta + 0.99 * 0.95 * (1 - ended) * last
        out = agent(obs.flatten(0, 1) / 255)
        policy = torch.distributions.Categorical(logits=out[:, :-1])
        loss = -(policy.log_prob(actions.flatten()) * advantages.flatten()).mean()
        loss = loss + 0.5 * ((advantages + values).flatten() - out[:, -1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.losses.append(loss.item())
    envs.close()
    return run._replace(lives_lost=lost)


def test_a_script_changes_one_import() -> None:
    runs = [train(module) for module in (theirs, ours)]
    assert runs[0] == runs[1]
    assert len(runs[0].games) >= 3
    assert runs[0].lives_lost >= 3
