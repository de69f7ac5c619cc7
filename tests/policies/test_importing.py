"""Models of stable-baselines3 and CleanRL as checkpoints: the same actions, and no pickle run."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from program import PROGRAM, Trainer
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import VecFrameStack
from torch import nn

from atari_wrappers import make_env
from rust_trainer import (
    CheckpointError,
    Settings,
    TrainerError,
    checkpoints,
    evaluate,
    import_policy,
    load_policy,
    train,
)
from rust_trainer.policies import QNetwork
from rust_trainer.policy import Policy

GAME = "SpaceInvadersNoFrameskip-v4"
OTHER_GAME = "BreakoutNoFrameskip-v4"
MODELS: dict[str, Callable[[Any], Any]] = {
    "PPO": lambda env: PPO(
        "CnnPolicy", env, n_steps=16, batch_size=16, n_epochs=1, ent_coef=0.02, seed=1
    ),
    "A2C": lambda env: A2C("CnnPolicy", env, n_steps=8, gae_lambda=0.9, seed=1),
    "DQN": lambda env: DQN(
        *("CnnPolicy", env),
        buffer_size=200,
        learning_starts=20,
        batch_size=8,
        train_freq=4,
        exploration_final_eps=0.02,
        seed=1,
    ),
}


class CleanRLAgent(nn.Module):
    """CleanRL's agent of `ppo_atari.py`: its layers in their places, begun as it begins them."""

    def __init__(self, num_actions: int) -> None:
        super().__init__()

        def layer(made: nn.Conv2d | nn.Linear, gain: float = 2**0.5) -> nn.Module:
            nn.init.orthogonal_(made.weight, gain)
            nn.init.constant_(made.bias, 0.0)
            return made

        self.network = nn.Sequential(
            layer(nn.Conv2d(4, 32, 8, stride=4)),
            nn.ReLU(),
            layer(nn.Conv2d(32, 64, 4, stride=2)),
            nn.ReLU(),
            layer(nn.Conv2d(64, 64, 3, stride=1)),
            nn.ReLU(),
            nn.Flatten(),
            layer(nn.Linear(64 * 7 * 7, 512)),
            nn.ReLU(),
        )
        self.actor = layer(nn.Linear(512, num_actions), 0.01)
        self.critic = layer(nn.Linear(512, 1), 1.0)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.network(obs / 255.0)
        return self.actor(hidden), self.critic(hidden)[:, 0]


def trained_as_cleanrl_does(steps: int = 32) -> CleanRLAgent:
    """Return its agent after a PPO update from a rollout of one game."""
    torch.manual_seed(3)
    with make_env(GAME, preset="cleanrl") as env:
        agent = CleanRLAgent(env.action_space.n)
        adam = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
        obs, _ = env.reset(seed=3)
        seen, actions, rewards = [], [], []
        for _ in range(steps):
            seen.append(torch.from_numpy(np.array(obs)))
            with torch.no_grad():
                logits, _ = agent(seen[-1][None])
            actions.append(torch.distributions.Categorical(logits=logits).sample()[0])
            obs, reward, *_ = env.step(int(actions[-1]))
            rewards.append(float(reward))
    batch, taken = torch.stack(seen), torch.stack(actions)
    returns = torch.tensor(
        [sum(0.99**i * r for i, r in enumerate(rewards[t:])) for t in range(steps)]
    )
    with torch.no_grad():
        logits, values = agent(batch)
        before = torch.distributions.Categorical(logits=logits).log_prob(taken)
    advantages = returns - values
    for _ in range(4):
        logits, values = agent(batch)
        chosen = torch.distributions.Categorical(logits=logits)
        ratio = (chosen.log_prob(taken) - before).exp()
        losses = torch.max(-advantages * ratio, -advantages * ratio.clamp(0.9, 1.1))
        loss = (
            losses.mean()
            - 0.01 * chosen.entropy().mean()
            + 0.25 * (returns - values).square().mean()
        )
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        adam.step()
    return agent


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Path]]:
    """A model that stable-baselines3 has trained for a moment, and the file that it saved."""
    kept: dict[str, tuple[Any, Path]] = {}

    def train_one(name: str) -> tuple[Any, Path]:
        if name not in kept:
            env = VecFrameStack(make_atari_env(GAME, n_envs=1, seed=1), 4)
            model = MODELS[name](env).learn(64)
            env.close()
            file = tmp_path_factory.mktemp("sb3") / f"{name}.zip"
            model.save(file)
            kept[name] = model, file
        return kept[name]

    return train_one


def seen(policy: Policy) -> list[np.ndarray]:
    """Play a game for a while with actions of the policy's; the observations `[4, 84, 84]`."""
    env = policy.make_env()
    obs, _ = env.reset(seed=2)
    observed = []
    for _ in range(120):
        observed.append(obs)
        obs, _, terminated, truncated, _ = env.step(policy.act(obs)[0])
        assert not terminated | truncated
    env.close()
    return observed


@pytest.mark.parametrize("name", MODELS)
def test_stable_baselines3s_models_act_as_before(
    name: str, trained: Callable[[str], tuple[Any, Path]], tmp_path: Path
) -> None:
    model, file = trained(name)
    if name == "PPO":
        words = ["import", file, "--game", GAME, "--output", "run"]
        said, _ = Trainer(tmp_path, PROGRAM).run(*words)
    else:
        said = import_policy(file, GAME, tmp_path / "run").what
    assert f"stable-baselines3's {name}" in said
    policy = load_policy(tmp_path / "run")
    obs = np.stack(seen(policy))
    theirs, _ = model.predict(np.moveaxis(obs, 1, -1), deterministic=True)
    assert (policy.act(obs, greedy=True)[0] == theirs).all()
    with torch.no_grad():
        if isinstance(policy, QNetwork):
            expected = model.q_net(torch.from_numpy(obs))
            found = policy(torch.from_numpy(obs))
        else:
            said = model.policy.get_distribution(torch.from_numpy(obs))
            expected = said.distribution.logits
            found = torch.log_softmax(policy(torch.from_numpy(obs))[0], 1)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    settings = policy.checkpoint.settings
    assert (settings["algorithm"], settings["gamma"]) == (name.lower(), 0.99)
    assert policy.checkpoint.step == model.num_timesteps
    if name == "PPO":
        assert settings["ent_coef"] == 0.02
    if name == "A2C":  # checkpoints of the others are evaluated further below
        assert evaluate(tmp_path / "run", 1, greedy=True).step == model.num_timesteps


@pytest.mark.parametrize("name", ["PPO", "DQN"])
def test_a_run_learns_on_from_it(
    name: str, trained: Callable[[str], tuple[Any, Path]], tmp_path: Path
) -> None:
    import_policy(trained(name)[1], GAME, tmp_path / "imported")
    short: dict[str, Any] = {"num_steps": 8, "num_minibatches": 2, "update_epochs": 1}
    if name == "DQN":
        short = {"learning_starts": 8, "replay_capacity": 100, "steps_per_update": 8}
    # So small a rate that it is still the same network.
    settings = Settings(
        algorithm=name.lower(),
        env_id=GAME,
        recipe="baselines",
        num_envs=2,
        total_steps=16,
        learning_rate=1e-9,
        start_from=tmp_path / "imported",
        runs_dir=tmp_path,
        run_name="run",
        **short,
    )
    result = train(settings, progress=False)
    assert result.is_finished
    before = load_policy(tmp_path / "imported").state_dict()
    after = load_policy(result.folder).state_dict()
    assert before.keys() == after.keys()
    for each in before:
        torch.testing.assert_close(after[each], before[each], rtol=0, atol=1e-6)


def test_cleanrls_agent_acts_as_before(tmp_path: Path) -> None:
    agent = trained_as_cleanrl_does()
    file = tmp_path / "ppo_atari.cleanrl_model"
    torch.save(agent.state_dict(), file)
    made = import_policy(file, GAME, tmp_path / "run")
    assert (made.what, made.num_params) == ("CleanRL's PPO", 1_687_719)
    policy = load_policy(tmp_path / "run")
    obs = np.stack(seen(policy))
    with torch.no_grad():
        theirs, ours = agent(torch.from_numpy(obs)), policy(torch.from_numpy(obs))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert policy.env.settings["preset"] == "cleanrl"


def test_a_policy_of_another_game_is_neither_imported_nor_played(tmp_path: Path) -> None:
    torch.save(trained_as_cleanrl_does().state_dict(), tmp_path / "ppo.cleanrl_model")
    trainer = Trainer(tmp_path, PROGRAM)
    what = ["import", "ppo.cleanrl_model", "--output=-it's", "--game"]
    _, err = trainer.run(*what, OTHER_GAME, status=1)
    has = "sees (4, 84, 84) and has 6 actions"
    shows = f"{OTHER_GAME} shows (4, 84, 84) and has the actions Discrete(4)"
    assert err == f"error: `ppo.cleanrl_model` {has}: {shows}\n"
    assert not (tmp_path / "-it's").exists()
    out, _ = trainer.run(*what, GAME)
    assert r"play it by: eval './-it'\''s'; learn" in out
    file = checkpoints.find(tmp_path / "-it's")
    checkpoint = checkpoints.read(file)
    checkpoint.settings["env_id"] = OTHER_GAME
    checkpoints.write(checkpoint, file, made_by="this test", no_games="there are none")
    with pytest.raises(TrainerError, match="of an environment with other observations or actions"):
        evaluate(file, 1)


class Harmful:
    """What a pickle may hold: reading it would make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_no_pickle_is_run(tmp_path: Path) -> None:
    harm = Harmful(tmp_path / "harmed")
    torch.save({"network.0.weight": harm}, tmp_path / "a.cleanrl_model")
    (tmp_path / "b.pkl").write_bytes(pickle.dumps(harm))
    weights = io.BytesIO()
    torch.save({"action_net.weight": harm}, weights)
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("data", json.dumps({"policy_class": {":type:": "x"}}))
        archive.writestr("policy.pth", weights.getvalue())
    for name in ("a.cleanrl_model", "b.pkl", "c.zip"):
        with pytest.raises(CheckpointError, match="no weights that can be read without running"):
            import_policy(tmp_path / name, GAME, tmp_path / "run")
    assert not (tmp_path / "harmed").exists()
    assert not (tmp_path / "run").exists()


def test_pickled_fields_are_left_alone(
    trained: Callable[[str], tuple[Any, Path]], tmp_path: Path
) -> None:
    """Each field that stable-baselines3 would unpickle is replaced by one that does harm."""
    _, file = trained("PPO")
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(parts["data"])
    for field in about.values():
        if isinstance(field, dict) and ":serialized:" in field:
            field[":serialized:"] = "never read"
    parts["data"] = json.dumps(about).encode()
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    import_policy(tmp_path / "model.zip", GAME, tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [
        ("DQN", {"exploration_final_eps": 0.0, "gamma": 1.5}, {"eval_e": 0.0}),
        (
            "PPO",
            {"ent_coef": 0.0, "gae_lambda": 0, "learning_rate": 0.0, "max_grad_norm": float("inf")},
            {"ent_coef": 0.0, "gae_lambda": 0.0, "gamma": 0.99, "vf_coef": 1.0},
        ),
    ],
)
def test_settings_are_kept_where_the_trainer_takes_them(
    name: str,
    theirs: dict[str, float],
    ours: dict[str, float],
    trained: Callable[[str], tuple[Any, Path]],
    tmp_path: Path,
) -> None:
    _, file = trained(name)
    with zipfile.ZipFile(file) as archive:
        about, weights = json.loads(archive.read("data")), archive.read("policy.pth")
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("data", json.dumps(about | theirs))
        archive.writestr("policy.pth", weights)
    import_policy(tmp_path / "model.zip", GAME, tmp_path / "run")
    policy = load_policy(tmp_path / "run")
    numbers = {key: x for key, x in policy.checkpoint.settings.items() if isinstance(x, float)}
    usual = {"max_grad_norm": 10.0, "learning_rate": 1e-4} if name == "DQN" else {}
    assert numbers == ours | usual
    if isinstance(policy, QNetwork):
        assert policy.epsilon == 0.0
    evaluate(tmp_path / "run", 1, greedy=True)  # the trainer reads them


def test_what_fits_nothing_is_refused_in_a_line(tmp_path: Path) -> None:
    torch.save({"fc.weight": torch.zeros(2)}, tmp_path / "other.pt")
    trainer = Trainer(tmp_path, PROGRAM)
    arguments = ["import", "other.pt", "--game", GAME, "--output"]
    _, err = trainer.run(*arguments, "run", status=1)
    assert err.startswith("error: `other.pt` is neither a model of stable-baselines3 nor")
    assert err.count("\n") == 1
    with pytest.raises(CheckpointError, match="is there already"):
        import_policy(tmp_path / "other.pt", GAME, tmp_path)
    layers = ("network.0", "network.2", "network.4", "network.7", "actor", "critic")
    torch.save({f"{name}.weight": torch.zeros(2) for name in layers}, tmp_path / "half.pt")
    with pytest.raises(CheckpointError, match=r"it has no `network\.0\.bias`"):
        import_policy(tmp_path / "half.pt", GAME, tmp_path / "run")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"

    def expect_damage() -> None:
        with pytest.raises(CheckpointError, match=r"a\.zip` is damaged, or of another kind"):
            import_policy(file, GAME, tmp_path / "run")

    weights = io.BytesIO()
    torch.save({}, weights)
    for data in ("{}", "[]", '{"policy_class": "x"}', "none", "[" * 100_000):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("data", data)
            archive.writestr("policy.pth", weights.getvalue())
        expect_damage()
    data = bytearray(file.read_bytes())
    data[data.index(b"[[[[")] += 1
    file.write_bytes(data)
    expect_damage()
    layers = ("network.0", "network.2", "network.4", "network.7", "actor", "critic")
    whole = {f"{name}.{part}": torch.zeros(2, 2) for name in layers for part in ("weight", "bias")}
    for name, damage in {"network.0.weight": torch.zeros(2), "actor.bias": torch.tensor(0)}.items():
        torch.save(whole | {name: damage}, file)
        expect_damage()
