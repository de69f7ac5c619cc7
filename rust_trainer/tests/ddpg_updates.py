"""Gradient steps of DDPG and TD3 by PyTorch alone, on what `continuous/deterministic.rs` recorded.

Run as `python ddpg_updates.py FOLDER...`. Each has `record.safetensors`, the weights at the start,
what the environments gave, the actions taken and the numbers drawn, and `settings.json`, and gets
`after.safetensors`, all weights at the end, and how near to a kink any gradient was taken. Nothing
here is shared with the trainer. Everything is float64, so that what differs is the trainer's
rounding.
"""

import json
import sys
from pathlib import Path

import torch
from nature_cnn import Rectified
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.functional import linear, mse_loss
from torch.optim import Adam

LOW, HIGH = torch.tensor([-1.0, 0.5]).double(), torch.tensor([1.0, 4.5]).double()
SCALE, MIDDLE = (HIGH - LOW) / 2, (HIGH + LOW) / 2


class Nets:
    """A policy and critics, by the names of their weights."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        self.rectified = Rectified()
        self.weights = {
            name: x.detach().clone().double().requires_grad_() for name, x in weights.items()
        }
        self.critics = sorted({name[:2] for name in weights if name.startswith("q")})

    def layer(self, x: Tensor, name: str) -> Tensor:
        return linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def mlp(self, x: Tensor, name: str) -> Tensor:
        for hidden in ("hidden1", "hidden2"):
            x = self.rectified(self.layer(x, f"{name}.{hidden}"))
        return self.layer(x, name)

    def policy(self, obs: Tensor) -> Tensor:
        return torch.tanh(self.mlp(obs, "policy")) * SCALE + MIDDLE

    def values(self, obs: Tensor, actions: Tensor) -> list[Tensor]:
        x = torch.cat([obs, actions], 1)
        return [self.mlp(x, name).squeeze(1) for name in self.critics]

    def of(self, kind: str) -> list[Tensor]:
        return [x for name, x in self.weights.items() if name.startswith(kind)]


def check_actions(nets: Nets, record: dict[str, Tensor], step: int, settings: dict) -> None:
    """Random ones before the first gradient step, then the policy's with noise."""
    drawn = record["act_drawn"][step]
    if step * len(drawn) < settings["learning_starts"]:
        expected = LOW + drawn * (HIGH - LOW)
    else:
        with torch.no_grad():
            expected = nets.policy(record["obs"][step])
        expected = expected + drawn * settings["exploration_noise"] * SCALE
    off = (expected.clamp(LOW, HIGH) - record["actions"][step]).abs().max()
    assert off < 1e-5, f"step {step}: actions differ by {off}"


def batch_of(record: dict[str, Tensor], numbers: list[int], gamma: float) -> tuple[Tensor, ...]:
    """Observations, actions, rewards, discounts and next observations of transitions."""
    rows = []
    for step, env in (divmod(number, record["actions"].shape[1]) for number in numbers):
        cut = record["truncated"][step, env] and not record["terminated"][step, env]
        after = record["last_obs"][step, env] if cut else record["obs"][step + 1, env]
        discount = torch.tensor(0.0 if record["terminated"][step, env] else gamma).double()
        taken = (record["obs"][step, env], record["actions"][step, env])
        rows.append((*taken, record["rewards"][step, env], discount, after))
    return tuple(map(torch.stack, zip(*rows, strict=True)))


def main(folder: Path, settings: dict) -> None:
    record = load_file(folder / "record.safetensors")
    start = {name[6:]: x for name, x in record.items() if name.startswith("start.")}
    record = {name: x.double() if x.is_floating_point() else x for name, x in record.items()}
    nets, targets = Nets(start), Nets(start)
    of_policy, of_critics = (Adam(nets.of(kind), settings["learning_rate"]) for kind in "pq")
    steps, envs = record["actions"].shape[:2]
    done = 0
    for step in range(steps):
        check_actions(nets, record, step, settings)
        if (step + 1) * envs < settings["learning_starts"]:
            continue
        numbers = record["numbers"][done].tolist()
        obs, actions, rewards, discounts, after = batch_of(record, numbers, settings["gamma"])
        with torch.no_grad():
            next_actions = targets.policy(after)
            if settings["algorithm"] == "td3":
                clip = settings["noise_clip"]
                noise = (record["noise"][done] * settings["policy_noise"]).clamp(-clip, clip)
                next_actions = (next_actions + noise * SCALE).clamp(LOW, HIGH)
            least = torch.stack(targets.values(after, next_actions)).min(0).values
            target = rewards + discounts * least
        loss = sum(mse_loss(values, target) for values in nets.values(obs, actions))
        of_critics.zero_grad()
        loss.backward()
        of_critics.step()
        done += 1
        if done % settings["policy_frequency"]:
            continue
        of_policy.zero_grad()
        (-nets.values(obs, nets.policy(obs))[0].mean()).backward()
        of_policy.step()
        with torch.no_grad():
            for name, x in targets.weights.items():
                tau = settings["tau"]
                x.copy_(tau * nets.weights[name] + (1 - tau) * x)
    assert done == len(record["numbers"]), f"{done} gradient steps"
    assert done > 2 * settings["policy_frequency"]
    result = {name: x.detach().float() for name, x in nets.weights.items()}
    result |= {f"target.{name}": x.detach().float() for name, x in targets.weights.items()}
    result["clearance"] = torch.tensor(nets.rectified.clearance, dtype=torch.float64)
    save_file({name: x.contiguous() for name, x in result.items()}, folder / "after.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for argument in sys.argv[1:]:
        main(Path(argument), json.loads((Path(argument) / "settings.json").read_text()))
