"""Policies out of checkpoints, as PyTorch modules: `load_policy`."""

from __future__ import annotations

import dataclasses
import os
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from rust_trainer import checkpoints
from rust_trainer.checkpoints import Checkpoint, CheckpointError
from rust_trainer.networks import (
    BodyPlan,
    Net,
    QuantileEmbedding,
    Stream,
    Tower,
    add_body,
    run_body,
    width_of,
)
from rust_trainer.played_envs import EnvPlan

if TYPE_CHECKING:
    import gymnasium

# Of `norm_obs`, as the trainer has them.
_NORM_LIMIT = 10.0
_NORM_EPSILON = 1e-8


def load_policy(path: str | os.PathLike[str], *, best: bool = False) -> Policy:
    """Load the policy of a checkpoint as a PyTorch module, on the CPU and in evaluation mode.

    It computes in float32 what the trainer computes, to 1e-5 where that computes in float32, too.

    Args:
        path: A checkpoint, or a run's folder, whose newest is taken.
        best: Take the run's checkpoint that did best in evaluations during training.

    Returns:
        An `ActorCritic` (PPO, A2C), a `RecurrentActorCritic` (with `lstm_size`), a `QNetwork`
        (DQN, PQN) or a `DeterministicPolicy` (DDPG, TD3). `state_dict()` has the names of the
        checkpoint.

    Raises:
        CheckpointError: (a `ValueError`) There is none, it is damaged, or of another network.
        OSError: It cannot be read.
    """
    file = checkpoints.find(path, best=best)
    try:
        return policy_of(checkpoints.read(file))
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"checkpoint `{file}`: does not fit its settings: {error}") from None


def policy_of(checkpoint: Checkpoint) -> Policy:
    """Build the policy that a checkpoint holds; see `load_policy`."""
    settings = checkpoint.settings
    of_agents = settings.get("central_critic") or not settings.get("share_weights", True)
    if of_agents or settings.get("algorithm") == "maddpg":
        raise CheckpointError("networks of several agents are played by the trainer's `eval` alone")
    if settings.get("algorithm", "ppo") in ("dqn", "pqn"):
        policy: Policy = QNetwork(checkpoint)
    elif settings.get("algorithm") in ("ddpg", "td3"):
        policy = DeterministicPolicy(checkpoint)
    elif settings.get("lstm_size", 0) > 0:
        policy = RecurrentActorCritic(checkpoint)
    else:
        policy = ActorCritic(checkpoint)
    own = policy.state_dict()
    kept = {name: tensor for name, tensor in checkpoint.tensors.items() if name in own}
    policy.load_state_dict({name: own[name] for name in own if name.startswith("obs_")} | kept)
    return policy.eval()


class Policy(nn.Module):
    """What plays: a network and what it needs to know of its game.

    Attributes:
        checkpoint: The settings and counters that it was saved with; its tensors are left out.
        obs_shape: Of one observation, as the environments give it: `[channels, height, width]`
            uint8, or `[numbers]`.
        env: The environments that it plays in.
        rng: Draws actions; replace it by `numpy.random.default_rng(seed)` to repeat them.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        rectified: bool = False,
        last_layer: bool = True,
        has_body: bool = True,
    ) -> None:
        super().__init__()
        settings = checkpoint.settings
        is_image = checkpoint.obs_dtype == "uint8" and len(checkpoint.obs_shape) == 3
        usual: Net = "nature" if is_image else "mlp"
        chosen = settings.get("net", "auto")
        self.plan = BodyPlan(
            net=usual if chosen == "auto" else chosen,
            obs_shape=checkpoint.obs_shape,
            is_bytes=checkpoint.obs_dtype == "uint8",
            rectified=rectified,
            layer_norm=settings["algorithm"] == "pqn" and settings.get("layer_norm", True),
            last_layer=last_layer,
            **{name: settings[name] for name in ("mlp_width", "impala_width") if name in settings},
        )
        # Without a body of its own its heads have one each.
        self.features = add_body(self, self.plan) if has_body else self.plan.mlp_width
        self.obs_shape = checkpoint.obs_shape
        self.checkpoint = dataclasses.replace(checkpoint, tensors={})
        self.env = EnvPlan.of(settings)
        self.rng = np.random.default_rng()
        self.num_actions = int(checkpoint.action_space.get("n", 0))

    def observed(self, obs: Tensor) -> Tensor:
        """Observations `[batch, ...]` as numbers, float32."""
        return obs.to(torch.float32) / 255 if self.plan.is_bytes else obs

    def act(
        self,
        observation: ArrayLike,
        state: Tensor | None = None,
        *,
        greedy: bool = False,
        episode_start: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], Tensor | None]:
        """Choose actions.

        Args:
            observation: As the environment gives it: one, or a batch of them, `[envs, ...]`. Of
                games for two those of both players, `[2, ...]` or `[games, 2, ...]`.
            state: What was returned with the actions before; `None` where episodes begin.
            greedy: The best actions. Otherwise they are drawn as the trainer's `eval` draws them:
                from the policy, and by action values ε-greedily.
            episode_start: bool `[envs]`, or one: whose `state` is to be forgotten.

        Returns:
            Actions for `env.step`, int64 `[envs]` or float32 `[envs, ...]`, without the first axis
            for one observation; and the state for the next call, `None` without an LSTM.

        Raises:
            ValueError: The observation has another shape.
        """
        given = np.asarray(observation)
        axes = given.shape[: given.ndim - len(self.obs_shape)]
        actions, _, state = self.decide(given, state, greedy=greedy, episode_start=episode_start)
        return actions.reshape((*axes, *actions.shape[1:]))[()], state

    def decide(
        self, observation: ArrayLike, state: Tensor | None, *, greedy: bool, episode_start: Any
    ) -> tuple[NDArray[Any], tuple[NDArray[np.float32], ...], Tensor | None]:
        """Do what `act` does, a row for each observation, and return what was computed, too.

        Returns:
            Actions; what they were chosen by and, of PPO and A2C, values; the state.
        """
        obs = torch.from_numpy(self.env.rows(np.asarray(observation), self.obs_shape))
        device = next(self.parameters()).device
        with torch.no_grad():
            said, state = self._said(obs.to(device), state, episode_start)
        numbers = tuple(each.float().cpu().numpy() for each in said)
        return self._chosen(numbers[0], greedy), numbers, state

    @property
    def recipe(self) -> dict[str, Any] | None:
        """Every part of the recipe by which its game is preprocessed; see `EnvPlan.recipe`."""
        return self.env.recipe

    def make_env(self, **overrides: Any) -> gymnasium.Env[Any, Any]:
        """Make one environment that it plays in; see `EnvPlan.make_env`."""
        return self.env.make_env(**overrides)

    def _said(
        self, obs: Tensor, state: Tensor | None, episode_start: ArrayLike | None
    ) -> tuple[tuple[Tensor, ...], Tensor | None]:
        """Return what actions are chosen by, `[rows, numbers]`, values; and the state behind it."""
        return (self(obs),), None

    @abstractmethod
    def _chosen(self, numbers: NDArray[np.float32], greedy: bool) -> NDArray[Any]:
        """Return the actions by these numbers, `[rows, ...]`."""


class ActorCritic(Policy):
    """The network of PPO and A2C: `forward(obs)` returns what the policy says, and values.

    `policy` and `value` are its heads. With discrete actions the policy says logits `[batch, n]`;
    with continuous ones means `[batch, dims]`, and `policy.log_std` are the logarithms of the
    standard deviations. Where the run had `norm_obs`, `obs_mean` and `obs_deviation` normalize.
    """

    is_recurrent = False
    obs_mean: Tensor
    obs_deviation: Tensor

    def __init__(self, checkpoint: Checkpoint) -> None:
        is_flat = len(checkpoint.obs_shape) == 1
        has_towers = is_flat and not self.is_recurrent
        super().__init__(checkpoint, has_body=not has_towers)
        self.has_towers = has_towers
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
            self.policy, self.value = Tower(plan, outputs), Tower(plan, 1)
        else:
            self.policy, self.value = nn.Linear(features, outputs), nn.Linear(features, 1)
        if self.bounds is not None:
            self.policy.register_parameter("log_std", nn.Parameter(torch.zeros(outputs)))
        moments = checkpoint.values.get("norm_obs")
        self.normalizes = moments is not None
        if moments is not None:
            variance = torch.tensor(moments["variance"], dtype=torch.float64)
            self.register_buffer("obs_mean", torch.tensor(moments["mean"], dtype=torch.float64))
            self.register_buffer("obs_deviation", (variance + _NORM_EPSILON).sqrt())

    def observed(self, obs: Tensor) -> Tensor:
        """Observations `[batch, ...]` as numbers, float32, normalized where the run had that."""
        if not self.normalizes:
            return super().observed(obs)
        scaled = (obs.to(torch.float64) - self.obs_mean) / self.obs_deviation
        return scaled.clamp(-_NORM_LIMIT, _NORM_LIMIT).to(torch.float32)

    def forward(self, obs: Tensor) -> tuple[Tensor, ...]:
        """`[batch, ...]` → what the policy says, `[batch, numbers]`, and values `[batch]`."""
        x = self.observed(obs)
        if not self.has_towers:
            x = run_body(self, self.plan, x)
        return self.policy(x), self.value(x).squeeze(-1)

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
        if greedy:
            return np.asarray(numbers.argmax(1))
        # The largest of logits with Gumbel noise is a draw from their softmax.
        return np.asarray((numbers + self.rng.gumbel(size=numbers.shape)).argmax(1))


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


class DeterministicPolicy(Policy):
    """The policy of DDPG and TD3, no critics: `forward(obs)` returns actions `[batch, dims]`."""

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
        self.epsilon = float(settings.get("eval_e", settings.get("end_e", 0.0)))

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
