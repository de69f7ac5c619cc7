"""What plays: `Policy`, of which `policies` has the kinds."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from rust_trainer.checkpoints import Checkpoint
from rust_trainer.networks import BodyPlan, Net, add_body
from rust_trainer.played_envs import EnvPlan

if TYPE_CHECKING:
    import gymnasium


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
        largest = 255 if self.plan.is_bytes else 1
        rows = self.env.rows(np.asarray(observation), self.obs_shape, largest)
        obs = torch.from_numpy(rows)
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
