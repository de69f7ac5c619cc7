"""`load_policy`: what it reads, how it acts, and that it plays as the program plays.

That it computes what the program's networks compute, `rust_trainer/tests/runs/policies.rs` tests.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from program import ROOT
from untrained import CASES, observations, save_untrained, untrained

import rust_trainer
from atari_wrappers.game.native import NativeView
from rust_trainer import CheckpointError, checkpoints, load_policy
from rust_trainer.played_envs import OF_RECIPES, EnvPlan
from rust_trainer.playing import play_games
from rust_trainer.policies import QNetwork


# The IMPALA network takes long, and games of images are played by others.
@pytest.mark.parametrize("name", [name for name in CASES if name != "impala"])
def test_it_plays_the_games_that_the_program_plays(name: str, tmp_path: Path) -> None:
    file = save_untrained(name, tmp_path)
    policy = load_policy(file)
    ours = rust_trainer.evaluate(file, 2, greedy=True, seed=5, num_envs=2)
    if name == "self-play":  # whose other side draws by another generator
        assert len(play_games(policy, 2, seed=5, greedy=True).lengths) == 2
        return
    played = play_games(policy, 2, seed=5, greedy=True)
    assert (played.returns, played.lengths) == (ours.returns, ours.lengths)


def test_games_are_made_by_the_settings_that_the_trainer_passes_on() -> None:
    source = (ROOT / "rust_trainer/src/envs/request.rs").read_text()
    [named] = re.findall(r"const OF_RECIPES: .*?= \[(.*?)\];", source, re.DOTALL)
    assert re.findall(r'"(\w+)"', named) == list(OF_RECIPES)


def test_names_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    for name in CASES:
        file = save_untrained(name, tmp_path)
        own = load_policy(file).state_dict()
        kept = checkpoints.read(file).tensors
        assert own.keys() - {"obs_mean", "obs_deviation"} == kept.keys(), name
    assert {"conv1.weight", "hidden.bias", "policy.weight", "value.bias"} <= set(
        untrained("nature", tmp_path).state_dict()
    )


@pytest.mark.parametrize("name", ["nature", "nature-continuous", "dqn", "mlp-lstm"])
def test_one_observation_or_a_batch(name: str, tmp_path: Path) -> None:
    policy = untrained(name, tmp_path)
    obs = observations(policy, 3)
    batch, state = policy.act(obs, greedy=True)
    one, state_of_one = policy.act(obs[1], greedy=True)
    np.testing.assert_allclose(one, batch[1], atol=1e-5)
    assert np.shape(one) == batch.shape[1:]
    if name == "mlp-lstm":
        assert state.shape == (2, 3, 8)
        torch.testing.assert_close(state_of_one[:, 0], state[:, 1])
        again, _ = policy.act(obs, state, greedy=True, episode_start=[True] * 3)
        assert (again == batch).all()
    else:
        assert state is None
    with pytest.raises(ValueError, match=rf"an observation has the shape .*{policy.obs_shape[0]}"):
        policy.act(obs[:, :2])


def test_draws_follow_the_policy(tmp_path: Path) -> None:
    policy = untrained("mlp", tmp_path)
    policy.rng = np.random.default_rng(3)
    obs = np.broadcast_to(observations(policy, 1), (4000, 4))
    logits, _ = policy(torch.from_numpy(obs[:1].copy()))
    expected = torch.softmax(logits, 1)[0, 1].item()
    assert policy.act(obs)[0].mean() == pytest.approx(expected, abs=0.03)
    with torch.no_grad():
        continuous = untrained("nature-continuous", tmp_path)
        continuous.policy.log_std.fill_(-5.0)
    pixels = observations(continuous, 2)
    drawn, best = continuous.act(pixels)[0], continuous.act(pixels, greedy=True)[0]
    assert drawn.dtype == np.float32
    assert 0 < np.abs(drawn - best).max() < 0.05
    values = untrained("pqn-mlp", tmp_path, end_e=0.5)
    chosen = values.act(np.broadcast_to(observations(values, 1), (4000, 4)))[0]
    assert np.bincount(chosen).min() / 4000 == pytest.approx(0.25, abs=0.03)


def test_noise_is_drawn_in_training_mode_alone(tmp_path: Path) -> None:
    policy = untrained("rainbow", tmp_path)
    obs = torch.from_numpy(observations(policy, 1))
    with torch.no_grad():
        assert torch.equal(policy(obs), policy(obs))
        policy.train()
        assert not torch.equal(policy(obs), policy(obs))


def test_both_players_are_told_who_they_are(tmp_path: Path) -> None:
    policy = untrained("self-play", tmp_path)
    seen = np.random.default_rng(0).integers(0, 256, (3, 2, 4, 84, 84), np.uint8)
    rows = policy.env.rows(seen, policy.obs_shape, 255).reshape(3, 2, 5, 84, 84)
    assert (rows[:, :, :4] == seen).all()
    assert (rows[:, 0, 4] == 0).all()
    assert (rows[:, 1, 4] == 255).all()
    actions, _ = policy.act(seen, greedy=True)
    assert actions.shape == (3, 2)
    for given in (seen.astype(np.float32), seen.tolist()):
        assert (policy.act(given, greedy=True)[0] == actions).all()
        same = policy.env.rows(np.asarray(given), policy.obs_shape, 255)
        assert (same.reshape(rows.shape) == rows).all()


def test_environments_and_recipe_are_data(tmp_path: Path) -> None:
    policy = untrained("nature", tmp_path)
    assert json.loads(json.dumps(policy.env.settings))["preset"] == "ale"
    recipe = policy.recipe
    assert recipe == policy.env.recipe
    assert (recipe["frame_skip"], recipe["episodic_life"], recipe["clip_reward"]) == (
        4,
        False,
        False,
    )
    assert policy.env.action_meanings()[:2] == ["NOOP", "FIRE"]
    env = policy.env.make_env()
    assert env.observation_space.shape == policy.obs_shape
    assert untrained("mlp", tmp_path).env.recipe is None


def test_a_game_is_played_on_ale_py_where_atari_core_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def backend(env_id: str) -> str:
        env = EnvPlan.of({"env_id": env_id, "sticky_actions": 0.25}).make_env()
        env.reset(seed=0)
        env.close()
        return "native" if isinstance(env.unwrapped, NativeView) else "ale"

    pytest.importorskip("atari_core")
    assert (backend("ALE/Pong-v5"), backend("ALE/Superman-v5")) == ("native", "ale")
    # What a folder of that name is, such as that of its sources.
    folder = module_from_spec(ModuleSpec("atari_core", None, is_package=True))
    folder.__file__ = None
    monkeypatch.setitem(sys.modules, "atari_core", folder)
    assert backend("ALE/Pong-v5") == "ale"


def test_it_explores_as_the_trainer_does(tmp_path: Path) -> None:
    for name, setting in (("dqn", "eval_e"), ("pqn", "end_e")):
        source = (ROOT / f"rust_trainer/src/settings/{name}.rs").read_text()
        [usual] = re.findall(rf"\b{setting}: f64 = ([\d.]+)", source)
        policy = untrained(name, tmp_path, start_e=0.5)
        assert isinstance(policy, QNetwork)
        assert policy.epsilon == float(usual)
    policy = untrained("dqn", tmp_path, end_e=0.3)
    assert isinstance(policy, QNetwork)
    assert policy.epsilon == 0.05


def test_a_header_that_begins_as_a_pickle_does_is_read(tmp_path: Path) -> None:
    file = save_untrained("mlp", tmp_path)
    data = file.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = data[8:end].ljust(0x10280)  # as JSON it may end in spaces
    file.write_bytes(len(header).to_bytes(8, "little") + header + data[end:])
    assert file.read_bytes().startswith(b"\x80\x02")  # a pickle of protocol 2
    load_policy(file)


def test_what_is_no_checkpoint_is_refused_in_a_line(tmp_path: Path) -> None:
    file = save_untrained("mlp", tmp_path)
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    torch.save({}, tmp_path / "a.pt")
    for name, content, problem in (
        ("flipped", bytes(data), "is damaged: its checksum is another"),
        ("cut", bytes(data[:200]), "is damaged: "),
        ("pickle", (tmp_path / "a.pt").read_bytes(), "a pickle.: none is ever loaded"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CheckpointError, match=problem) as refused:
            load_policy(tmp_path / name)
        assert "\n" not in str(refused.value)
    for path, problem in (("nowhere", "does not exist"), ("", "holds no checkpoint")):
        with pytest.raises(CheckpointError, match=problem):
            load_policy(tmp_path / path)
    other = save_untrained("mlp", tmp_path, mlp_width=8)
    kept = checkpoints.read(other)
    kept.settings["mlp_width"] = 9
    checkpoints.write(kept, other, made_by="a test", no_games="none ran")
    with pytest.raises(CheckpointError, match="does not fit its settings"):
        load_policy(other)


def test_of_a_folder_those_that_are_damaged_are_passed_over(tmp_path: Path) -> None:
    file = save_untrained("mlp", tmp_path)
    folder = tmp_path / "run/checkpoints"
    folder.mkdir(parents=True)
    for step in (1, 2, 10):
        (folder / f"step-{step:012}.safetensors").write_bytes(file.read_bytes()[: -10 * step])
    (folder / "step-000000000001.safetensors").write_bytes(file.read_bytes())
    with pytest.warns(UserWarning, match="taking an older one") as told:
        load_policy(folder.parent)
    assert [str(warning.message).split("`")[1][-14:] for warning in told] == [
        "10.safetensors",
        "02.safetensors",
    ]


def test_the_best_of_a_run_is_taken_on_request(tmp_path: Path) -> None:
    folder = tmp_path / "run/checkpoints"
    folder.mkdir(parents=True)
    for name, width in (("step-000000000009", 8), ("best", 16)):
        file = save_untrained("mlp", tmp_path, mlp_width=width)
        file.rename(folder / f"{name}.safetensors")
    policies = [load_policy(folder.parent, best=best) for best in (False, True)]
    assert [len(policy.state_dict()["policy.hidden1.bias"]) for policy in policies] == [8, 16]
    with pytest.raises(CheckpointError, match="is a file; the best is one of a run's folder"):
        load_policy(folder / "best.safetensors", best=True)
    (folder / "best.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"holds no best .* train with eval_every"):
        load_policy(folder.parent, best=True)


def test_it_needs_no_program(tmp_path: Path) -> None:
    """Where the compiled module cannot be loaded, checkpoints can; what needs it says so."""
    file = save_untrained("mlp", tmp_path)
    code = f"""
import sys
sys.modules["rust_trainer._rust_trainer"] = None
import rust_trainer
assert "torch" not in sys.modules
action, _ = rust_trainer.load_policy({str(file)!r}).act([0.1, 0.2, 0.3, 0.4])
assert action in (0, 1)
try:
    rust_trainer.train()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.match(
        r"the compiled module of rust_trainer cannot be loaded.*pip install", done.stdout
    )
