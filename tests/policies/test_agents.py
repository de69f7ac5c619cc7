"""Policies of several agents: each agent's acts by itself, here and as an ONNX model.

That they compute what the program's networks compute, `rust_trainer/tests/runs/policies.rs` tests.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from program import PROGRAM, Trainer
from untrained import AGENTS, observations, save_agents, save_untrained

from rust_trainer import (
    CheckpointError,
    checkpoints,
    export_onnx,
    load_policy,
    make_hub_folder,
)
from rust_trainer.policies import ActorCritic

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


@pytest.mark.parametrize("name", AGENTS)
def test_each_agent_acts_by_what_it_observes(name: str, tmp_path: Path) -> None:
    file = save_agents(name, tmp_path)
    agents = [None] if name == "mappo" else [0, 1, 2]
    logits = []
    for agent in agents:
        policy = load_policy(file, agent=agent)
        assert policy.obs_shape == (4,)
        obs = observations(policy, 5)
        actions, _ = policy.act(obs, greedy=True)
        path = export_onnx(policy, tmp_path / "policy.onnx")
        model = onnxruntime.InferenceSession(path)
        names = [output.name for output in model.get_outputs()]
        said = dict(zip(names, model.run(None, {"obs": obs}), strict=True))
        np.testing.assert_allclose(said["action"], actions, atol=1e-5)
        assert ("value" in said) == (name == "ippo-own")
        with torch.no_grad():
            theirs = policy(torch.from_numpy(obs))
        chosen_by = theirs[0] if isinstance(theirs, tuple) else theirs
        first = said[names[0]]
        np.testing.assert_allclose(first, chosen_by, rtol=1e-4, atol=2e-5)
        logits.append(first)
        drawn = np.array([policy.act(obs)[0] for _ in range(20)])
        assert (drawn != drawn[0]).any() == (name != "maddpg")
    assert len({each.tobytes() for each in logits}) == len(agents), "networks of their own"


def test_a_central_critic_values_what_all_observe(tmp_path: Path) -> None:
    policy = load_policy(save_agents("mappo", tmp_path))
    assert isinstance(policy, ActorCritic)
    joint = torch.randn(5, 12)
    with torch.no_grad():
        values = policy.joint_value(joint)
        # What the others observe counts.
        joint[:, 8:] += 1
        others = policy.joint_value(joint)
    assert values.shape == (5,)
    assert (values - others).abs().min() > 1e-4
    alone = load_policy(save_untrained("mlp", tmp_path))
    assert isinstance(alone, ActorCritic)
    with pytest.raises(ValueError, match="the value is of the agent's own observation"):
        alone.joint_value(torch.zeros(1, 4))


def test_the_agent_must_fit(tmp_path: Path) -> None:
    own, shared = (save_agents(name, tmp_path) for name in ("maddpg", "mappo"))
    for file, agent, words in [
        (own, None, "each of 3 agents has a network of its own: name one"),
        (own, 3, "agent must be 0 to 2, not 3"),
        (own, -1, "agent must be 0 to 2, not -1"),
        (shared, 0, "all play by one network"),
    ]:
        with pytest.raises(CheckpointError, match=re.escape(words)):
            load_policy(file, agent=agent)
    remembers = checkpoints.read(shared)
    remembers.settings["lstm_size"] = 8
    checkpoints.write(remembers, shared, made_by="a test", no_games="none ran")
    with pytest.raises(CheckpointError, match="LSTM and a central critic"):
        load_policy(shared)


def test_the_program_writes_the_network_of_one_agent(tmp_path: Path) -> None:
    policy = load_policy(save_agents("ippo-own", tmp_path), agent=2)
    trainer = Trainer(tmp_path, PROGRAM)
    words = ["export", "ippo-own.safetensors", "--onnx", "a.onnx"]
    _, err = trainer.run(*words, status=1)
    assert "each of 3 agents has a network of its own" in err
    trainer.run(*words, "--agent", 2)
    obs = observations(policy, 3)
    (action,) = onnxruntime.InferenceSession(tmp_path / "a.onnx").run(["action"], {"obs": obs})
    np.testing.assert_array_equal(action, policy.act(obs, greedy=True)[0])


def test_no_folder_for_a_hub_is_made_of_several(tmp_path: Path) -> None:
    shared, own = (save_agents(name, tmp_path) for name in ("mappo", "maddpg"))
    problem = "is of 3 agents; a hub folder is made of a run with one agent"
    how = ["--onnx", "a.onnx", "--hub", "folder"]
    lines = (["export", shared, *how], ["export", own, *how], ["export", own, *how, "--agent", 0])
    Trainer(tmp_path, PROGRAM).assert_refused(*((line, problem) for line in lines))
    for file in (shared, own):
        with pytest.raises(CheckpointError, match=problem):
            make_hub_folder(file, tmp_path / "folder")
    assert sorted(tmp_path.iterdir()) == sorted((shared, own))
