"""Checkpoints of every architecture with weights of a generator's, which took no training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from rust_trainer import checkpoints
from rust_trainer.agents import of_agent
from rust_trainer.checkpoints import Checkpoint
from rust_trainer.policies import (
    ActorCritic,
    DeterministicPolicy,
    QNetwork,
    RecurrentActorCritic,
    SoftmaxPolicy,
    load_policy,
)
from rust_trainer.policy import Policy

IMAGE, RAM, FLAT, CAR = (4, 84, 84), (128,), (4,), (2,)
DISCRETE = {"kind": "Discrete", "n": 6}
CONTINUOUS = {
    "kind": "Box",
    "shape": [3],
    "low": [0.0, -3.1415927410125732, 0.0],
    "high": [1.0, 3.1415927410125732, 1.0],
}
TWO = {"kind": "Discrete", "n": 2}
MOMENTS = {"mean": [0.1, 0.0, -0.1, 0.2], "variance": [0.5, 1.0, 0.2, 2.0], "count": 10.0}
# Games that end soon.
INVADERS = {"env_id": "SpaceInvadersNoFrameskip-v4", "max_episode_frames": 1200, "recipe": "ale"}
POLE = {"env_id": "CartPole-v1"}

# Settings, shape of observations, actions, values of the algorithm.
Case = tuple[dict[str, Any], tuple[int, ...], dict[str, Any], dict[str, Any]]
CASES: dict[str, Case] = {
    "nature": (INVADERS, IMAGE, DISCRETE, {}),
    "nature-lstm": (INVADERS | {"lstm_size": 16}, IMAGE, DISCRETE, {}),
    "nature-continuous": (INVADERS | {"continuous": True}, IMAGE, CONTINUOUS, {}),
    "impala": (
        INVADERS | {"net": "impala", "algorithm": "a2c", "max_episode_frames": 200},
        IMAGE,
        DISCRETE,
        {},
    ),
    "ram": (INVADERS | {"obs_type": "ram"}, RAM, DISCRETE, {}),
    "self-play": (INVADERS | {"num_players": 2}, (5, 84, 84), DISCRETE, {}),
    "mlp": (POLE | {"norm_obs": True}, FLAT, TWO, {"norm_obs": MOMENTS}),
    "mlp-lstm": (POLE | {"lstm_size": 8}, FLAT, TWO, {}),
    "dqn": (INVADERS | {"algorithm": "dqn"}, IMAGE, DISCRETE, {}),
    "rainbow": (
        INVADERS | {"algorithm": "dqn", "dueling": True, "noisy": True, "distributional": "c51"},
        IMAGE,
        DISCRETE,
        {},
    ),
    "qr-dqn": (
        POLE | {"algorithm": "dqn", "distributional": "quantile", "num_quantiles": 12},
        FLAT,
        TWO,
        {},
    ),
    "iqn": (
        POLE | {"algorithm": "dqn", "distributional": "iqn", "num_quantile_samples": 5},
        FLAT,
        TWO,
        {},
    ),
    "pqn": (INVADERS | {"algorithm": "pqn"}, IMAGE, DISCRETE, {}),
    "td3": (
        {"env_id": "MountainCarContinuous-v0", "algorithm": "td3"},
        CAR,
        {"kind": "Box", "shape": [1], "low": [-1.0], "high": [1.0]},
        {},
    ),
    "pqn-mlp": (POLE | {"algorithm": "pqn"}, FLAT, TWO, {}),
}

# Of three agents who observe four numbers each: settings, numbers of a row, actions.
AGENTS: dict[str, tuple[dict[str, Any], int, dict[str, Any]]] = {
    "mappo": ({"central_critic": True, "norm_obs": True}, 12, DISCRETE),
    "mappo-own": ({"central_critic": True, "share_weights": False}, 15, CONTINUOUS),
    "ippo-own": ({"share_weights": False}, 7, DISCRETE),
    "maddpg": ({"algorithm": "maddpg"}, 4, CONTINUOUS),
    "maddpg-discrete": ({"algorithm": "maddpg"}, 4, DISCRETE),
}


def save_untrained(name: str, folder: Path, **settings: Any) -> Path:
    """Write the checkpoint of a case of `CASES`, with further settings; returns its file."""
    own, shape, space, values = CASES[name]
    settings = {"algorithm": "ppo"} | own | settings
    checkpoint = Checkpoint(
        settings=settings,
        obs_shape=shape,
        obs_dtype="float32" if shape in (FLAT, CAR) else "uint8",
        action_space=space,
        tensors={},
        values=values,
    )
    kind: type[Policy] = RecurrentActorCritic if "lstm_size" in settings else ActorCritic
    if settings["algorithm"] in ("dqn", "pqn"):
        kind = QNetwork
    elif settings["algorithm"] in ("ddpg", "td3"):
        kind = DeterministicPolicy
    generator = torch.Generator().manual_seed(len(name))
    for tensor_name, tensor in kind(checkpoint).state_dict().items():
        if tensor_name.startswith("obs_"):  # statistics, which the values hold
            continue
        fan_in = tensor[0].numel() if tensor.ndim > 1 else 4
        noise = torch.randn(tensor.shape, generator=generator) * (1.5 / fan_in**0.5)
        if tensor_name.endswith("bias"):  # or they would say more than what is seen
            noise *= 0.05
        checkpoint.tensors[tensor_name] = noise + float("norm.weight" in tensor_name)
    return _write(checkpoint, folder, name)


def save_agents(name: str, folder: Path) -> Path:
    """Write the checkpoint of a case of `AGENTS`; returns its file."""
    own, width, space = AGENTS[name]
    settings = {"algorithm": "ppo", "env_id": "simple_spread", "num_agents": 3} | own
    moments = {"mean": [0.1] * width, "variance": [2.0] * width, "count": 10.0}
    checkpoint = Checkpoint(
        settings=settings,
        obs_shape=(width,),
        obs_dtype="float32",
        action_space=space,
        tensors={},
        values={"norm_obs": moments} if "norm_obs" in settings else {},
    )
    has_own = settings["algorithm"] == "maddpg" or not settings.get("share_weights", True)
    kind: type[Policy] = ActorCritic
    if settings["algorithm"] == "maddpg":
        kind = SoftmaxPolicy if space["kind"] == "Discrete" else DeterministicPolicy
    generator = torch.Generator().manual_seed(width)
    tensors = {}
    for agent in range(3) if has_own else [None]:
        prefix = "" if agent is None else f"agent{agent}."
        for tensor_name, tensor in kind(of_agent(checkpoint, agent)).state_dict().items():
            noise = torch.randn(tensor.shape, generator=generator)
            tensors[prefix + tensor_name] = noise * 0.2
    checkpoint.tensors = {name: kept for name, kept in tensors.items() if "obs_" not in name}
    return _write(checkpoint, folder, name)


def _write(checkpoint: Checkpoint, folder: Path, name: str) -> Path:
    file = folder / f"{name}.safetensors"
    checkpoints.write(checkpoint, file, made_by="a test", no_games="none ran")
    return file


def observations(policy: Policy, count: int) -> np.ndarray:
    """Return observations of any numbers, `[count, ...]`."""
    draws = np.random.default_rng(1)
    if policy.plan.is_bytes:
        return draws.integers(0, 256, (count, *policy.obs_shape), np.uint8)
    return draws.normal(size=(count, *policy.obs_shape)).astype(np.float32)


def untrained(name: str, folder: Path, **settings: Any) -> Policy:
    """Load the policy of a case."""
    return load_policy(save_untrained(name, folder, **settings))
