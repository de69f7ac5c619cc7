"""`RemotePolicy`: a policy that a server has, which chooses actions for observations."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from atari_wrappers.checks import dtype_of
from atari_wrappers.errors import ServerError
from atari_wrappers.remote.addresses import POLICIES
from atari_wrappers.remote.batches_pb2 import Act, Array, Hello
from atari_wrappers.remote.channels import open_session
from atari_wrappers.remote.values import from_array, from_dict, from_space, of_type, to_array


class RemotePolicy:
    """A policy that `rust_trainer serve-policy` serves. It needs neither PyTorch nor the trainer.

    What a recurrent network remembers is this client's own, a row for each observation of a batch.

    Attributes:
        address: Of the server.
        env_name: The id of the envs that it was learned in.
        observation_space: Of one observation, as the env gives it.
        action_space: Of one action.
        algorithm: That it was learned by, such as `"ppo"`.
        agent_steps: That it has learned from.
        is_recurrent: Whether it remembers what it has seen.

    Args:
        address: `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`.
        token: As those that follow, of `RemoteVecEnv`.
        tls: Whether to encrypt.
        ca_file: The certificates to check the server's against.
        connect_timeout: Seconds that the server may take to be there.
        timeout: Seconds that a reply may take before the server is given up.
        reconnect: Seconds for which a connection that is lost is made anew; nothing is forgotten.

    Raises:
        ServerError: (a `ConnectionError`) There is no server, or it refuses this client.
        UnsupportedError: The address needs TLS.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        tls: bool = False,
        ca_file: str | Path | None = None,
        connect_timeout: float = 5.0,
        timeout: float = 60.0,
        reconnect: float = 0.0,
    ) -> None:
        self._session = open_session(
            POLICIES, address, token, tls=tls, ca_file=ca_file, timeout=timeout, reconnect=reconnect
        )
        try:
            welcome = self._session.connect(Hello(), connect_timeout)
            self.observation_space: gym.Space[Any] = from_space(welcome.observation_space)
            self.action_space: gym.Space[Any] = from_space(welcome.action_space)
        except BaseException:
            self._session.close()
            raise
        self.address, self.env_name = self._session.address, welcome.env_name
        self.algorithm, self.agent_steps = welcome.algorithm, welcome.agent_steps
        self.is_recurrent = welcome.is_recurrent

    def act(
        self,
        observation: ArrayLike,
        *,
        greedy: bool = False,
        episode_start: ArrayLike | None = None,
    ) -> Any:
        """Return the action for an observation, or actions for a batch of them.

        Args:
            observation: `[*shape]`, or a batch `[n, *shape]`.
            greedy: The best actions. Otherwise they are drawn, as the trainer's `eval` draws them.
            episode_start: bool `[n]`, or one for all: where episodes begin, so that the network
                forgets those before.

        Returns:
            int64 `[n]` or float32 `[n, ...]`, without the first axis for one observation.

        Raises:
            ValueError: The observation has another shape, or there are more or fewer than before.
            ServerError: The server is gone.
        """
        return self.decide(observation, greedy=greedy, episode_start=episode_start)[0]

    def decide(
        self,
        observation: ArrayLike,
        *,
        greedy: bool = False,
        episode_start: ArrayLike | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Do what `act` does, and return what the policy says of the observations, too.

        Returns:
            The actions; and float32, as far as the policy has them, `value` `[n]`, `probabilities`
            or `action_values` `[n, actions]`, `mean` and `deviation` `[n, dims]`.
        """
        space = self.observation_space
        obs = of_type(observation, dtype_of(space))
        is_one = obs.ndim == len(space.shape or ())
        starts = None if episode_start is None else np.asarray(episode_start, bool).reshape(-1)
        act = Act(
            observations=to_array(obs[np.newaxis] if is_one else obs),
            greedy=greedy,
            episode_start=Array() if starts is None else to_array(starts),
        )
        reply = self._session.answer(self._session.ask(act=act))
        try:
            actions, said = from_array(reply.acts.actions), from_dict(reply.acts.said)
            if is_one:
                return actions[0], {name: rows[0] for name, rows in said.items()}
        except (ValueError, IndexError) as error:
            raise ServerError(f"the server at {self.address} sent no actions: {error}") from error
        return actions, said

    def close(self) -> None:
        """Leave; a second call does nothing."""
        self._session.close()

    def __enter__(self) -> Self:
        """Return the policy, which is closed at the end of the `with` block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()
