"""A policy by HTTP and JSON: `POST /act`, `GET /policy`. A client is a connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from atari_wrappers.remote.http import HttpFace, from_json
from rust_trainer import serving
from rust_trainer.policies import RecurrentActorCritic
from rust_trainer.policy import Policy


class PolicyFace(HttpFace):
    """Serves a policy by HTTP.

    Args:
        policy: Which.
        make: Makes what one more client has.
        args: Those of `HttpFace`.
        kwargs: The same.
    """

    posts, gets = ("act",), ("policy", "health")

    def __init__(
        self, policy: Policy, make: Callable[[], serving.PolicyClient], *args: Any, **kwargs: Any
    ) -> None:
        self._policy, self._make = policy, make
        self._space = serving.observation_space(policy)
        super().__init__(*args, **kwargs)

    def new_client(self) -> serving.PolicyClient:
        """Return one more, which remembers nothing."""
        return self._make()

    def reply(self, request: Any, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Act, or say what the policy is."""
        if name == "health":
            return {"status": "healthy"}
        if name == "act":
            return self._act(request, body)
        return {
            "env_id": self._policy.env.env_id,
            "observation_space": str(self._space),
            "action_space": str(serving.action_space(self._policy)),
            "is_recurrent": isinstance(self._policy, RecurrentActorCritic),
        }

    def _act(self, request: Any, body: dict[str, Any]) -> dict[str, Any]:
        unknown = body.keys() - {"observations", "greedy", "episode_start"}
        if unknown or "observations" not in body:
            raise ValueError(
                'an act is {"observations": [...]}, and perhaps "greedy" and "episode_start"'
            )
        client = self.client_of(request)
        assert isinstance(client, serving.PolicyClient)
        obs = from_json(body["observations"], self._space.dtype)
        own = self._space.shape or ()
        if obs.shape[1:] != own:
            raise ValueError(
                f"observations are of the shape [n, {', '.join(map(str, own))}], not"
                f" {list(obs.shape)}"
            )
        greedy, starts = body.get("greedy", False), body.get("episode_start")
        starts = None if starts is None else np.atleast_1d(np.asarray(starts))
        if not isinstance(greedy, bool) or (starts is not None and starts.dtype != bool):
            raise ValueError("greedy is true or false, and episode_start is, or a list of them")
        client.idle_since = None
        try:
            actions, said = client.act(
                obs, None if starts is None else starts.reshape(-1), greedy=greedy
            )
        finally:
            client.idle_since = time.monotonic()
        return {"actions": actions.tolist()} | {name: rows.tolist() for name, rows in said.items()}
