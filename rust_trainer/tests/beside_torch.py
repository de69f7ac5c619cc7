"""PPO, A2C, PQN and DQN as people write them in PyTorch, in one file, for `beside_torch`.

Run as `python beside_torch.py FOLDER...`. Each has `settings.json`, those of a run, and
`record.safetensors`: the weights and the optimizer's moments at the start and after each update,
what the run drew, and its actions. Here the same games are played by the Python package, actions
are chosen by the same numbers and must be the same, and `after.safetensors` gets the weights after
each update, behind which it goes on from those of the run. Nothing is shared with the trainer.

All is float32. In bf16 what a layer of the body takes and gives, its weights and the gradients of
all but the weights are rounded to what bfloat16 holds, and sums are not: no processor decides what
comes of it. Where the trainer has no kernels for bf16 and leaves it to libtorch, which rounds some
sums too, the products here are libtorch's own of bfloat16.
"""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributions import Categorical
from torch.nn.functional import conv2d, layer_norm, linear, mse_loss, relu
from torch.nn.utils import clip_grad_norm_

from atari_wrappers import make_vec

Tensors = dict[str, Tensor]
# How near to the edge between two actions a draw or a value leaves it to rounding which one it is.
EDGE = 1e-4


class Net:
    """The Nature CNN, perhaps with layer normalization, and the heads that there are weights of."""

    def __init__(self, weights: Tensors, settings: dict) -> None:
        self.weights = {name: x.clone().requires_grad_() for name, x in weights.items()}
        self.bf16 = settings["precision"] == "bf16"
        self.by_libtorch = self.bf16 and not settings["bf16_kernels"]

    def rounded(self, x: Tensor) -> Tensor:
        """Round numbers, and the gradient that comes back."""
        return x.bfloat16().float() if self.bf16 else x

    def layer(self, name: str, x: Tensor, stride: int = 0, scale: float = 1.0) -> Tensor:
        """The sums of a convolution, or without a stride of a fully connected layer."""
        weight, bias = self.weights[f"{name}.weight"] / scale, self.weights[f"{name}.bias"]
        if self.by_libtorch:
            x, weight, bias = x.bfloat16(), weight.bfloat16(), bias.bfloat16()
        else:  # The gradient of a weight is not rounded.
            weight = weight + (self.rounded(weight) - weight).detach()
        return conv2d(x, weight, bias, stride=stride) if stride else linear(x, weight, bias)

    def units(self, name: str, x: Tensor) -> Tensor:
        """What a layer gives, through its norm, if it has one, and rectified linear units."""
        x = self.rounded(x)
        if f"{name}_norm.weight" in self.weights:
            scale, shift = (self.weights[f"{name}_norm.{part}"] for part in ("weight", "bias"))
            x = self.rounded(layer_norm(x.movedim(1, -1), scale.shape, scale, shift, 1e-6))
            x = x.movedim(-1, 1)
        return relu(x)

    def features(self, obs: Tensor) -> Tensor:
        """Of uint8 images; a byte counts as 0 to 1, which in bf16 is the weights' part."""
        x = obs.float().contiguous(memory_format=torch.channels_last)
        x, scale = (x, 255.0) if self.bf16 else (x / 255.0, 1.0)
        for name, stride in (("conv1", 4), ("conv2", 2), ("conv3", 1)):
            x, scale = self.units(name, self.layer(name, x, stride, scale)), 1.0
        return self.units("hidden", self.layer("hidden", x.flatten(1)))

    def head(self, name: str, features: Tensor) -> Tensor:
        return linear(features, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def policy_and_values(self, obs: Tensor) -> tuple[Categorical, Tensor]:
        features = self.features(obs)
        return Categorical(logits=self.head("policy", features)), self.head("value", features)[:, 0]

    def q_values(self, obs: Tensor) -> Tensor:
        return self.head("q", self.features(obs))


class TensorFlowRMSprop(torch.optim.Optimizer):
    """As Baselines' A2C has it: the mean square begins at 1, and epsilon stands under the root."""

    def __init__(self, params: list[Tensor], alpha: float, eps: float) -> None:
        super().__init__(params, {"lr": math.nan, "alpha": alpha, "eps": eps})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for x in group["params"]:
                square = self.state[x].setdefault("square", torch.ones_like(x))
                square += (1 - group["alpha"]) * (x.grad**2 - square)
                x -= group["lr"] * x.grad / torch.sqrt(square + group["eps"])


class Learner:
    """A network and its optimizer, and what became of the weights."""

    def __init__(self, record: Tensors, settings: dict) -> None:
        self.record, self.settings = record, settings
        self.net, self.after = Net(self.of_run("weight", 0), settings), {}
        params = list(self.net.weights.values())
        self.optimizer = {
            "ppo": lambda: torch.optim.Adam(params, eps=settings["adam_eps"]),
            "dqn": lambda: torch.optim.Adam(params, eps=settings["adam_eps"]),
            "pqn": lambda: torch.optim.RAdam(params),
            "a2c": lambda: TensorFlowRMSprop(
                params, settings["rmsprop_alpha"], settings["rmsprop_eps"]
            ),
        }[settings["algorithm"]]()

    def descend(self, loss: Tensor, rate: float) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(self.net.weights.values(), self.settings["max_grad_norm"])
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()

    def of_run(self, kind: str, update: int) -> Tensors:
        """The run's weights or moments after so many updates."""
        start = f"{update}.{kind}."
        return {
            name.removeprefix(start): x for name, x in self.record.items() if name.startswith(start)
        }

    @torch.no_grad()
    def end_update(self, update: int) -> None:
        kinds = {"exp_avg": "mean", "exp_avg_sq": "variance", "square": "square"}
        for name, x in self.net.weights.items():
            self.after[f"{update}.{name}"] = x.detach().clone().contiguous()
            x.copy_(self.of_run("weight", update)[name])
            for kind, moment in self.optimizer.state[x].items():
                if kind in kinds:
                    moment.copy_(self.of_run(kinds[kind], update)[name])


class Games:
    """The environments of a run: SpaceInvaders by the package."""

    def __init__(self, settings: dict) -> None:
        named = ("episodic_life", "clip_reward", "max_episode_frames")
        chosen = {name: settings[name] for name in named if settings[name] != "recipe"}
        self.envs = make_vec(
            settings["env_id"],
            settings["num_envs"],
            backend="native",
            preset=settings["recipe"],
            autoreset=settings.get("autoreset", "same-step"),
            **chosen,
        )
        self.obs = torch.from_numpy(self.envs.reset(seed=settings["seed"])[0].copy())

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rewards, whether games terminated or were cut off, and the last images of those."""
        obs, reward, terminated, truncated, infos = self.envs.step(actions.numpy())
        # In next-step mode the last images of a game that has ended are the newest.
        self.obs = torch.from_numpy(obs.copy())
        last = self.obs.clone()
        for env in np.flatnonzero(infos.get("_final_obs", [])):
            last[env] = torch.from_numpy(infos["final_obs"][env].copy())
        flags = (torch.from_numpy(x.copy()) for x in (terminated, truncated & ~terminated))
        return torch.from_numpy(reward.astype(np.float32)), *flags, last


def drawn_action(probabilities: Tensor, uniform: float, theirs: int) -> int:
    """The action in whose share of [0, 1) the number falls."""
    edges = probabilities.double().cumsum(0)
    place = uniform * edges[-1]
    action = int((edges[:-1] <= place).sum())
    near = (edges[:-1] - place).abs().min() < EDGE
    assert action == theirs or near, f"action {theirs}, not {action}, by {uniform} of {edges}"
    return theirs


def best_action(values: Tensor, theirs: int) -> int:
    """The action of the greatest value."""
    assert values[theirs] > values.max() - EDGE, f"action {theirs} by {values}"
    return theirs


def q_actions(values: Tensor, random: Tensor, theirs: Tensor) -> Tensor:
    """Those that were drawn at random, where not -1, and elsewhere the best."""
    for row, drawn, action in zip(values, random.tolist(), theirs.tolist(), strict=True):
        assert (best_action(row, action) if drawn < 0 else drawn) == action
    return theirs


def advantages(rewards: Tensor, values: Tensor, dones: Tensor, gamma: float, lam: float) -> Tensor:
    """Generalized advantage estimation; `values` has a row more, of what comes behind."""
    result, last = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for step in reversed(range(len(rewards))):
        goes_on = ~dones[step]
        delta = rewards[step] + gamma * values[step + 1] * goes_on - values[step]
        last = delta + gamma * lam * goes_on * last
        result[step] = last
    return result


class OnPolicy:
    """PPO, A2C and PQN: a rollout is collected, learned from and forgotten."""

    def __init__(self, record: Tensors, settings: dict) -> None:
        self.record, self.settings = record, settings
        self.learner, self.games = Learner(record, settings), Games(settings)
        self.is_pqn = settings["algorithm"] == "pqn"

    def values(self, obs: Tensor) -> Tensor:
        net = self.learner.net
        return net.q_values(obs).amax(1) if self.is_pqn else net.policy_and_values(obs)[1]

    def act(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Actions for the newest images, their log-probabilities, and values."""
        net, theirs, drawn = (
            self.learner.net,
            *(self.record[x][step] for x in ("actions", "drawn")),
        )
        if self.is_pqn:
            values = net.q_values(self.games.obs)
            return q_actions(values, drawn.long(), theirs), torch.zeros(len(theirs)), values.amax(1)
        policy, values = net.policy_and_values(self.games.obs)
        rows = zip(policy.probs, drawn.tolist(), theirs.tolist(), strict=True)
        actions = torch.tensor([drawn_action(*row) for row in rows])
        return actions, policy.log_prob(actions), values

    @torch.no_grad()
    def collect(self, update: int) -> Tensors:
        steps, gamma = self.settings["num_steps"], self.settings["gamma"]
        parts = {name: [] for name in ("obs", "actions", "log_probs", "values", "rewards", "dones")}
        for step in range(steps):
            obs = self.games.obs
            actions, log_probs, values = self.act(update * steps + step)
            rewards, terminated, truncated, last = self.games.step(actions)
            if truncated.any():
                rewards[truncated] += gamma * self.values(last[truncated])
            row = (obs, actions, log_probs, values, rewards, terminated | truncated)
            for part, x in zip(parts.values(), row, strict=True):
                part.append(x)
        rollout = {name: torch.stack(part) for name, part in parts.items()}
        values = torch.cat([rollout["values"], self.values(self.games.obs)[None]])
        lam = self.settings["q_lambda" if self.is_pqn else "gae_lambda"]
        rollout["advantages"] = advantages(rollout["rewards"], values, rollout["dones"], gamma, lam)
        rollout["returns"] = rollout["advantages"] + rollout["values"]
        return {name: x.flatten(0, 1) for name, x in rollout.items()}

    def loss(self, batch: Tensors) -> Tensor:
        settings, net = self.settings, self.learner.net
        if self.is_pqn:
            values = net.q_values(batch["obs"]).gather(1, batch["actions"][:, None])[:, 0]
            return 0.5 * mse_loss(values, batch["returns"])
        policy, values = net.policy_and_values(batch["obs"])
        log_probs, gains = policy.log_prob(batch["actions"]), batch["advantages"]
        if settings["algorithm"] == "a2c":
            policy_loss = -(log_probs * gains).mean()
            value_loss = mse_loss(values, batch["returns"])
        else:
            clip, old_values = settings["clip_coef"], batch["values"]
            gains = (gains - gains.mean()) / (gains.std() + 1e-8)
            ratio = (log_probs - batch["log_probs"]).exp()
            policy_loss = -torch.min(gains * ratio, gains * ratio.clamp(1 - clip, 1 + clip)).mean()
            near = old_values + (values - old_values).clamp(-clip, clip)
            errors = ((x - batch["returns"]) ** 2 for x in (values, near))
            value_loss = 0.5 * torch.max(*errors).mean()
        entropy = policy.entropy().mean()
        return policy_loss + settings["vf_coef"] * value_loss - settings["ent_coef"] * entropy

    def minibatches(self, update: int) -> Iterator[Tensor]:
        if "orders" not in self.record:
            yield torch.arange(self.settings["num_steps"] * self.settings["num_envs"])
            return
        for order in self.record["orders"][update]:
            yield from order.tensor_split(self.settings["num_minibatches"])

    def learn(self) -> None:
        samples = self.settings["num_steps"] * self.settings["num_envs"]
        in_whole_run = -(-self.settings["total_steps"] // samples)
        for update in range(self.record["actions"].numel() // samples):
            falls = update / in_whole_run if self.settings["anneal_lr"] else 0
            rollout = self.collect(update)
            for chosen in self.minibatches(update):
                batch = {name: x[chosen] for name, x in rollout.items()}
                self.learner.descend(self.loss(batch), self.settings["learning_rate"] * (1 - falls))
            self.learner.end_update(update + 1)


class Dqn:
    """DQN: transitions are kept, and drawn from all that there are."""

    def __init__(self, record: Tensors, settings: dict) -> None:
        self.record, self.settings = record, settings
        self.learner, self.games = Learner(record, settings), Games(settings)
        self.target = Net(self.learner.of_run("weight", 0), settings)
        self.transitions: list[tuple] = []

    def play(self, step: int) -> None:
        obs, theirs, random = (
            self.games.obs,
            *(self.record[x][step] for x in ("actions", "drawn")),
        )
        with torch.no_grad():
            actions = q_actions(self.learner.net.q_values(obs), random.long(), theirs)
        rewards, terminated, truncated, last = self.games.step(actions)
        after = torch.where(truncated[:, None, None, None], last, self.games.obs)
        self.transitions += zip(obs, actions, rewards, terminated, after, strict=True)

    def descend(self, drawn: Tensor) -> None:
        batch = zip(*(self.transitions[number] for number in drawn.tolist()), strict=True)
        obs, actions, rewards, terminated, after = (torch.stack(part) for part in batch)
        with torch.no_grad():
            target = self.target.q_values(after).amax(1)
            target = rewards + self.settings["gamma"] * target * ~terminated
        values = self.learner.net.q_values(obs).gather(1, actions[:, None])[:, 0]
        self.learner.descend(mse_loss(values, target), self.settings["learning_rate"])

    def learn(self) -> None:
        settings, batches, done = self.settings, iter(self.record["batches"]), 0
        envs, due = settings["num_envs"], 0
        for step in range(len(self.record["actions"])):
            self.play(step)
            due += envs if len(self.transitions) >= settings["learning_starts"] else 0
            while due >= settings["train_frequency"]:
                self.descend(next(batches))
                due, done = due - settings["train_frequency"], done + 1
                if done % settings["target_update"] == 0:
                    self.target = Net(self.learner.net.weights, settings)
            if (step + 1) * envs % settings["steps_per_update"] == 0:
                self.learner.end_update((step + 1) * envs // settings["steps_per_update"])
        assert next(batches, None) is None


def main(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    record = load_file(folder / "record.safetensors")
    agent = (Dqn if settings["algorithm"] == "dqn" else OnPolicy)(record, settings)
    agent.learn()
    save_file(agent.learner.after, folder / "after.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for argument in sys.argv[1:]:
        main(Path(argument))
