"""Loads the checkpoints of a folder and compares what their networks say with what ours said."""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from rust_trainer import load_policy
from rust_trainer.policies import (
    ActorCritic,
    DeterministicPolicy,
    Policy,
    QNetwork,
    RecurrentActorCritic,
)

TOLERANCE = 1e-5


def said(policy: Policy, known: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    obs = known["obs"]
    if isinstance(policy, DeterministicPolicy):
        return {"actions": policy(obs)}
    if isinstance(policy, QNetwork):
        return {"q_values": policy(obs), "returns": policy.returns(obs)}
    assert isinstance(policy, ActorCritic)
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
        policy = load_policy(file.with_name(f"{name}.safetensors"))
        known = load_file(file)
        with torch.no_grad():
            found = said(policy, known)
        assert found.keys() == known.keys() - {"obs", "state"}, name
        for what, theirs in found.items():
            assert theirs.shape == known[what].shape, (name, what)
            off = (theirs - known[what]).abs().max() / known[what].abs().max().clamp(min=1)
            assert off < TOLERANCE, (name, what, off)
            assert known[what].std() > 1e-3, (name, what)


if __name__ == "__main__":
    main()
