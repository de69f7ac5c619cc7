"""Policies that stable-baselines3 and CleanRL trained, as checkpoints of ours: `import_policy`.

No pickle is run: weights are read by PyTorch's `weights_only`, and of stable-baselines3's `data`,
which holds pickled objects as text, only what is plain JSON.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from rust_trainer import checkpoints
from rust_trainer.checkpoints import Checkpoint, CheckpointError
from rust_trainer.policies import policy_of
from rust_trainer.policy import Policy

# Our layers by those of others; a name may stand for several that hold the same weights.
_CONVOLUTIONS = {0: "conv1", 2: "conv2", 4: "conv3"}
_CLEANRL = {f"network.{index}": name for index, name in _CONVOLUTIONS.items()} | {
    "network.7": "hidden",
    "actor": "policy",
    "critic": "value",
}
_EXTRACTORS = ("features_extractor", "pi_features_extractor", "vf_features_extractor")
_SB3_HEADS = {"action_net": "policy", "value_net": "value"}
_SIDE = 84
# What reading a file raises in which a byte is not as it was.
_OF_DAMAGE = (
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    RecursionError,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class Imported:
    """What was made of a file.

    Attributes:
        what: Whose policy it is, such as `"stable-baselines3's PPO"`.
        checkpoint: The checkpoint.
        num_params: Numbers in the network.
    """

    what: str
    checkpoint: Path
    num_params: int


def import_policy(
    file: str | os.PathLike[str], env_id: str, output: str | os.PathLike[str]
) -> Imported:
    """Make a checkpoint of a policy for Atari that another library trained.

    The folder is like that of a run: `load_policy`, `eval` and `export` take it, and the setting
    `start_from` begins a new run with its network. What of the library's settings is plain data
    is kept in the checkpoint.

    Args:
        file: What stable-baselines3's `model.save` wrote of a PPO, A2C or DQN with `CnnPolicy`; or
            the state dict of CleanRL's `ppo_atari` agents (`.cleanrl_model`). For 4 gray
            pictures of 84 by 84 pixels.
        env_id: The game, as Gymnasium knows it.
        output: The folder; it must not be there yet.

    Returns:
        What was made.

    Raises:
        CheckpointError: (a `ValueError`) The file is of something else, of another game, or would
            need a pickle to be run; or the folder is there already.
        OSError: The file cannot be read, or the folder cannot be made.
        Exception: The game cannot be made: as `atari_wrappers.make_env`.
    """
    path, folder = Path(file), Path(output)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(f"`{folder}` is there already")
    data = path.read_bytes()
    if path.suffix == ".safetensors":
        raise CheckpointError(f"`{path}` needs no import if it is a checkpoint of ours")
    try:
        what, settings, weights, steps = _read(data)
        head = weights.get("policy.bias", weights.get("q.bias"))
        channels, num_actions = weights["conv1.weight"].shape[1], 0 if head is None else len(head)
    except _UnknownError as problem:
        raise CheckpointError(f"`{path}` {problem}") from None
    except _OF_DAMAGE as problem:
        raise CheckpointError(
            f"`{path}` is damaged, or of another kind: {type(problem).__name__}: {problem}"
        ) from problem
    checkpoint = Checkpoint(
        settings={"env_id": env_id} | settings,
        obs_shape=(channels, _SIDE, _SIDE),
        obs_dtype="uint8",
        action_space={"kind": "Discrete", "n": num_actions},
        tensors=weights,
        counters={"step": steps},
    )
    try:
        policy = policy_of(checkpoint)
    except RuntimeError as error:
        raise CheckpointError(
            f"`{path}` is no network for pictures of 84 by 84 pixels: {error}"
        ) from None
    _check_plays(policy, path)
    target = folder / "checkpoints" / f"step-{steps:012}.safetensors"
    target.parent.mkdir(parents=True, exist_ok=True)
    why = f"it is {what}, which knows no games"
    checkpoints.write(checkpoint, target, made_by=f"rust_trainer import of {what}", no_games=why)
    return Imported(what, target, sum(weight.numel() for weight in weights.values()))


def _check_plays(policy: Policy, path: Path) -> None:
    """Refuse a network that sees or does something else than its game has."""
    its = policy.checkpoint
    with policy.env.make_env() as env:
        shape, actions = env.observation_space.shape, env.action_space
    if (shape, actions) != (its.obs_shape, Discrete(its.action_space["n"])):
        raise CheckpointError(
            f"`{path}` sees {its.obs_shape} and has {its.action_space['n']} actions:"
            f" {policy.env.env_id} shows {shape} and has the actions {actions}"
        )


class _UnknownError(Exception):
    """Why a file is none that can be imported."""


def _read(data: bytes) -> tuple[str, dict[str, Any], dict[str, Tensor], int]:
    """Return what a file holds: whose, our settings, weights by our names, agent steps."""
    names: list[str] = []
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if "policy.pth" in names and "data" in names:
                return _read_sb3(archive.read("data"), _state_dict(archive.read("policy.pth")))
    weights = _state_dict(data)
    parts = [f"{name}.{part}" for name in _CLEANRL for part in ("weight", "bias")]
    missing = [part for part in parts if part not in weights]
    if missing:
        raise _UnknownError(
            "is neither a model of stable-baselines3 nor the state dict of CleanRL's agent for"
            f" Atari: it has no `{missing[0]}`"
        )
    # CleanRL's own settings are in no file.
    settings = {"algorithm": "ppo", "recipe": "cleanrl"}
    return "CleanRL's PPO", settings, _renamed(weights, _CLEANRL), 0


def _state_dict(data: bytes) -> dict[str, Tensor]:
    """Read what `torch.save` wrote, as long as it is tensors alone."""
    try:
        read = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError):
        # PyTorch says why, and advises to run it.
        raise _UnknownError("holds no weights that can be read without running it") from None
    if not isinstance(read, dict) or not all(isinstance(each, Tensor) for each in read.values()):
        raise _UnknownError("is not the state dict of a network")
    return read


def _renamed(weights: dict[str, Tensor], layers: dict[str, str]) -> dict[str, Tensor]:
    named = {}
    for theirs, ours in layers.items():
        for part in ("weight", "bias"):
            named[f"{ours}.{part}"] = weights[f"{theirs}.{part}"].to(torch.float32)
    return named


def _read_sb3(
    data: bytes, weights: dict[str, Tensor]
) -> tuple[str, dict[str, Any], dict[str, Tensor], int]:
    about = json.loads(data)
    shown = about["policy_class"]
    policy = f"{shown.get('__module__', '')} {shown.get(':type:', '')}"
    is_dqn = any(name.startswith("q_net.") for name in weights)
    prefix = "q_net." if is_dqn else ""
    layers = {
        f"{prefix}features_extractor.cnn.{index}": name for index, name in _CONVOLUTIONS.items()
    }
    layers[f"{prefix}features_extractor.linear.0"] = "hidden"
    layers |= {"q_net.q_net.0": "q"} if is_dqn else _SB3_HEADS
    _check_sb3(weights, layers, is_dqn=is_dqn, policy=policy)
    # `clip_range` may be a pickled schedule; its name alone says PPO.
    kind = "dqn" if is_dqn else "ppo" if "clip_range" in about else "a2c"
    settings: dict[str, Any] = {"algorithm": kind, "recipe": "baselines"}
    settings |= {
        ours: float(about[theirs])
        for theirs, ours in _SB3_NUMBERS[kind].items()
        if _is_taken(ours, about.get(theirs))
    }
    if kind == "ppo" and "vf_coef" in settings:
        settings["vf_coef"] *= 2  # of the squared error there, of half of it here
    steps = about.get("num_timesteps")
    steps = steps if isinstance(steps, int) else 0
    return f"stable-baselines3's {kind.upper()}", settings, _renamed(weights, layers), steps


# Settings of the same meaning; what else there is depends on the number of environments.
_OF_BOTH = {"gamma": "gamma", "max_grad_norm": "max_grad_norm", "learning_rate": "learning_rate"}
_OF_ACTOR_CRITICS = {"gae_lambda": "gae_lambda", "ent_coef": "ent_coef", "vf_coef": "vf_coef"}
_SB3_NUMBERS = {
    "ppo": _OF_BOTH | _OF_ACTOR_CRITICS,
    "a2c": _OF_BOTH | _OF_ACTOR_CRITICS,
    "dqn": _OF_BOTH | {"exploration_final_eps": "eval_e"},
}


def _is_taken(name: str, value: Any) -> bool:
    """Say whether the trainer takes a value as that setting; it would refuse the checkpoint."""
    least = sys.float_info.min if name in ("learning_rate", "max_grad_norm") else 0.0
    most = 1.0 if name in ("gamma", "gae_lambda", "eval_e") else sys.float_info.max
    return isinstance(value, int | float) and least <= value <= most


def _check_sb3(
    weights: dict[str, Tensor], layers: dict[str, str], *, is_dqn: bool, policy: str
) -> None:
    """Refuse a network with other layers than these, or several bodies."""
    wanted = {f"{name}.{part}" for name in layers for part in ("weight", "bias")}
    missing = sorted(wanted - weights.keys())
    if missing:
        raise _UnknownError(
            f"is no CnnPolicy of PPO, A2C or DQN: it has no `{missing[0]}`, and is of {policy}"
        )
    copies = ("q_net_target.",) if is_dqn else tuple(f"{name}." for name in _EXTRACTORS)
    others = [name for name in sorted(weights.keys() - wanted) if not name.startswith(copies)]
    if others:
        raise _UnknownError(f"has other layers than a plain CnnPolicy: `{others[0]}`")
    for name in () if is_dqn else sorted(weights.keys() - wanted):
        shared = name.replace("pi_features", "features").replace("vf_features", "features")
        if not torch.equal(weights[name], weights[shared]):
            raise _UnknownError("has a network each for policy and value; one for both is needed")
