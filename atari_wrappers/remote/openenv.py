"""OpenEnv's protocol, by HTTP and WebSocket: reset, step, state; an env for each connection."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from aiohttp import WSMsgType, web

from atari_wrappers.about import __version__
from atari_wrappers.backends import choose_backend
from atari_wrappers.checks import dtype_of
from atari_wrappers.errors import UnsupportedError, WorkerError
from atari_wrappers.remote.asked import asked_batch
from atari_wrappers.remote.clients import Client
from atari_wrappers.remote.http import (
    REFUSED,
    HttpFace,
    TooManyClientsError,
    dumps,
    from_json,
    to_json,
)
from atari_wrappers.request import BatchRequest
from atari_wrappers.vector.env import VecEnv

_SHOWN = ("raw_reward", "lives", "episode_return", "episode_length")
_ARRAY = {
    "type": ["array", "object"],
    "description": "numbers; or dtype, shape and base64 of the bytes, where there are several axes",
}


class OpenEnvClient(Client):
    """One env, from its first reset on."""

    def __init__(self, request: BatchRequest) -> None:
        super().__init__()
        # An env that has ended waits for a reset, as OpenEnv means it.
        settings = replace(request.settings, batch_size=0)
        request = replace(request, settings=settings)
        self._request = asked_batch(request, 1, {"autoreset": "disabled"})
        self._env: VecEnv | None = None
        # An env that is still being made is there to be closed once it is.
        self._at_work = threading.Lock()
        self._was_reset, self._episode_id, self._steps = False, "", 0

    @property
    def has(self) -> str:
        """One env."""
        return "" if self._env is None else "1 env"

    @property
    def is_over(self) -> bool:
        """Whether the env was closed."""
        return self._env is not None and self._env.closed

    def close(self) -> None:
        """Close the env, once it has done what was asked of it."""
        with self._at_work:
            if self._env is not None:
                self._env.close()

    def do(self, name: str, data: dict[str, Any]) -> dict[str, Any]:
        """Reset, step, or say how it stands."""
        with self._at_work:
            self.idle_since = None
            try:
                return {"reset": self._reset, "step": self._step, "state": self._state}[name](data)
            except Exception as error:
                if self.is_over or isinstance(error, WorkerError):
                    self._drop()
                raise
            finally:
                self.idle_since = time.monotonic()

    def _drop(self) -> None:
        """Let go of an env that has failed; the next reset makes another one."""
        env, self._env, self._was_reset = self._env, None, False
        if env is not None:
            with contextlib.suppress(Exception):  # it failed before
                env.close()

    def _reset(self, data: dict[str, Any]) -> dict[str, Any]:
        if self._env is None:
            self._env = VecEnv(self._request, choose_backend(self._request))
        obs, info = self._env.reset(seed=data.get("seed"))
        self._was_reset = True
        self._episode_id, self._steps = str(data.get("episode_id") or ""), 0
        return _result(obs, None, done=False, info=info)

    def _step(self, data: dict[str, Any]) -> dict[str, Any]:
        if self._env is None or not self._was_reset:
            raise ValueError("step: reset comes first")
        action = data.get("action", data)
        if isinstance(action, dict) and "base64" not in action:
            action = action.get("action", action.get("action_id"))
        if action is None:
            raise ValueError('step: an action is {"action": NUMBER} or {"action": [NUMBERS]}')
        actions = from_json(action, dtype_of(self._env.single_action_space))[np.newaxis]
        obs, reward, terminated, truncated, info = self._env.step(actions)
        self._steps += 1
        ends = {"terminated": bool(terminated[0]), "truncated": bool(truncated[0])}
        return _result(obs, float(reward[0]), done=any(ends.values()), info=info, **ends)

    def _state(self, data: dict[str, Any]) -> dict[str, Any]:
        del data
        return {"episode_id": self._episode_id or None, "step_count": self._steps}


def _result(
    obs: np.ndarray, reward: float | None, *, done: bool, info: Any, **ends: bool
) -> dict[str, Any]:
    shown = {name: info[name][0].item() for name in _SHOWN if name in info}
    observation = {"obs": to_json(obs[0]), **ends, **shown}
    return {"observation": observation, "reward": reward, "done": done}


class OpenEnvFace(HttpFace):
    """Serves envs as OpenEnv's clients know them.

    Args:
        request: What each client gets one env of.
        args: Those of `HttpFace`.
        kwargs: The same.
    """

    posts = ("reset", "step", "mcp")
    gets = ("state", "schema", "metadata", "health", "openapi.json")

    def __init__(self, request: BatchRequest, *args: Any, **kwargs: Any) -> None:
        if request.settings.num_players > 1:
            raise UnsupportedError("OpenEnv's protocol is of one player: num_players must be 1")
        self._request = request
        with VecEnv(one := OpenEnvClient(request)._request, choose_backend(one)) as env:
            self._spaces = str(env.single_observation_space), str(env.single_action_space)
        super().__init__(*args, **kwargs)

    def new_client(self) -> OpenEnvClient:
        """Return one more env."""
        return OpenEnvClient(self._request)

    def add_routes(self, app: web.Application, prefix: str) -> None:
        """Add the WebSocket."""
        app.router.add_get(f"{prefix}/ws", self._talk)

    def reply(self, request: web.Request, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Answer an HTTP request."""
        if name in ("reset", "step", "state"):
            client = self.client_of(request)
            assert isinstance(client, OpenEnvClient)
            return client.do(name, body)
        return self._told[name](self)

    def _schema(self) -> dict[str, Any]:
        seen, done = self._spaces
        numbers = {name: {"type": "number"} for name in _SHOWN}
        flags = {name: {"type": "boolean"} for name in ("terminated", "truncated")}
        return {
            "action": _object(f"of {done}", action={"type": ["integer", "array"]}),
            "observation": _object(f"obs is of {seen}", obs=_ARRAY, **numbers, **flags),
            "state": _object(
                "of the episode",
                episode_id={"type": ["string", "null"]},
                step_count={"type": "integer"},
            ),
        }

    def _metadata(self) -> dict[str, Any]:
        name = self._request.env_id.name
        about = f"{name} by atari_wrappers: observations {self._spaces[0]}, actions"
        return {
            "name": name,
            "description": f"{about} {self._spaces[1]}",
            "version": __version__,
        }

    def _openapi(self) -> dict[str, Any]:
        said: dict[str, Any] = {"responses": {"200": {"description": "JSON"}}}
        paths = {f"/{name}": {"post": said} for name in self.posts}
        paths |= {f"/{name}": {"get": said} for name in self.gets}
        info = {"title": self._request.env_id.name, "version": "1.0.0"}
        return {"openapi": "3.1.0", "info": info, "paths": paths}

    def _mcp(self) -> dict[str, Any]:
        error = {"code": -32601, "message": "there are no tools here: an env is stepped by /ws"}
        return {"jsonrpc": "2.0", "id": None, "error": error}

    _told: dict[str, Callable[[OpenEnvFace], dict[str, Any]]] = {  # noqa: RUF012
        "schema": _schema,
        "metadata": _metadata,
        "health": lambda _: {"status": "healthy"},
        "openapi.json": _openapi,
        "mcp": _mcp,
    }

    async def _talk(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one client by WebSocket."""
        socket = web.WebSocketResponse(max_msg_size=self._limit, heartbeat=20.0)
        await socket.prepare(request)
        try:
            client = self.admit(request)
        except TooManyClientsError as error:
            await socket.send_json(_error(str(error), "CAPACITY_REACHED"))
            await socket.close()
            return socket
        assert isinstance(client, OpenEnvClient)
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    break
                reply = await self.run(_reply_to, client, message.data)
                if reply is None:
                    break
                await socket.send_json(reply, dumps=dumps)
        except ConnectionError:
            pass  # the client is gone
        finally:
            await self.run(self.release, client)
        await socket.close()
        return socket


def _object(description: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties}


def _reply_to(client: OpenEnvClient, text: str) -> dict[str, Any] | None:
    """Return the reply to a message, `None` to one that says goodbye."""
    try:
        message = json.loads(text)
        kind, data = message["type"], message.get("data") or {}
        if not isinstance(data, dict):
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return _error("a message is {type, data}", "INVALID_JSON")
    if kind == "close":
        return None
    if kind not in ("reset", "step", "state"):
        return _error(f"{kind!s:.40} is no type of message", "UNKNOWN_TYPE")
    try:
        return {
            "type": "state" if kind == "state" else "observation",
            "data": client.do(kind, data),
        }
    except REFUSED as error:
        return _error(str(error), "VALIDATION_ERROR")
    except Exception as error:
        return _error(f"{type(error).__name__}: {error}", "EXECUTION_ERROR")


def _error(message: str, code: str) -> dict[str, Any]:
    return {"type": "error", "data": {"message": message, "code": code}}
