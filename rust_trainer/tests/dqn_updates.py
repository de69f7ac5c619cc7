"""DQN's gradient steps by PyTorch alone, on what `dqn/updates.rs` recorded.

Run as `python dqn_updates.py FOLDER...`. Each has `record.safetensors`, the weights at the start,
what the environments gave, the actions taken and the numbers drawn, and `settings.json`, and gets
`after.safetensors`, the weights, the target network's and the priorities at the end, and how near
to a kink any gradient was taken. Nothing here is shared with the trainer. In fp32 everything is
float64, so that what differs is the trainer's rounding; in bf16 all but the last layers is
bfloat16.
"""

import json
import sys
from pathlib import Path

import torch
from impala import residual
from nature_cnn import Rectified, convolutions
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.functional import huber_loss, linear, mse_loss, softmax
from torch.nn.utils import clip_grad_norm_

Weights = dict[str, Tensor]


class Net:
    """The Nature CNN or IMPALA's network; noisy layers and two streams if the settings say so."""

    def __init__(self, weights: Weights, settings: dict) -> None:
        self.rectified = Rectified()
        bf16 = settings["precision"] == "bf16"
        self.dtype = torch.float32 if bf16 else torch.float64
        self.body = torch.bfloat16 if bf16 else torch.float64
        self.weights = {
            name: x.detach().clone().to(self.dtype).requires_grad_() for name, x in weights.items()
        }
        kind = settings["distributional"]
        counts = {"none": 1, "c51": settings["num_atoms"], "quantile": settings["num_quantiles"]}
        counts["iqn"] = 1
        self.count = counts[kind]
        self.support = {
            "none": torch.zeros(1),
            "c51": torch.linspace(settings["v_min"], settings["v_max"], self.count).double(),
            "quantile": (torch.arange(self.count) * 2 + 1) / (2 * self.count),
            "iqn": torch.zeros(1),
        }[kind].to(self.dtype)
        self.kind, self.noisy, self.dueling = kind, settings["noisy"], settings["dueling"]

    def layer(self, name: str, x: Tensor, noise: list[Tensor]) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        if self.noisy:
            inputs, outputs = (n.sign() * n.abs().sqrt() for n in (noise.pop(0), noise.pop(0)))
            weight = weight + self.weights[f"{name}.weight_sigma"] * torch.outer(outputs, inputs)
            bias = bias + self.weights[f"{name}.bias_sigma"] * outputs
        return linear(x, weight.to(x.dtype), bias.to(x.dtype))

    def stream(self, name: str, x: Tensor, noise: list[Tensor]) -> Tensor:
        hidden = self.rectified(self.layer(f"{name}.hidden", x, noise))
        return self.layer(f"{name}.out", hidden.to(self.dtype), noise)

    def noise_shapes(self) -> list[int]:
        names = ["value", "advantage"] if self.dueling else ["q"]
        layers = [f"{name}.{part}" for name in names for part in ("hidden", "out")]
        shapes = [self.weights[f"{layer}.weight"].shape for layer in layers]
        return [size for outputs, inputs in shapes for size in (inputs, outputs)]

    def __call__(self, obs: Tensor, numbers: Tensor, fractions: Tensor | None = None) -> Tensor:
        noise = list(numbers.to(self.dtype).split(self.noise_shapes())) if self.noisy else []
        if "stage1.conv.weight" in self.weights:
            x = residual(self.weights, obs, self.rectified).flatten(1)
        else:
            x = convolutions(self.weights, obs, self.body, self.rectified).flatten(1)
        if fractions is None or self.kind != "iqn":
            return self.head(x, noise)
        quantiles = [self.head(self.weighed(x, tau), list(noise)) for tau in fractions.unbind(1)]
        return torch.cat(quantiles, -1)

    def weighed(self, features: Tensor, tau: Tensor) -> Tensor:
        """Equation 4 of Dabney et al. 2018, "Implicit quantile networks", for a fraction a row."""
        weight, bias = self.weights["quantiles.weight"], self.weights["quantiles.bias"]
        cosines = torch.cos(torch.pi * torch.arange(weight.shape[1]) * tau[:, None].to(self.dtype))
        embedded = linear(cosines.to(self.body), weight.to(self.body), bias.to(self.body))
        return features * self.rectified(embedded)

    def head(self, x: Tensor, noise: list[Tensor]) -> Tensor:
        if self.dueling:
            value = self.stream("value", x, noise).unsqueeze(1)
            advantage = self.stream("advantage", x, noise).unflatten(1, (-1, self.count))
            return value + advantage - advantage.mean(1, keepdim=True)
        if self.noisy or self.kind == "iqn":
            return self.stream("q", x, noise).unflatten(1, (-1, self.count))
        weight, bias = self.weights["hidden.weight"], self.weights["hidden.bias"]
        x = self.rectified(linear(x, weight.to(self.body), bias.to(self.body))).to(self.dtype)
        weight, bias = self.weights["q.weight"], self.weights["q.bias"]
        return linear(x, weight, bias).unflatten(1, (-1, self.count))

    def mean(self, outputs: Tensor) -> Tensor:
        if self.kind == "c51":
            return (softmax(outputs, -1) * self.support).sum(-1)
        return outputs.mean(-1)


def projected(support: Tensor, probabilities: Tensor, reward: float, discount: float) -> Tensor:
    """Algorithm 1 of Bellemare et al. 2017, atom by atom."""
    low, high, count = support[0].item(), support[-1].item(), len(support)
    result = torch.zeros(count, dtype=support.dtype)
    for atom, probability in zip(support.tolist(), probabilities.tolist(), strict=True):
        place = (min(max(reward + discount * atom, low), high) - low) / (high - low) * (count - 1)
        below = min(int(place), count - 2)
        result[below] += probability * (below + 1 - place)
        result[below + 1] += probability * (place - below)
    return result


class Memory:
    """Every transition, whole, in the order in which they came."""

    def __init__(self, record: dict[str, Tensor], settings: dict) -> None:
        self.record, self.settings = record, settings
        self.envs = record["actions"].shape[1]
        self.steps_held = -(-settings["replay_capacity"] // self.envs)
        self.capacity = self.steps_held * self.envs
        self.priorities = torch.zeros(self.capacity, dtype=torch.float64)
        self.largest = 1.0

    def held(self, steps: int) -> range:
        end = max(0, steps - self.settings["n_step"] + 1)
        return range(max(0, end - self.steps_held) * self.envs, end * self.envs)

    def get(self, number: int) -> tuple[Tensor, int, float, float, Tensor]:
        first, env = divmod(number, self.envs)
        total, discount, record = 0.0, 1.0, self.record
        for step in range(first, first + self.settings["n_step"]):
            total += discount * record["rewards"][step, env].item()
            discount *= self.settings["gamma"]
            after = record["obs"][step + 1, env]
            if record["terminated"][step, env]:
                discount = 0.0
                break
            if record["truncated"][step, env]:
                after = record["last_obs"][step, env]
                break
        action = record["actions"][first, env].item()
        return record["obs"][first, env], action, total, discount, after

    def draw(self, drawn: Tensor, steps: int) -> tuple[list[int], Tensor]:
        """Numbers of transitions, and importance weights."""
        settings, held, count = self.settings, self.held(steps), len(drawn)
        if not settings["prioritized"]:
            return drawn.long().tolist(), torch.ones(count, dtype=torch.float64)
        sums = self.priorities.cumsum(0)
        masses = (torch.arange(count) + drawn) * sums[-1] / count
        leaves = torch.searchsorted(sums, masses, right=True)
        done = min(1.0, steps * self.envs / settings["total_steps"])
        beta = settings["priority_beta"] + done * (1 - settings["priority_beta"])
        weights = (len(held) * self.priorities[leaves] / sums[-1]) ** -beta
        by_leaf = {number % self.capacity: number for number in held}
        return [by_leaf[leaf] for leaf in leaves.tolist()], weights / weights.max()

    def set(self, number: int, priority: float) -> None:
        leaf = number % self.capacity
        self.priorities[leaf] = priority ** self.settings["priority_alpha"]


def losses(
    net: Net,
    outputs: Tensor,
    next_outputs: Tensor,
    memory: Memory,
    batch: list,
    fractions: Tensor | None,
) -> tuple:
    """Losses and errors of a batch, whose rewards and discounts are known."""
    rewards, discounts = (
        torch.tensor([one[part] for one in batch], dtype=net.dtype) for part in (2, 3)
    )
    if net.kind == "c51":
        rows = zip(softmax(next_outputs, -1), rewards.tolist(), discounts.tolist(), strict=True)
        target = torch.stack([projected(net.support, *row) for row in rows])
        log_ratio = torch.where(target > 0, target, 1).log() - torch.log_softmax(outputs, -1)
        divergence = (target * log_ratio).sum(-1)
        return divergence, divergence
    target = rewards[:, None] + discounts[:, None] * next_outputs
    if net.kind == "none":
        elementwise = huber_loss if memory.settings["huber"] else mse_loss
        loss = elementwise(outputs, target, reduction="none").squeeze(1)
        return loss, (target - outputs).abs().squeeze(1)
    loss = torch.zeros(len(batch), dtype=net.dtype)
    taus = net.support if fractions is None else fractions.to(net.dtype).unbind(1)
    for one, tau in zip(outputs.unbind(1), taus, strict=True):
        for other in target.unbind(1):
            below = (other - one < 0).to(net.dtype)
            part = (tau - below).abs() * huber_loss(one, other, reduction="none")
            loss = loss + part / target.shape[1]
    return loss, (target.mean(1) - outputs.mean(1)).abs()


def check_actions(net: Net, record: dict[str, Tensor], step: int) -> None:
    """The random actions where they were drawn, and elsewhere the best by noisy values."""
    with torch.no_grad():
        fractions = record["act_fractions"][step].view(len(record["actions"][step]), -1)
        values = net.mean(net(record["obs"][step], record["act_noise"][step], fractions))
    for row, action, drawn in zip(
        values, record["actions"][step], record["random_actions"][step], strict=True
    ):
        if drawn >= 0:
            assert action == drawn, f"step {step}: {action} and not {drawn}"
        else:  # Of almost equal values rounding chooses.
            assert row[action] > row.max() - 1e-5, f"step {step}: {action} by {row}"


def fractions_of(drawn: Tensor, settings: dict) -> list[Tensor] | list[None]:
    """What a gradient step drew for implicit quantiles: for the choice, the target, the loss."""
    if settings["distributional"] != "iqn":
        return [None] * 3
    names = ("num_quantile_samples", "num_tau_prime_samples", "num_tau_samples")
    counts = [settings[name] for name in names]
    parts = drawn.split([settings["batch_size"] * count for count in counts])
    return [part.view(-1, count) for part, count in zip(parts, counts, strict=True)]


def main(folder: Path, settings: dict) -> None:
    record = load_file(folder / "record.safetensors")
    start = {name[6:]: x for name, x in record.items() if name.startswith("start.")}
    net, target_net, memory = Net(start, settings), Net(start, settings), Memory(record, settings)
    adam = torch.optim.Adam(
        net.weights.values(), lr=settings["learning_rate"], eps=settings["adam_eps"]
    )
    done = 0
    for steps in range(1, len(record["actions"]) + 1):
        if settings["precision"] == "fp32":
            check_actions(net, record, steps - 1)
        for number in set(memory.held(steps)) - set(memory.held(steps - 1)):
            memory.set(number, memory.largest)
        if len(memory.held(steps)) < settings["learning_starts"]:
            continue
        numbers, weights = memory.draw(record["drawn"][done], steps)
        noise, target_noise = record["noise"][done]
        judging, targeted, learning = fractions_of(record["fractions"][done], settings)
        batch = [memory.get(number) for number in numbers]
        obs, after = (torch.stack([one[part] for one in batch]) for part in (0, 4))
        rows = torch.arange(len(batch))
        with torch.no_grad():
            next_outputs = target_net(after, target_noise, targeted)
            judge = (net, noise) if settings["double_q"] else (target_net, target_noise)
            judged = judge[0](after, judge[1], judging)
            next_outputs = next_outputs[rows, net.mean(judged).argmax(1)]
        outputs = net(obs, noise, learning)[rows, [one[1] for one in batch]]
        loss, errors = losses(net, outputs, next_outputs, memory, batch, learning)
        adam.zero_grad()
        (loss * weights.to(net.dtype)).mean().backward()
        clip_grad_norm_(net.weights.values(), settings["max_grad_norm"])
        adam.step()
        for number, error in zip(numbers, errors.tolist(), strict=True):
            memory.largest = max(memory.largest, error + 1e-6)
            memory.set(number, error + 1e-6)
        done += 1
        if done % settings["target_update"] == 0:
            target_net = Net(net.weights, settings)
    assert done == len(record["drawn"]), f"{done} gradient steps, {len(record['drawn'])} recorded"
    after = {name: x.detach().float() for name, x in net.weights.items()}
    after |= {f"target.{name}": x.detach().float() for name, x in target_net.weights.items()}
    after["priorities"] = memory.priorities
    after["clearance"] = torch.tensor(net.rectified.clearance, dtype=torch.float64)
    save_file({name: x.contiguous() for name, x in after.items()}, folder / "after.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for argument in sys.argv[1:]:
        main(Path(argument), json.loads((Path(argument) / "settings.json").read_text()))
