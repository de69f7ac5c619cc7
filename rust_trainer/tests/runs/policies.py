"""Loads the checkpoints of a folder and compares what their networks say with what ours said."""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from rust_trainer import checkpoints, load_policy
from rust_trainer.policies import (
    ActorCritic,
    DeterministicPolicy,
    QNetwork,
    RecurrentActorCritic,
    SoftmaxPolicy,
)
from rust_trainer.policy import Policy

TOLERANCE = 1e-5


def said_by(file: Path, known: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    settings = checkpoints.read(file).settings
    count = settings.get("num_agents", 0)
    if settings["algorithm"] != "maddpg" and settings.get("share_weights", True):
        return said(load_policy(file), known)
    # Each row is of the next agent.
    of_agents = []
    for agent in range(count):
        own = {name: rows[agent::count] for name, rows in known.items()}
        if settings["algorithm"] == "ppo":
            own["obs"] = own["obs"][:, :-count]
        of_agents.append(said(load_policy(file, agent=agent), own))
    return {
        name: torch.stack([each[name] for each in of_agents], 1).flatten(0, 1)
        for name in of_agents[0]
    }


def said(policy: Policy, known: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    obs = known["obs"]
    if isinstance(policy, SoftmaxPolicy):
        return {"log_probs": torch.log_softmax(policy(obs), 1)}
    if isinstance(policy, DeterministicPolicy):
        return {"actions": policy(obs)}
    if isinstance(policy, QNetwork):
        return {"q_values": policy(obs), "returns": policy.returns(obs)}
    assert isinstance(policy, ActorCritic)
    if policy.is_central:
        (numbers,) = policy(obs[:, : policy.obs_shape[0]])
        name = "log_probs" if policy.bounds is None else "mean"
        chosen = torch.log_softmax(numbers, 1) if policy.bounds is None else numbers
        return {name: chosen, "value": policy.joint_value(obs)}
    recurrent = isinstance(policy, RecurrentActorCritic)
    numbers, *others = policy(obs, known["state"]) if recurrent else policy(obs)
    found = dict(zip(("value", "state_out"), others, strict=False))
    if policy.bounds is None:
        return found | {"log_probs": torch.log_softmax(numbers, 1)}
    return found | {"mean": numbers}


def main() -> None:
    assert "rust_trainer._rust_trainer" not in sys.modules
    torch.set_num_threads(1)
    files = sorted(Path(sys.argv[1]).glob("*.said.safetensors"))
    assert files
    for file in files:
        name = file.name.removesuffix(".said.safetensors")
        known = load_file(file)
        with torch.no_grad():
            found = said_by(file.with_name(f"{name}.safetensors"), known)
        assert found.keys() == known.keys() - {"obs", "state"}, name
        for what, theirs in found.items():
            assert theirs.shape == known[what].shape, (name, what)
            off = (theirs - known[what]).abs().max() / known[what].abs().max().clamp(min=1)
            assert off < TOLERANCE, (name, what, off)
            assert known[what].std() > 1e-3, (name, what)


if __name__ == "__main__":
    main()
