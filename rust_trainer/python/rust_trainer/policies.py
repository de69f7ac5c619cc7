"""Policies out of checkpoints, as PyTorch modules: `load_policy`."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from rust_trainer import checkpoints
from rust_trainer.agents import joint_shape, of_agent
from rust_trainer.checkpoints import Checkpoint, CheckpointError
from rust_trainer.networks import QuantileEmbedding, Stream, Tower, run_body, width_of
from rust_trainer.policy import Policy

# Of `norm_obs`, as the trainer has them.
_NORM_LIMIT = 10.0
_NORM_EPSILON = 1e-8


def load_policy(
    path: str | os.PathLike[str], *, best: bool = False, agent: int | None = None
) -> Policy:
    """Load the policy of a checkpoint as a PyTorch module, on the CPU and in evaluation mode.

    It computes in float32 what the trainer computes, to 1e-5 where that computes in float32, too.

    Args:
        path: A checkpoint, or a run's folder, whose newest is taken.
        best: Take the run's checkpoint that did best in evaluations during training.
        agent: Whose network it is to be, from 0 on, where each of several agents has its own.

    Returns:
        An `ActorCritic` (PPO, A2C), a `RecurrentActorCritic` (with `lstm_size`), a `QNetwork`
        (DQN, PQN), a `DeterministicPolicy` (DDPG, TD3, MADDPG) or a `SoftmaxPolicy` (MADDPG with
        discrete actions). `state_dict()` has the names of the checkpoint, without `agent0.` and so
        on in front.

    Raises:
        CheckpointError: (a `ValueError`) There is none, it is damaged, or of another network; no
            agent is named where each has its own network, or one where they share it.
        OSError: It cannot be read.
    """
    file = checkpoints.find(path, best=best)
    try:
        return policy_of(checkpoints.read(file), agent)
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"checkpoint `{file}`: does not fit its settings: {error}") from None


def policy_of(checkpoint: Checkpoint, agent: int | None = None) -> Policy:
    """Build the policy that a checkpoint holds; see `load_policy`."""
    checkpoint = of_agent(checkpoint, agent)
    settings = checkpoint.settings
    algorithm = settings.get("algorithm", "ppo")
    if algorithm in ("dqn", "pqn"):
        policy: Policy = QNetwork(checkpoint)
    elif algorithm in ("ddpg", "td3", "maddpg"):
        is_discrete = checkpoint.action_space["kind"] == "Discrete"
        policy = (SoftmaxPolicy if is_discrete else DeterministicPolicy)(checkpoint)
    elif algorithm not in ("ppo", "a2c"):
        raise CheckpointError(f"no algorithm of the trainer is called {algorithm!r}")
    elif settings.get("lstm_size", 0) > 0:
        policy = RecurrentActorCritic(checkpoint)
    else:
        policy = ActorCritic(checkpoint)
    own = policy.state_dict()
    kept = {name: tensor for name, tensor in checkpoint.tensors.items() if name in own}
    policy.load_state_dict({name: own[name] for name in own if name.startswith("obs_")} | kept)
    return policy.eval()


class ActorCritic(Policy):
    """The network of PPO and A2C: `forward(obs)` returns what the policy says, and values.

    `policy` and `value` are its heads. With discrete actions the policy says logits `[batch, n]`;
    with continuous ones means `[batch, dims]`, and `log_std()` are the logarithms of the standard
    deviations. Where the run had `norm_obs`, `obs_mean` and `obs_deviation` normalize.

    With a central critic `forward` returns what the policy says alone, of an agent's own
    observation, and `joint_value` has the values.
    """

    is_recurrent = False
    obs_mean: Tensor
    obs_deviation: Tensor
    joint_mean: Tensor
    joint_deviation: Tensor

    def __init__(self, checkpoint: Checkpoint) -> None:
        joint = joint_shape(checkpoint)
        is_central, is_flat = joint is not None, len(checkpoint.obs_shape) == 1
        has_towers = (is_flat or is_central) and not self.is_recurrent
        super().__init__(checkpoint, has_body=not has_towers)
        self.has_towers, self.is_central = has_towers, is_central
        self.joint_plan = dataclasses.replace(self.plan, obs_shape=joint or self.obs_shape)
        plan, space = self.plan, checkpoint.action_space
        self.bounds: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
        if space["kind"] == "Box":
            low, high = (np.array(space[name], np.float32) for name in ("low", "high"))
            self.bounds = low.reshape(space["shape"]), high.reshape(space["shape"])
            outputs = low.size
        elif space["kind"] == "Discrete":
            outputs = self.num_actions
        else:
            raise CheckpointError(f"no policy has actions of the kind {space['kind']}")
        features = checkpoint.settings["lstm_size"] if self.is_recurrent else self.features
        self.policy: nn.Linear
        self.value: nn.Linear
        if self.has_towers:
            self.policy, self.value = Tower(plan, outputs), Tower(self.joint_plan, 1)
        else:
            self.policy, self.value = nn.Linear(features, outputs), nn.Linear(features, 1)
        if self.bounds is not None:
            self.policy.register_parameter("log_std", nn.Parameter(torch.zeros(outputs)))
        moments = checkpoint.values.get("norm_obs")
        self.normalizes = moments is not None
        if moments is not None:
            mean = torch.tensor(moments["mean"], dtype=torch.float64)
            variance = torch.tensor(moments["variance"], dtype=torch.float64)
            deviation = (variance + _NORM_EPSILON).sqrt()
            own = self.obs_shape[0]
            self.register_buffer("obs_mean", mean[:own])
            self.register_buffer("obs_deviation", deviation[:own])
            self.register_buffer("joint_mean", mean, persistent=False)
            self.register_buffer("joint_deviation", deviation, persistent=False)

    def observed(self, obs: Tensor) -> Tensor:
        """Observations `[batch, ...]` as numbers, float32, normalized where the run had that."""
        return self._scaled(obs, "obs")

    def _scaled(self, obs: Tensor, whose: str) -> Tensor:
        """Return observations as numbers, normalized by the moments of `obs` or of `joint`."""
        if not self.normalizes:
            return super().observed(obs)
        mean: Tensor = getattr(self, f"{whose}_mean")
        deviation: Tensor = getattr(self, f"{whose}_deviation")
        scaled = (obs.to(torch.float64) - mean) / deviation
        return scaled.clamp(-_NORM_LIMIT, _NORM_LIMIT).to(torch.float32)

    def forward(self, obs: Tensor) -> tuple[Tensor, ...]:
        """`[batch, ...]` → what the policy says, `[batch, numbers]`, and values `[batch]`."""
        x = self.observed(obs)
        if self.is_central:
            return (self.policy(x),)
        if not self.has_towers:
            x = run_body(self, self.plan, x)
        return self.policy(x), self.value(x).squeeze(-1)

    def joint_value(self, obs: Tensor) -> Tensor:
        """Return the values of a central critic, `[batch]`.

        Args:
            obs: `[batch, agents · own, ...]`, one behind the other along the second axis: the own
                observation of the agent whose value it is, and those of the others from the next
                agent on around. One that takes no part any more observes zeros.

        Raises:
            ValueError: The critic is not central.
        """
        if not self.is_central:
            raise ValueError("joint_value: the value is of the agent's own observation: forward")
        value: Tensor = self.value(self._scaled(obs, "joint")).squeeze(-1)
        return value

    def log_std(self) -> Tensor:
        """Return the logarithms of the deviations of continuous actions, `[dims]`."""
        return self.policy.get_parameter("log_std")

    def _said(
        self, obs: Tensor, state: Tensor | None, episode_start: ArrayLike | None
    ) -> tuple[tuple[Tensor, ...], Tensor | None]:
        return self(obs), None

    def _chosen(self, numbers: NDArray[np.float32], greedy: bool) -> NDArray[Any]:
        if self.bounds is not None:
            low, high = self.bounds
            if not greedy:
                deviations = np.exp(self.log_std().detach().cpu().numpy())
                normal = self.rng.standard_normal(numbers.shape, np.float32)
                numbers = numbers + deviations * normal
            clipped = np.clip(numbers.reshape(-1, *low.shape), low, high)
            return clipped.astype(np.float32)
        return _of_logits(numbers, None if greedy else self.rng)


def _of_logits(logits: NDArray[np.float32], rng: np.random.Generator | None) -> NDArray[Any]:
    """Return the best actions by logits `[rows, n]`, or draws from their softmax."""
    if rng is None:
        return np.asarray(logits.argmax(1))
    # The largest of logits with Gumbel noise is such a draw.
    return np.asarray((logits + rng.gumbel(size=logits.shape)).argmax(1))


class RecurrentActorCritic(ActorCritic):
    """The same with an LSTM between body and heads, a `torch.nn.LSTMCell`.

    `forward(obs, state)` returns the state behind the observation, too: float32 `[2, batch, size]`,
    hidden and cell state; `new_state(batch)` is that at the start of episodes.
    """

    is_recurrent = True

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(checkpoint)
        self.lstm = nn.LSTMCell(self.features, checkpoint.settings["lstm_size"])

    def new_state(self, batch: int) -> Tensor:
        """Return the state in which episodes begin, zeros `[2, batch, size]`."""
        weight = self.lstm.weight_hh
        return torch.zeros(2, batch, self.lstm.hidden_size, device=weight.device)

    def forward(self, obs: Tensor, state: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        """`[batch, ...]`, `[2, batch, size]` → what the policy says, values, the state behind."""
        x = run_body(self, self.plan, self.observed(obs))
        hidden, cell = self.lstm(x, (state[0], state[1]))
        after = torch.stack((hidden, cell))
        return self.policy(hidden), self.value(hidden).squeeze(-1), after

    def _said(
        self, obs: Tensor, state: Tensor | None, episode_start: ArrayLike | None
    ) -> tuple[tuple[Tensor, ...], Tensor | None]:
        before = self.new_state(len(obs)) if state is None else state
        if episode_start is not None:
            starts = torch.as_tensor(np.asarray(episode_start, bool).reshape(-1))
            goes_on = torch.logical_not(starts).repeat_interleave(len(obs) // len(starts))
            before = before * goes_on.to(before)[:, None]
        said, values, after = self(obs, before)
        return (said, values), after


class SoftmaxPolicy(Policy):
    """The policy of MADDPG over discrete actions: `forward(obs)` returns logits `[batch, n]`."""

    bounds = None

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(checkpoint, rectified=True, has_body=False)
        self.policy = Tower(self.plan, self.num_actions)

    def forward(self, obs: Tensor) -> Tensor:
        """`[batch, ...]` → logits, float32 `[batch, n]`."""
        logits: Tensor = self.policy(self.observed(obs))
        return logits

    def _chosen(self, numbers: NDArray[np.float32], greedy: bool) -> NDArray[Any]:
        return _of_logits(numbers, None if greedy else self.rng)


class DeterministicPolicy(Policy):
    """The policy of DDPG, TD3 and MADDPG: `forward(obs)` returns actions `[batch, dims]`."""

    scale: Tensor
    middle: Tensor

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(checkpoint, rectified=True, has_body=False)
        space = checkpoint.action_space
        low, high = (np.array(space[name], np.float32) for name in ("low", "high"))
        self.bounds = low.reshape(space["shape"]), high.reshape(space["shape"])
        self.policy = Tower(self.plan, low.size)
        self.register_buffer("scale", torch.from_numpy((high - low) / 2), persistent=False)
        self.register_buffer("middle", torch.from_numpy((high + low) / 2), persistent=False)

    def forward(self, obs: Tensor) -> Tensor:
        """`[batch, ...]` → actions, float32 `[batch, dims]`."""
        return torch.tanh(self.policy(self.observed(obs))) * self.scale + self.middle

    def _chosen(self, numbers: NDArray[np.float32], greedy: bool) -> NDArray[Any]:
        low, high = self.bounds
        return np.asarray(np.clip(numbers.reshape(-1, *low.shape), low, high))


class QNetwork(Policy):
    """The network of DQN and PQN: `forward(obs)` returns action values `[batch, n]`.

    `returns(obs)` is what is learned of each action, `[batch, n, outputs]`: one number, the logits
    of fixed returns (C51), or quantiles (QR-DQN, IQN). In training mode noisy layers draw noise.
    """

    atoms: Tensor

    def __init__(self, checkpoint: Checkpoint) -> None:
        settings = checkpoint.settings
        is_dueling, is_noisy = (bool(settings.get(name)) for name in ("dueling", "noisy"))
        kind = settings.get("distributional", "none")
        has_streams = is_dueling or is_noisy or kind == "iqn"
        super().__init__(checkpoint, rectified=True, last_layer=not has_streams)
        self.is_dueling, self.distributional = is_dueling, kind
        counts = {"c51": settings.get("num_atoms", 51), "quantile": settings.get("num_quantiles")}
        self.num_outputs = int(counts.get(kind) or 1)
        low, high = settings.get("v_min", -10.0), settings.get("v_max", 10.0)
        atoms = torch.linspace(low, high, self.num_outputs)
        self.register_buffer("atoms", atoms, persistent=False)
        outputs = self.num_actions * self.num_outputs
        width = width_of(self.plan)
        if kind == "iqn":
            cosines, self.num_samples = (
                int(settings.get(name, default))
                for name, default in (("quantile_embedding_dim", 64), ("num_quantile_samples", 32))
            )
            self.quantiles = QuantileEmbedding(self.features, cosines, self.num_samples)
        if self.is_dueling:
            self.value = Stream(self.features, width, self.num_outputs, noisy=is_noisy)
            self.advantage = Stream(self.features, width, outputs, noisy=is_noisy)
        elif has_streams:
            self.q: nn.Module = Stream(self.features, width, outputs, noisy=is_noisy)
        else:
            self.q = nn.Linear(self.features, outputs)
        # By which the trainer's `eval` explores, and its defaults.
        name, usual = ("eval_e", 0.05) if settings["algorithm"] == "dqn" else ("end_e", 0.001)
        self.epsilon = float(settings.get(name, usual))

    def returns(self, obs: Tensor) -> Tensor:
        """`[batch, ...]` → what is said of each action, `[batch, actions, outputs]`."""
        x = run_body(self, self.plan, self.observed(obs))
        if self.distributional != "iqn":
            return self._of_features(x)
        quantiles = self._of_features(self.quantiles(x))
        quantiles = torch.reshape(quantiles, (-1, self.num_samples, self.num_actions))
        return quantiles.permute(0, 2, 1)

    def _of_features(self, x: Tensor) -> Tensor:
        shape = (-1, self.num_actions, self.num_outputs)
        if not self.is_dueling:
            return torch.reshape(self.q(x), shape)
        advantage = torch.reshape(self.advantage(x), shape)
        centred = advantage - advantage.mean(1, keepdim=True)
        value: Tensor = self.value(x)
        return value.unsqueeze(1) + centred

    def forward(self, obs: Tensor) -> Tensor:
        """`[batch, ...]` → action values `[batch, actions]`."""
        outputs = self.returns(obs)
        if self.distributional == "c51":
            return (torch.softmax(outputs, -1) * self.atoms).sum(-1)
        return outputs.mean(-1)

    def _chosen(self, numbers: NDArray[np.float32], greedy: bool) -> NDArray[Any]:
        actions = np.asarray(numbers.argmax(1))
        if greedy:
            return actions
        explores = self.rng.random(len(actions)) < self.epsilon
        return np.where(explores, self.rng.integers(self.num_actions, size=len(actions)), actions)
