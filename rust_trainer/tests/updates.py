"""Whole updates of PPO, A2C (also with an LSTM) and PQN by PyTorch alone.

Run as `python updates.py FOLDER...`. Each has `record.safetensors`, by `updates.rs`, the weights
at the start, what the environments gave and the actions taken, and `settings.json`, and gets
`after.safetensors`, the weights at the end and how near to a kink any gradient was taken. Nothing
here is shared with the trainer. In fp32 everything is float64, so that what differs is the
trainer's rounding; in bf16 the body is bfloat16, the rest float32.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from nature_cnn import Rectified, convolutions
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributions import Categorical
from torch.nn.functional import layer_norm, linear
from torch.nn.utils import clip_grad_norm_

State = tuple[Tensor, Tensor]
Outputs = tuple[Categorical, Tensor]


class Agent:
    """A Nature CNN, perhaps an LSTM, a policy and a value head, and how they are optimized."""

    def __init__(self, weights: dict[str, Tensor], settings: dict) -> None:
        bf16 = settings["precision"] == "bf16"
        self.dtype, self.body = (
            (torch.float32, torch.bfloat16) if bf16 else (torch.float64, torch.float64)
        )
        self.weights = {
            name: tensor.to(self.dtype).requires_grad_() for name, tensor in weights.items()
        }
        self.settings, self.rectified = settings, Rectified()
        self.adam = torch.optim.Adam(self.weights.values(), eps=settings.get("adam_eps", 0))
        self.radam = torch.optim.RAdam(self.weights.values())
        self.squares = {name: torch.ones_like(tensor) for name, tensor in self.weights.items()}

    def body_features(self, obs: Tensor) -> Tensor:
        """Numbers of the body's last layer for a batch of images."""

        def layer(name: str) -> tuple[Tensor, Tensor]:
            weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
            return weight.to(self.body), bias.to(self.body)

        def normed(name: str, x: Tensor) -> Tensor:
            """Over the channels of each pixel, or all features."""
            if f"{name}_norm.weight" not in self.weights:
                return x
            scale, shift = layer(f"{name}_norm")
            return layer_norm(x.movedim(1, -1), scale.shape, scale, shift, 1e-6).movedim(-1, 1)

        x = convolutions(self.weights, obs, self.body, self.rectified, normed)
        x = linear(x.flatten(1), *layer("hidden"))
        return self.rectified(normed("hidden", x)).to(self.dtype)

    def q_values(self, obs: Tensor) -> Tensor:
        """The action values of a batch of images."""
        return linear(self.body_features(obs), self.weights["q.weight"], self.weights["q.bias"])

    def heads(self, features: Tensor) -> Outputs:
        """The policy and the values of a batch."""

        def head(name: str) -> Tensor:
            return linear(features, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

        return Categorical(logits=head("policy")), head("value").squeeze(1)

    def cell(self, x: Tensor, state: State) -> State:
        """One step of the LSTM: h and c behind it."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return torch.lstm_cell(x, state, *(self.weights[f"lstm.{name}"] for name in names))

    def __call__(self, obs: Tensor) -> Outputs:
        """The policy and the values of a batch of observations by themselves."""
        return self.heads(self.body_features(obs))

    def unroll(self, obs: Tensor, starts: Tensor, state: State) -> tuple[Outputs, list[State]]:
        """Outputs for `[steps, envs, ...]` from `state` on, and the states behind each step."""
        if not self.settings["lstm_size"]:
            return self(obs.flatten(0, 1)), [state] * len(obs)
        x = self.body_features(obs.flatten(0, 1)).unflatten(0, obs.shape[:2])
        states = []
        for step in range(len(x)):
            hidden, cell = (half * ~starts[step, :, None] for half in state)
            state = self.cell(x[step], (hidden, cell))
            states.append(state)
        return self.heads(torch.cat([hidden for hidden, _ in states])), states

    def start(self, envs: int) -> None:
        """Begin episodes in `envs` environments."""
        hidden = torch.zeros(envs, self.settings.get("lstm_size", 0), dtype=self.dtype)
        self.state, self.starts = (hidden, hidden), torch.ones(envs, dtype=torch.bool)

    def descend(self, loss: Tensor, rate: float) -> None:
        """One step: Adam for PPO, RAdam for PQN, TensorFlow's RMSProp for A2C."""
        self.adam.zero_grad()
        loss.backward()
        clip_grad_norm_(self.weights.values(), self.settings["max_grad_norm"])
        optimizer = {"ppo": self.adam, "pqn": self.radam}.get(self.settings["algorithm"])
        if optimizer is not None:
            optimizer.param_groups[0]["lr"] = rate
            optimizer.step()
            return
        decay, epsilon = self.settings["rmsprop_alpha"], self.settings["rmsprop_eps"]
        with torch.no_grad():
            for name, weight in self.weights.items():
                square = self.squares[name]
                square += (1 - decay) * (weight.grad**2 - square)
                weight -= rate * weight.grad / torch.sqrt(square + epsilon)


@dataclass
class Rollout:
    """What is learned from: `[steps, envs, ...]`, and the states before the first step."""

    obs: Tensor
    starts: Tensor
    state: State
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor

    def outputs(self, agent: Agent, chosen: Tensor) -> tuple[Outputs, tuple[Tensor, ...]]:
        """The policy and values now of the `chosen` samples, or environments if there is an LSTM.

        Beside them their actions, log-probabilities, values and advantages of then.
        """
        steps, envs = self.actions.shape[:2]
        if agent.settings["lstm_size"]:
            hidden, cell = (half[chosen] for half in self.state)
            now, _ = agent.unroll(self.obs[:, chosen], self.starts[:, chosen], (hidden, cell))
            chosen = (torch.arange(steps)[:, None] * envs + chosen).flatten()
        else:
            now = agent(self.obs.flatten(0, 1)[chosen])
        then = (self.actions, self.log_probs, self.values, self.advantages)
        return now, tuple(x.flatten(0, 1)[chosen] for x in then)


@torch.no_grad()
def collect(agent: Agent, record: dict[str, Tensor], update: int) -> Rollout:
    """The rollout of an update; the agent goes on from the state that the one before left."""
    gamma, lam = agent.settings["gamma"], agent.settings["gae_lambda"]
    steps, envs = record["actions"].shape[1:3]
    rows = slice(update * steps, (update + 1) * steps + 1)
    obs, last_obs = record["obs"][rows], record["last_obs"][update * steps : (update + 1) * steps]
    actions = record["actions"][update]
    terminated, truncated = record["terminated"][update].bool(), record["truncated"][update].bool()
    goes_on = ~(terminated | truncated)
    state, starts = agent.state, torch.cat([agent.starts[None], ~goes_on])

    (policy, values), states = agent.unroll(obs, starts, state)
    log_probs = policy.log_prob(torch.cat([actions, actions[:1]]).flatten(0, 1))
    values, log_probs = values.view(steps + 1, envs), log_probs.view(steps + 1, envs)[:-1]
    # A truncated episode goes on from the state in which its last action was chosen.
    no_starts = torch.zeros(1, envs, dtype=torch.bool)
    cut_off = [agent.unroll(last_obs[t, None], no_starts, states[t])[0][1] for t in range(steps)]
    after = torch.where(truncated, torch.stack(cut_off), values[1:]).masked_fill(terminated, 0)
    errors = record["rewards"][update].to(agent.dtype) + gamma * after - values[:-1]
    advantages = torch.zeros(steps, envs, dtype=agent.dtype)
    for step in range(steps):
        weight = torch.ones(envs, dtype=agent.dtype)
        for later in range(step, steps):
            advantages[step] += weight * errors[later]
            weight = weight * gamma * lam * goes_on[later]
    agent.state, agent.starts = states[-2], starts[-1]
    return Rollout(
        obs=obs[:-1],
        starts=starts[:-1],
        state=state,
        actions=actions,
        log_probs=log_probs,
        values=values[:-1],
        advantages=advantages,
    )


def ppo_losses(agent: Agent, rollout: Rollout, orders: Tensor) -> Iterator[Callable[[], Tensor]]:
    """The loss of each minibatch, to be calculated with the weights of its time."""
    settings, clip = agent.settings, agent.settings["clip_coef"]

    def loss(chosen: Tensor) -> Tensor:
        (policy, values), then = rollout.outputs(agent, chosen)
        actions, old_log_probs, old_values, advantages = then
        returns = advantages + old_values
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = torch.exp(policy.log_prob(actions) - old_log_probs)
        gain = torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
        near = old_values + (values - old_values).clamp(-clip, clip)
        for moved in (ratio - 1, values - old_values):
            agent.rectified.note(moved.abs() - clip)
        error = torch.max((values - returns) ** 2, (near - returns) ** 2)
        return (
            -gain.mean()
            + settings["vf_coef"] * 0.5 * error.mean()
            - settings["ent_coef"] * policy.entropy().mean()
        )

    for order in orders:
        for chosen in torch.tensor_split(order, settings["num_minibatches"]):
            yield lambda chosen=chosen: loss(chosen)


def a2c_loss(agent: Agent, rollout: Rollout) -> Tensor:
    steps, envs = rollout.actions.shape[:2]
    everything = torch.arange(envs if agent.settings["lstm_size"] else steps * envs)
    (policy, values), (actions, _, old_values, advantages) = rollout.outputs(agent, everything)
    return (
        -(policy.log_prob(actions) * advantages).mean()
        + agent.settings["vf_coef"] * ((values - (advantages + old_values)) ** 2).mean()
        - agent.settings["ent_coef"] * policy.entropy().mean()
    )


def lambda_returns(agent: Agent, record: dict[str, Tensor], update: int) -> Tensor:
    """Mixtures of n-step returns: (1 - λ) λ^(n-1) for the n-th, what is left for the last.

    The last is the one that reaches the end of the episode or of the rollout.
    """
    gamma, lam = agent.settings["gamma"], agent.settings["q_lambda"]
    steps, envs = record["actions"].shape[1:]
    rows = slice(update * steps, (update + 1) * steps + 1)
    with torch.no_grad():
        values = agent.q_values(record["obs"][rows].flatten(0, 1)).max(1).values
        cut_off = agent.q_values(record["last_obs"][rows][:steps].flatten(0, 1)).max(1).values
    values, cut_off = values.view(steps + 1, envs), cut_off.view(steps, envs)
    rewards = record["rewards"][update].to(agent.dtype)
    returns = torch.zeros(steps, envs, dtype=agent.dtype)
    for start in range(steps):
        for env in range(envs):
            gained, left = 0.0, 1.0
            for step in range(start, steps):
                terminated = bool(record["terminated"][update, step, env])
                truncated = bool(record["truncated"][update, step, env])
                gained = gained + gamma ** (step - start) * rewards[step, env]
                after = cut_off[step, env] if truncated else values[step + 1, env]
                bootstrap = 0.0 if terminated else gamma ** (step - start + 1) * after
                is_last = terminated or truncated or step == steps - 1
                weight = left if is_last else left * (1 - lam)
                returns[start, env] += weight * (gained + bootstrap)
                left *= lam
                if is_last:
                    break
    return returns.flatten()


def pqn_losses(
    agent: Agent, record: dict[str, Tensor], update: int
) -> Iterator[Callable[[], Tensor]]:
    steps = record["actions"].shape[1]
    obs = record["obs"][update * steps : (update + 1) * steps].flatten(0, 1)
    actions, returns = record["actions"][update].flatten(), lambda_returns(agent, record, update)

    def loss(indices: Tensor) -> Tensor:
        q_values = agent.q_values(obs[indices])[torch.arange(len(indices)), actions[indices]]
        return 0.5 * ((q_values - returns[indices]) ** 2).mean()

    for order in record["orders"][update]:
        for indices in torch.tensor_split(order, agent.settings["num_minibatches"]):
            yield lambda indices=indices: loss(indices)


def main(folder: Path) -> None:
    record = load_file(folder / "record.safetensors")
    settings = json.loads((folder / "settings.json").read_text())
    is_weight = (".weight", ".bias", ".weight_ih", ".weight_hh", ".bias_ih", ".bias_hh")
    weights = {name: x for name, x in record.items() if name.endswith(is_weight)}
    agent = Agent(weights, settings)
    num_updates, steps, envs = record["actions"].shape
    in_whole_run = -(-settings["total_steps"] // (steps * envs))
    agent.start(envs)
    for update in range(num_updates):
        rate = settings["learning_rate"] * (1 - update / in_whole_run)
        if settings["algorithm"] == "pqn":
            for loss in pqn_losses(agent, record, update):
                agent.descend(loss(), rate)
            continue
        rollout = collect(agent, record, update)
        if settings["algorithm"] == "ppo":
            for loss in ppo_losses(agent, rollout, record["orders"][update]):
                agent.descend(loss(), rate)
        else:
            agent.descend(a2c_loss(agent, rollout), rate)
    after = {name: x.detach().float().contiguous() for name, x in agent.weights.items()}
    after["clearance"] = torch.tensor(agent.rectified.clearance, dtype=torch.float64)
    save_file(after, folder / "after.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for argument in sys.argv[1:]:
        main(Path(argument))
