"""Continuous actions and normalization by PyTorch and Gymnasium alone (`continuous/gaussian.rs`).

`python continuous.py FOLDER` calculates what distributions and normalizers are compared with and
writes it to FOLDER. `python continuous.py FOLDER NAME SETTINGS ...` repeats whole updates on what
was recorded in `NAME.safetensors`, with the run's settings as JSON, and writes the weights at the
end to `NAME-after.safetensors`. Everything is float64 but what Gymnasium has in float32; in bf16
hidden layers are bfloat16, the rest float32.
"""

import json
import sys
from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import NormalizeObservation, NormalizeReward
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributions import Independent, Normal
from torch.nn.functional import linear
from updates import Agent, a2c_loss, collect, ppo_losses

Arrays = dict[str, np.ndarray]
LIMIT = 10
AGENTS = 3


class Replay(VectorEnv):
    """Shows observations, rewards and ends that are written down: rows of time, then envs."""

    def __init__(self, record: Arrays, mode: AutoresetMode) -> None:
        self.record, self.time = record, 0
        self.num_envs, width = record["obs"].shape[1:]
        self.metadata = {"autoreset_mode": mode}
        self.single_observation_space = Box(-np.inf, np.inf, (width,), np.float64)
        self.observation_space = Box(-np.inf, np.inf, (self.num_envs, width), np.float64)
        self.single_action_space = self.action_space = gymnasium.spaces.Discrete(1)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return self.record["obs"][0], {}

    def step(self, _: object) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        time, self.time = self.time, self.time + 1
        rewards, terminated, truncated = (
            self.record[name][time] for name in ("rewards", "terminated", "truncated")
        )
        return self.record["obs"][time + 1], rewards, terminated, truncated, {}


def normalized(record: Arrays, gamma: float, *, obs: bool = True, rewards: bool = True) -> Arrays:
    """Normalize observations and rewards as Gymnasium does, and clip them as CleanRL does.

    The last observations of ended episodes, which Gymnasium leaves as they are, are scaled by the
    statistics that their step leaves behind.
    """
    record = dict(record)
    # The one only knows this mode, and with it does the same; the other knows both.
    scaled_obs = NormalizeObservation(Replay(record, AutoresetMode.NEXT_STEP))
    scaled_rewards = NormalizeReward(Replay(record, AutoresetMode.SAME_STEP), gamma)
    all_obs, all_last, all_rewards = [scaled_obs.reset()[0]], [], []
    scaled_rewards.reset()
    for last_obs in record["last_obs"]:
        all_obs.append(scaled_obs.step(None)[0])
        scaled_obs.update_running_mean = False
        all_last.append(scaled_obs.observations(last_obs))
        scaled_obs.update_running_mean = True
        all_rewards.append(scaled_rewards.step(None)[1])
    if obs:
        record["obs"] = np.clip(np.stack(all_obs), -LIMIT, LIMIT)
        record["last_obs"] = np.clip(np.stack(all_last), -LIMIT, LIMIT)
    if rewards:
        record["rewards"] = np.clip(np.stack(all_rewards), -LIMIT, LIMIT)
    return record


class ContinuousAgent(Agent):
    """An MLP for each head; the policy is a Gaussian with deviations of its own.

    With several agents the policy reads the first part of a row, and each agent may have networks
    of its own, which the last part of the row chooses among.
    """

    own_share = 1

    def __call__(self, obs: Tensor) -> tuple[Independent, Tensor]:
        """The policy and the values of a batch of flat observations."""

        def layer(x: Tensor, name: str) -> Tensor:
            weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
            return linear(x, weight.to(x.dtype), bias.to(x.dtype))

        def head(name: str, x: Tensor) -> Tensor:
            x = x.to(self.body)
            for hidden in ("hidden1", "hidden2"):
                x = torch.tanh(layer(x, f"{name}.{hidden}"))
            return layer(x.to(self.dtype), name)

        def said(prefix: str, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            own = rows[:, : rows.shape[1] // self.own_share]
            mean = head(f"{prefix}policy", own)
            deviation = self.weights[f"{prefix}policy.log_std"].exp().expand_as(mean)
            return mean, deviation, head(f"{prefix}value", rows).squeeze(1)

        if "policy.weight" in self.weights:
            mean, deviation, value = said("", obs)
        else:
            of_agents = [said(f"agent{agent}.", obs[:, :-AGENTS]) for agent in range(AGENTS)]
            agents = obs[:, -AGENTS:].argmax(1), torch.arange(len(obs))
            mean, deviation, value = (
                torch.stack(of)[agents] for of in zip(*of_agents, strict=True)
            )
        return Independent(Normal(mean, deviation), 1), value


def update(path: Path, settings: dict) -> dict[str, Tensor]:
    """Repeat the updates that were recorded; return the weights after them."""
    tensors = load_file(path)
    weights = {name: x for name, x in tensors.items() if "." in name}
    record = {name: x.numpy() for name, x in tensors.items() if "." not in name}
    num_updates, steps, envs = record["actions"].shape[:3]
    flat = ("rewards", "terminated", "truncated")
    by_time = record | {name: record[name].reshape(-1, envs) for name in flat}
    by_time["obs"] = by_time["obs"].astype(np.float64)
    by_time = normalized(
        by_time, settings["gamma"], obs=settings["norm_obs"], rewards=settings["norm_reward"]
    )
    by_time |= {name: by_time[name].reshape(num_updates, steps, envs) for name in flat}
    record = {name: torch.as_tensor(x) for name, x in by_time.items()}
    agent = ContinuousAgent(weights, settings)
    agent.own_share = AGENTS if settings.get("central_critic") else 1
    agent.start(envs)
    in_whole_run = -(-settings["total_steps"] // (steps * envs))
    for number in range(num_updates):
        rate = settings["learning_rate"] * (1 - number / in_whole_run)
        rollout = collect(agent, record, number)
        if settings["algorithm"] == "ppo":
            for loss in ppo_losses(agent, rollout, record["orders"][number]):
                agent.descend(loss(), rate)
        else:
            agent.descend(a2c_loss(agent, rollout), rate)
    return {name: x.detach().float().contiguous() for name, x in agent.weights.items()}


def oracles(folder: Path) -> None:
    """Write what distributions and normalizers are compared with."""
    rng = np.random.default_rng(1)
    mean, log_std, actions = (
        rng.normal(0, 2, (50, 3)),
        rng.normal(0, 1, 3),
        rng.normal(0, 3, (50, 3)),
    )
    policy = Independent(Normal(*map(torch.tensor, (mean, np.tile(np.exp(log_std), (50, 1))))), 1)
    distribution = {"mean": mean, "log_std": log_std, "actions": actions}
    distribution |= {"log_prob": policy.log_prob(torch.tensor(actions)).numpy()}
    distribution |= {"entropy": policy.entropy().numpy()}

    steps, envs, width = 300, 4, 3
    record = {
        # Numbers of several sizes. Most hardly move, and one leaps so far that it is clipped.
        "obs": rng.normal([0, 50, 0], [1, 7, 1e-6], (steps + 1, envs, width)).astype(np.float32),
        "rewards": rng.normal(0.1, 1, (steps, envs)).astype(np.float32),
        "terminated": rng.random((steps, envs)) < 0.08,
        "truncated": rng.random((steps, envs)) < 0.08,
    }
    record["obs"][200, 2, 2], record["rewards"][250, 1] = 1.0, 300.0
    record["last_obs"] = rng.normal(0, 30, (steps, envs, width)).astype(np.float32)
    after = normalized(record | {"obs": record["obs"].astype(np.float64)}, 0.97)
    assert (np.abs(after["obs"]) == LIMIT).any()
    assert (np.abs(after["rewards"]) == LIMIT).any()
    assert (record["terminated"] & record["truncated"]).any()
    changed = {
        f"normalized_{name}": after[name].astype(np.float32)
        for name in ("obs", "last_obs", "rewards")
    }
    for name, arrays in (("distribution", distribution), ("stream", record | changed)):
        tensors = {key: torch.tensor(x) for key, x in arrays.items()}
        save_file(tensors, folder / f"{name}.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    target, cases = Path(sys.argv[1]), sys.argv[2:]
    if not cases:
        oracles(target)
    for case, text in zip(cases[::2], cases[1::2], strict=True):
        save_file(
            update(target / f"{case}.safetensors", json.loads(text)),
            target / f"{case}-after.safetensors",
        )
