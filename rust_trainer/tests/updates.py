"""Whole updates of PPO and A2C by PyTorch alone, on what `updates.rs` recorded.

Run as `python updates.py FOLDER SETTINGS`. FOLDER has `record.safetensors`, the weights at the
start, what the environments gave and the actions taken, and gets `after.safetensors`, the
weights at the end; SETTINGS are the run's as JSON. Nothing here is shared with the trainer. In
fp32 everything is float64, so that what differs is the trainer's rounding; in bf16 the body is
bfloat16, the rest float32.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributions import Categorical
from torch.nn.functional import conv2d, linear, relu
from torch.nn.utils import clip_grad_norm_

Batch = tuple[Tensor, ...]


class Agent:
    """A Nature CNN with a policy and a value head, and how it is optimized."""

    def __init__(self, weights: dict[str, Tensor], settings: dict) -> None:
        bf16 = settings["precision"] == "bf16"
        self.dtype, self.body = (
            (torch.float32, torch.bfloat16) if bf16 else (torch.float64, torch.float64)
        )
        self.weights = {
            name: tensor.to(self.dtype).requires_grad_() for name, tensor in weights.items()
        }
        self.settings = settings
        self.adam = torch.optim.Adam(self.weights.values(), eps=settings.get("adam_eps", 0))
        self.squares = {name: torch.ones_like(tensor) for name, tensor in self.weights.items()}

    def __call__(self, obs: Tensor) -> tuple[Categorical, Tensor]:
        """The policy and the values of a batch of images."""

        def layer(name: str, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
            return self.weights[f"{name}.weight"].to(dtype), self.weights[f"{name}.bias"].to(dtype)

        x = obs.to(self.body).contiguous(memory_format=torch.channels_last) / 255
        for name, stride in (("conv1", 4), ("conv2", 2), ("conv3", 1)):
            x = relu(conv2d(x, *layer(name, self.body), stride=stride))
        x = relu(linear(x.flatten(1), *layer("hidden", self.body))).to(self.dtype)
        logits = linear(x, *layer("policy", self.dtype))
        return Categorical(logits=logits), linear(x, *layer("value", self.dtype)).squeeze(1)

    def descend(self, loss: Tensor, rate: float) -> None:
        """One step: Adam for PPO, TensorFlow's RMSProp for A2C."""
        self.adam.zero_grad()
        loss.backward()
        clip_grad_norm_(self.weights.values(), self.settings["max_grad_norm"])
        if self.settings["algorithm"] == "ppo":
            self.adam.param_groups[0]["lr"] = rate
            self.adam.step()
            return
        decay, epsilon = self.settings["rmsprop_alpha"], self.settings["rmsprop_eps"]
        with torch.no_grad():
            for name, weight in self.weights.items():
                square = self.squares[name]
                square += (1 - decay) * (weight.grad**2 - square)
                weight -= rate * weight.grad / torch.sqrt(square + epsilon)


def samples(agent: Agent, record: dict[str, Tensor], update: int) -> Batch:
    """Observations, actions, log-probabilities, values, advantages and returns of a rollout."""
    gamma, lam = agent.settings["gamma"], agent.settings["gae_lambda"]
    steps, envs = record["actions"].shape[1:3]
    rows = slice(update * steps, (update + 1) * steps + 1)
    obs, last_obs = record["obs"][rows], record["last_obs"][update * steps : (update + 1) * steps]
    actions = record["actions"][update].flatten(0, 1)
    terminated, truncated = record["terminated"][update].bool(), record["truncated"][update].bool()
    with torch.no_grad():
        values = agent(obs.flatten(0, 1))[1].view(steps + 1, envs)
        log_probs = agent(obs[:-1].flatten(0, 1))[0].log_prob(actions)
        cut_off = agent(last_obs.flatten(0, 1))[1].view(steps, envs)
    after = torch.where(truncated, cut_off, values[1:]).masked_fill(terminated, 0)
    errors = record["rewards"][update].to(agent.dtype) + gamma * after - values[:-1]
    goes_on = ~(terminated | truncated)
    advantages = torch.zeros(steps, envs, dtype=agent.dtype)
    for step in range(steps):
        weight = torch.ones(envs, dtype=agent.dtype)
        for later in range(step, steps):
            advantages[step] += weight * errors[later]
            weight = weight * gamma * lam * goes_on[later]
    advantages, values = advantages.flatten(), values[:-1].flatten()
    return obs[:-1].flatten(0, 1), actions, log_probs, values, advantages, advantages + values


def ppo_losses(agent: Agent, batch: Batch, orders: Tensor) -> Iterator[Callable[[], Tensor]]:
    """The loss of each minibatch, to be calculated with the weights of its time."""
    settings, clip = agent.settings, agent.settings["clip_coef"]

    def loss(indices: Tensor) -> Tensor:
        obs, actions, old_log_probs, old_values, advantages, returns = (x[indices] for x in batch)
        policy, values = agent(obs)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = torch.exp(policy.log_prob(actions) - old_log_probs)
        gain = torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
        near = old_values + (values - old_values).clamp(-clip, clip)
        error = torch.max((values - returns) ** 2, (near - returns) ** 2)
        return (
            -gain.mean()
            + settings["vf_coef"] * 0.5 * error.mean()
            - settings["ent_coef"] * policy.entropy().mean()
        )

    for order in orders:
        for indices in torch.tensor_split(order, settings["num_minibatches"]):
            yield lambda indices=indices: loss(indices)


def a2c_loss(agent: Agent, batch: Batch) -> Tensor:
    obs, actions, _, _, advantages, returns = batch
    policy, values = agent(obs)
    return (
        -(policy.log_prob(actions) * advantages).mean()
        + agent.settings["vf_coef"] * ((values - returns) ** 2).mean()
        - agent.settings["ent_coef"] * policy.entropy().mean()
    )


def main(folder: Path, settings: dict) -> None:
    record = load_file(folder / "record.safetensors")
    weights = {name: x for name, x in record.items() if name.endswith((".weight", ".bias"))}
    agent = Agent(weights, settings)
    num_updates, steps, envs = record["actions"].shape
    in_whole_run = -(-settings["total_steps"] // (steps * envs))
    for update in range(num_updates):
        rate = settings["learning_rate"] * (1 - update / in_whole_run)
        batch = samples(agent, record, update)
        if settings["algorithm"] == "ppo":
            for loss in ppo_losses(agent, batch, record["orders"][update]):
                agent.descend(loss(), rate)
        else:
            agent.descend(a2c_loss(agent, batch), rate)
    after = {name: x.detach().float().contiguous() for name, x in agent.weights.items()}
    save_file(after, folder / "after.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(2)
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
