"""`serve-policy`: a checkpoint's policy over a socket, for `atari_wrappers.remote.RemotePolicy`."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atari_wrappers.checks import dtype_of
from atari_wrappers.remote.addresses import POLICIES
from atari_wrappers.remote.batches_pb2 import Acts, Hello, Reply, Request, Welcome
from atari_wrappers.remote.clients import StreamClient
from atari_wrappers.remote.command import add_server_arguments, run_server
from atari_wrappers.remote.server import Server
from atari_wrappers.remote.values import from_array, of_type, to_array, to_dict, to_space
from rust_trainer.policies import ActorCritic, QNetwork, RecurrentActorCritic, load_policy
from rust_trainer.policy import Policy

if TYPE_CHECKING:
    from atari_wrappers.remote.http import HttpFace

__all__ = ["PolicyServer", "run"]


class PolicyServer(Server):
    """Serves a policy to each client, with a memory of its own where the network has one.

    Args:
        policy: Which; clients take turns.
        address: Where to listen.
        token: What clients must say.
        **limits: Those of `Server`.
    """

    service = POLICIES

    def __init__(self, policy: Policy, address: str, token: str, **limits: Any) -> None:
        self._policy, self._turn = policy, threading.Lock()
        super().__init__(address, token, **limits)

    def _new_face(self) -> Callable[..., HttpFace]:
        from rust_trainer.serving_http import PolicyFace

        make = partial(PolicyClient, self._policy, self._turn, 0.0)
        return partial(PolicyFace, self._policy, make)

    def _new_client(self) -> StreamClient:
        return PolicyClient(self._policy, self._turn, self._keep_lost)


class PolicyClient(StreamClient):
    """One who asks a policy, and what that remembers of it."""

    def __init__(self, policy: Policy, turn: threading.Lock, most_seconds: float) -> None:
        super().__init__(most_seconds)
        self._policy, self._turn = policy, turn
        self._state: Tensor | None = None
        self._was_told = False

    @property
    def has(self) -> str:
        """The policy, which it was told of."""
        return "the policy" if self._was_told else ""

    @property
    def is_over(self) -> bool:
        """It never is."""
        return False

    def close(self) -> None:
        """Forget."""
        self._state = None

    def welcome(self, hello: Hello) -> Welcome:
        """Say what the policy is."""
        del hello
        policy = self._policy
        self._was_told = True
        return Welcome(
            env_name=policy.env.env_id,
            num_players=policy.env.num_players,
            observation_space=to_space(observation_space(policy)),
            action_space=to_space(action_space(policy)),
            algorithm=policy.checkpoint.settings.get("algorithm", "ppo"),
            is_recurrent=isinstance(policy, RecurrentActorCritic),
            agent_steps=policy.checkpoint.step,
        )

    def reply_to(self, request: Request, call: str) -> bytes:
        """Choose actions."""
        if call != "act":
            raise ValueError(f"{call}: this server has a policy, which can act")
        act = request.act
        obs = of_type(from_array(act.observations), dtype_of(observation_space(self._policy)))
        starts = from_array(act.episode_start) if act.episode_start.data else None
        if starts is not None and starts.dtype != bool:
            raise ValueError(f"episode_start is bool, not {starts.dtype}")
        actions, said = self.act(obs, starts, greedy=act.greedy)
        acts = Acts(actions=to_array(actions), said=to_dict(said))
        return Reply(id=request.id, acts=acts).SerializeToString()

    def act(
        self, obs: NDArray[Any], starts: NDArray[np.bool_] | None, *, greedy: bool
    ) -> tuple[NDArray[Any], dict[str, NDArray[np.float32]]]:
        """Return actions for observations `[n, ...]`, and what is said of them."""
        own = observation_space(self._policy).shape or ()
        if obs.ndim == 0 or len(obs) == 0 or obs.shape[1:] != own:
            raise ValueError(
                f"an observation has the shape {own}, and a batch one or more; not {obs.shape}"
            )
        state = self._state
        if starts is not None and starts.size not in (1, len(obs)):
            raise ValueError(f"{starts.size} starts of episodes for {len(obs)} observations")
        if state is not None and starts is not None and starts.all():
            state = None
        players = self._policy.env.num_players
        rows = len(obs) * players
        if state is not None and state.shape[1] != rows:
            raise ValueError(
                f"{len(obs)} observations, and the policy remembers {state.shape[1] // players}:"
                " episode_start forgets them"
            )
        with self._turn:
            actions, numbers, self._state = self._policy.decide(
                obs, state, greedy=greedy, episode_start=None if state is None else starts
            )
        axes = (len(obs),) if players == 1 else (len(obs), players)
        said = said_of(self._policy, numbers)
        return (
            actions.reshape(*axes, *actions.shape[1:]),
            {name: each.reshape(*axes, *each.shape[1:]) for name, each in said.items()},
        )


def said_of(
    policy: Policy, numbers: tuple[NDArray[np.float32], ...]
) -> dict[str, NDArray[np.float32]]:
    """Return by name what a policy has computed of observations, float32 `[n, ...]`."""
    if isinstance(policy, QNetwork):
        return {"action_values": numbers[0], "value": numbers[0].max(-1)}
    if not isinstance(policy, ActorCritic):
        return {}
    chosen_by, *values = numbers
    # A central critic has none of an agent's own observation.
    said = dict(zip(("value",), values, strict=False))
    if policy.bounds is None:
        logits = torch.from_numpy(chosen_by)
        return {"probabilities": torch.softmax(logits, -1).numpy(), **said}
    deviation = np.exp(policy.log_std().detach().cpu().numpy())
    return {
        "mean": chosen_by,
        "deviation": np.broadcast_to(deviation, chosen_by.shape),
        **said,
    }


def observation_space(policy: Policy) -> gym.spaces.Box:
    """Return the space of one observation, as the env gives it."""
    shape = policy.obs_shape
    if policy.env.num_players > 1:  # the plane that tells who plays is the policy's own
        shape = (policy.env.num_players, shape[0] - 1, *shape[1:])
    if policy.plan.is_bytes:
        return gym.spaces.Box(0, 255, shape, np.uint8)
    return gym.spaces.Box(-np.inf, np.inf, shape, np.float32)


def action_space(policy: Policy) -> gym.Space[Any]:
    """Return the space of one action."""
    space = policy.checkpoint.action_space
    if space["kind"] == "Box":
        low, high = (np.array(space[name], np.float32) for name in ("low", "high"))
        return gym.spaces.Box(low.reshape(space["shape"]), high.reshape(space["shape"]))
    discrete: gym.Space[Any] = gym.spaces.Discrete(space["n"])
    if policy.env.num_players > 1:
        return gym.spaces.MultiDiscrete([space["n"]] * policy.env.num_players)
    return discrete


def run(arguments: list[str]) -> int:
    """Do what the command `serve-policy` does, until Ctrl-C, SIGTERM or SIGHUP."""
    parser = argparse.ArgumentParser("rust_trainer serve-policy", description=__doc__)
    parser.add_argument("run", help="a run's folder (its newest checkpoint), or a checkpoint")
    parser.add_argument(
        "--best", action="store_true", help="the checkpoint that did best in evaluations"
    )
    parser.add_argument(
        "--agent", type=int, help="whose policy, from 0 on, where each of several agents has one"
    )
    parser.add_argument(
        "--torch-threads", type=int, default=1, help="threads that compute (%(default)s)"
    )
    add_server_arguments(parser)
    given = parser.parse_args(arguments)
    torch.set_num_threads(max(given.torch_threads, 1))
    policy = load_policy(given.run, best=given.best, agent=given.agent)
    return run_server(partial(PolicyServer, policy), f"a policy of {policy.env.env_id}", given)
