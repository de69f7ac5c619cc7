"""Gradient steps of MADDPG by PyTorch alone, on what `continuous/maddpg.rs` recorded.

Run as `python maddpg_updates.py FOLDER...`; files are those of `ddpg_updates.py`. Discrete actions
are drawn by `torch.nn.functional.gumbel_softmax` with the noise that was recorded.
"""

import json
import sys
from pathlib import Path
from unittest import mock

import torch
from nature_cnn import Rectified
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.functional import gumbel_softmax, linear, mse_loss, one_hot
from torch.optim import Adam

LOW, HIGH = torch.tensor([-1.0, 0.5]).double(), torch.tensor([1.0, 4.5]).double()
AGENTS, ACTIONS, LOGIT_WEIGHT = 3, 4, 1e-3


class Agent:
    """The policy and the critic of an agent."""

    def __init__(self, weights: dict[str, Tensor], rectified: Rectified) -> None:
        self.rectified = rectified
        self.weights = {
            name: x.detach().clone().double().requires_grad_() for name, x in weights.items()
        }

    def mlp(self, x: Tensor, name: str) -> Tensor:
        for part in (f"{name}.hidden1", f"{name}.hidden2", name):
            x = linear(x, self.weights[f"{part}.weight"], self.weights[f"{part}.bias"])
            x = x if part == name else self.rectified(x)
        return x

    def acts(self, obs: Tensor, uniform: Tensor | None) -> tuple[Tensor, Tensor]:
        """What it does, with gradients, and the logits."""
        said = self.mlp(obs, "policy")
        if uniform is None:
            return torch.tanh(said) * (HIGH - LOW) / 2 + (HIGH + LOW) / 2, said
        # `gumbel_softmax` draws from an exponential distribution: E = -log U.
        exponential = -uniform.log()
        with mock.patch.object(Tensor, "exponential_", return_value=exponential):
            return gumbel_softmax(said, tau=1, hard=True), said

    def value(self, obs: Tensor, actions: list[Tensor]) -> Tensor:
        """Of what all observe, `[batch, agents, numbers]`, and do."""
        return self.mlp(torch.cat([obs.flatten(1), *actions], 1), "q1").squeeze(1)

    def of(self, kind: str) -> list[Tensor]:
        return [x for name, x in self.weights.items() if name.startswith(kind)]


def agents_of(weights: dict[str, Tensor], rectified: Rectified) -> list[Agent]:
    def own(agent: int) -> dict[str, Tensor]:
        start = f"agent{agent}."
        named = weights.items()
        return {name.removeprefix(start): x for name, x in named if name.startswith(start)}

    return [Agent(own(agent), rectified) for agent in range(AGENTS)]


def main(folder: Path, settings: dict) -> None:
    record = load_file(folder / "record.safetensors")
    start = {name[6:]: x for name, x in record.items() if name.startswith("start.")}
    record = {name: x.double() if x.is_floating_point() else x for name, x in record.items()}
    rectified = Rectified()
    agents, targets = agents_of(start, rectified), agents_of(start, rectified)
    optimizers = [
        [Adam(agent.of(kind), settings["learning_rate"]) for kind in "pq"] for agent in agents
    ]
    is_discrete = record["actions"].shape[2] == 1
    batch = settings["batch_size"]
    noise: list = [[None] * AGENTS, [None] * AGENTS]
    for number, steps in enumerate(record["numbers"]):
        if is_discrete:
            drawn = record["uniform"].view(-1, 2, batch, AGENTS, ACTIONS)[number]
            noise = [list(drawn[use].unbind(1)) for use in range(2)]
        obs, taken = record["obs"][steps], record["actions"][steps]
        taken = one_hot(taken[..., 0].long(), ACTIONS).double() if is_discrete else taken
        actions = list(taken.unbind(1))
        ended = record["terminated"][steps]
        cut = (record["truncated"][steps] & ~ended)[..., None]
        after = torch.where(cut, record["last_obs"][steps], record["obs"][steps + 1])
        with torch.no_grad():
            then = [
                target.acts(after[:, index], noise[0][index])[0]
                for index, target in enumerate(targets)
            ]
            for_agents = [
                record["rewards"][steps, index]
                + settings["gamma"] * ~ended[:, index] * target.value(after, then)
                for index, target in enumerate(targets)
            ]
        for agent, (_, of_critic), aim in zip(agents, optimizers, for_agents, strict=True):
            of_critic.zero_grad()
            mse_loss(agent.value(obs, actions), aim).backward()
            of_critic.step()
        if (number + 1) % settings["policy_frequency"]:
            continue
        for index, (agent, (of_policy, _)) in enumerate(zip(agents, optimizers, strict=True)):
            own, said = agent.acts(obs[:, index], noise[1][index])
            loss = -agent.value(obs, [*actions[:index], own, *actions[index + 1 :]]).mean()
            if is_discrete:
                loss = loss + LOGIT_WEIGHT * said.square().mean()
            of_policy.zero_grad()
            loss.backward()
            of_policy.step()
        with torch.no_grad():
            for agent, target in zip(agents, targets, strict=True):
                for name, x in target.weights.items():
                    tau = settings["tau"]
                    x.copy_(tau * agent.weights[name] + (1 - tau) * x)
    result = {}
    for index in range(AGENTS):
        for kind, agent in (("", agents[index]), ("target.", targets[index])):
            named = agent.weights.items()
            result |= {f"{kind}agent{index}.{name}": x.detach().float() for name, x in named}
    result["clearance"] = torch.tensor(rectified.clearance, dtype=torch.float64)
    save_file({name: x.contiguous() for name, x in result.items()}, folder / "after.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for argument in sys.argv[1:]:
        main(Path(argument), json.loads((Path(argument) / "settings.json").read_text()))
