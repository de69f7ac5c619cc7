"""A plain PyTorch PPO on EnvPool, in one file: `torch_ppo.py THREADS TOTAL_STEPS [OPTIONS]`.

What people write: NCHW float32, `optim.Adam`, `clip_grad_norm_`, one process, as many threads of
torch and EnvPool as asked for. It knows nothing of this project, unless it plays on our envs by
EnvPool's API; its hyper-parameters are those of the `ppo-atari` preset, in CartPole, too.
"""

import argparse
import csv
import importlib
import json
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

BATCH, MINIBATCHES, EPOCHS = 1024, 4, 4
GAMMA, LAMBDA, CLIP, ENT_COEF, VF_COEF, MAX_GRAD_NORM = 0.99, 0.95, 0.1, 0.01, 0.5, 0.5
CARTPOLE = "CartPole-v1"
ENVS = {"envpool": "envpool", "ours": "atari_wrappers.envpool"}


def layer(module: nn.Module, gain: float = 2**0.5) -> nn.Module:
    """Return the layer with orthogonal weights and no bias at first."""
    nn.init.orthogonal_(module.weight, gain)
    nn.init.zeros_(module.bias)
    return module


def cnn() -> nn.Module:
    """Return the Nature CNN."""
    return nn.Sequential(
        layer(nn.Conv2d(4, 32, 8, stride=4)),
        nn.ReLU(),
        layer(nn.Conv2d(32, 64, 4, stride=2)),
        nn.ReLU(),
        layer(nn.Conv2d(64, 64, 3)),
        nn.ReLU(),
        nn.Flatten(),
        layer(nn.Linear(3136, 512)),
        nn.ReLU(),
    )


def mlp(features: int) -> nn.Module:
    """Return two layers of 64 tanh units."""
    layers = (layer(nn.Linear(inputs, 64)) for inputs in (features, 64))
    return nn.Sequential(*(part for each in layers for part in (each, nn.Tanh())))


class Agent(nn.Module):
    """The Nature CNN with a policy head and a value head; of flat observations two MLPs."""

    def __init__(self, shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()
        is_image = len(shape) == 3
        self.largest, width = (255.0, 512) if is_image else (1.0, 64)
        self.body = cnn() if is_image else mlp(*shape)
        self.value_body = None if is_image else mlp(*shape)
        self.policy = layer(nn.Linear(width, num_actions), 0.01)
        self.value = layer(nn.Linear(width, 1), 1.0)

    def forward(self, obs: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Return policy and values of `obs`, float32 `[batch, *shape]`, pixels from 0 to 255."""
        obs = obs / self.largest
        hidden = self.body(obs)
        value = self.value(hidden if self.value_body is None else self.value_body(obs))
        return Categorical(logits=self.policy(hidden)), value.squeeze(-1)


def options() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("threads", type=int)
    parser.add_argument("total_steps", type=int)
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--game", default="SpaceInvaders-v5", help=f"of Atari, or {CARTPOLE}")
    parser.add_argument("--envs", choices=ENVS, default="envpool", help="who makes them")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--games", type=Path, help="CSV of true games: raw rewards, all lives")
    return parser.parse_args()


def main() -> None:
    args = options()
    num_envs, num_steps = args.num_envs, BATCH // args.num_envs
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    torch.set_default_device(args.device)
    of_atari = {} if args.game == CARTPOLE else {"episodic_life": True, "reward_clip": True}
    envs = importlib.import_module(ENVS[args.envs]).make(
        args.game,
        env_type="gymnasium",
        num_envs=num_envs,
        num_threads=min(args.threads, num_envs),
        seed=args.seed,
        **of_atari,
    )
    shape = envs.observation_space.shape
    agent = Agent(shape, envs.action_space.n)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)

    obs = torch.zeros(num_steps, num_envs, *shape)
    actions = torch.zeros(num_steps, num_envs, dtype=torch.int64)
    log_probs, rewards, dones, values = torch.zeros(4, num_steps, num_envs)
    next_obs = torch.tensor(envs.reset()[0], dtype=torch.float32)
    next_done = torch.zeros(num_envs)
    num_updates = args.total_steps // BATCH
    gradient_steps = 0
    spent = {"acting": 0.0, "stepping": 0.0, "learning": 0.0}
    raw_return, games = np.zeros(num_envs), [("step", "env", "raw_return")]
    started = cpu = 0.0
    for update in range(num_updates):
        if update == 1:  # the first warms up
            started, cpu = time.perf_counter(), time.process_time()
            spent = dict.fromkeys(spent, 0.0)
        optimizer.param_groups[0]["lr"] = 2.5e-4 * (1 - update / num_updates)
        for step in range(num_steps):
            then = time.perf_counter()
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                policy, values[step] = agent(next_obs)
                actions[step] = policy.sample()
                log_probs[step] = policy.log_prob(actions[step])
            acted = time.perf_counter()
            seen, reward, terminated, truncated, info = envs.step(actions[step].cpu().numpy())
            rewards[step] = torch.tensor(reward)
            next_obs = torch.tensor(seen, dtype=torch.float32)
            next_done = torch.tensor(terminated | truncated, dtype=torch.float32)
            spent["acting"] += acted - then
            spent["stepping"] += time.perf_counter() - acted
            raw_return += info.get("reward", reward)
            over = np.flatnonzero(info.get("terminated", terminated) | truncated)
            games += [
                (update * BATCH + (step + 1) * num_envs, env, raw_return[env]) for env in over
            ]
            raw_return[over] = 0

        then = time.perf_counter()
        with torch.no_grad():
            next_value = agent(next_obs)[1]
            advantages = torch.zeros_like(rewards)
            last = torch.zeros(num_envs)
            for step in reversed(range(num_steps)):
                ends = next_done if step == num_steps - 1 else dones[step + 1]
                value = next_value if step == num_steps - 1 else values[step + 1]
                delta = rewards[step] + GAMMA * value * (1 - ends) - values[step]
                last = delta + GAMMA * LAMBDA * (1 - ends) * last
                advantages[step] = last
            returns = advantages + values
        old = [x.reshape(-1) for x in (actions, log_probs, advantages, returns, values)]
        flat_obs = obs.reshape(BATCH, *shape)
        for _ in range(EPOCHS):
            for picked in torch.randperm(BATCH).split(BATCH // MINIBATCHES):
                action, log_prob, advantage, target, value = (x[picked] for x in old)
                policy, new_value = agent(flat_obs[picked])
                ratio = (policy.log_prob(action) - log_prob).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
                policy_loss = -torch.min(advantage * ratio, advantage * clipped).mean()
                near = value + torch.clamp(new_value - value, -CLIP, CLIP)
                error = torch.max((new_value - target) ** 2, (near - target) ** 2)
                loss = policy_loss - ENT_COEF * policy.entropy().mean()
                loss = loss + VF_COEF * 0.5 * error.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), MAX_GRAD_NORM)
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
    if args.games:
        with args.games.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(games)


if __name__ == "__main__":
    main()
