"""ONNX models: onnxruntime says what PyTorch says, and plays the same games."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from program import PROGRAM, Trainer
from untrained import CASES, observations, save_untrained, untrained

from rust_trainer import __version__, export_onnx, load_policy
from rust_trainer.policies import RecurrentActorCritic

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def session(file: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(file, options)


def run(model: Any, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    names = [output.name for output in model.get_outputs()]
    return dict(zip(names, model.run(None, inputs), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_it_computes_what_the_policy_computes(name: str, tmp_path: Path) -> None:
    policy = untrained(name, tmp_path)
    model = session(export_onnx(policy, tmp_path / "policy.onnx"))
    obs = observations(policy, 5)
    inputs, state = [torch.from_numpy(obs)], None
    if isinstance(policy, RecurrentActorCritic):
        state = torch.randn(2, 5, policy.lstm.hidden_size)
        inputs.append(state)
    said = run(model, obs=obs, **({} if state is None else {"state": state.numpy()}))
    with torch.no_grad():
        theirs = policy(*inputs)
    theirs = theirs if isinstance(theirs, tuple) else (theirs,)
    for (what, ours), expected in zip(said.items(), theirs, strict=False):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=2e-5, err_msg=what)
    actions, _ = policy.act(obs, state, greedy=True)
    np.testing.assert_allclose(said["action"], actions, atol=1e-5)


@pytest.mark.parametrize("name", ["nature", "nature-lstm", "mlp-lstm"])
def test_it_plays_the_same_games(name: str, tmp_path: Path) -> None:
    policy = untrained(name, tmp_path)
    model = session(export_onnx(policy, tmp_path / "policy.onnx"))
    env = policy.env.make_env()
    obs, _ = env.reset(seed=3)
    state, theirs = None, np.zeros((2, 1, 1), np.float32)
    if isinstance(policy, RecurrentActorCritic):
        theirs = policy.new_state(1).numpy()
    over, chosen = False, []
    while not over:
        action, state = policy.act(obs, state, greedy=True)
        inputs = {"obs": obs[None]} if state is None else {"obs": obs[None], "state": theirs}
        said = run(model, **inputs)
        theirs = said.get("state_out")
        assert said["action"][0] == action, len(chosen)
        chosen.append(int(action))
        obs, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
    env.close()
    assert len(chosen) > 8
    if state is None:
        assert len(set(chosen)) > 1
    else:
        np.testing.assert_allclose(theirs, state, atol=1e-4)


def test_the_program_writes_it_with_what_a_player_needs(tmp_path: Path) -> None:
    save_untrained("nature", tmp_path)
    out, _ = Trainer(tmp_path, PROGRAM).run("export", "nature.safetensors", "--onnx", "a.onnx")
    assert "ONNX model: a.onnx" in out
    model = onnx.load(tmp_path / "a.onnx")
    onnx.checker.check_model(model, full_check=True)
    kept = {each.key: json.loads(each.value) for each in model.metadata_props}
    assert (model.producer_name, model.producer_version) == ("rust_trainer", __version__)
    assert kept["env_id"] == "SpaceInvadersNoFrameskip-v4"
    assert kept["recipe"]["frame_stack"] == 4
    assert kept["action_meanings"][1] == "FIRE"
    (about,) = model.graph.input
    assert about.type.tensor_type.elem_type == onnx.TensorProto.UINT8
    assert [side.dim_value for side in about.type.tensor_type.shape.dim] == [0, 4, 84, 84]


def test_infinite_bounds_are_json_too(tmp_path: Path) -> None:
    policy = load_policy(save_untrained("nature-continuous", tmp_path))
    policy.checkpoint.action_space["high"] = [1.0, float("inf"), 1.0]
    model = onnx.load(export_onnx(policy, tmp_path / "a.onnx"))
    [space] = [each.value for each in model.metadata_props if each.key == "action_space"]
    assert json.loads(space, parse_constant=pytest.fail)["high"] == [1.0, None, 1.0]


def test_a_missing_package_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = load_policy(save_untrained("mlp", tmp_path))
    importing = builtins.__import__

    def without(name: str, *others: Any, **more: Any) -> Any:
        if name == "onnx":
            raise ModuleNotFoundError(name)
        return importing(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'atari-trainer\[onnx\]'"):
        export_onnx(policy, tmp_path / "policy.onnx")
