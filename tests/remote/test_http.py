"""Environments by HTTP and WebSocket, as OpenEnv's clients ask, and its validator where it is."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import re
import shutil
import socket
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import TOKEN, make_certificate
from waiting import wait_until

from atari_wrappers import ClosedError, Settings, UnsupportedError, VecEnv
from atari_wrappers.remote import BatchServer
from atari_wrappers.request import request_batch

aiohttp = pytest.importorskip("aiohttp", reason="it is an extra")
from atari_wrappers.remote.http import dumps  # noqa: E402 - needs aiohttp

Serve = Callable[..., BatchServer]
HTTP = {"http": "127.0.0.1:0"}


def get(address: str, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}/{TOKEN}/{path}", timeout=60) as reply:
        return json.load(reply)


def talk(address: str, *messages: object) -> list[dict[str, Any]]:
    """Send messages by a WebSocket, and return the replies until one says goodbye."""

    async def talking() -> list[dict[str, Any]]:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{address}/{TOKEN}/ws", max_msg_size=0) as socket,
        ):
            replies = []
            for message in messages:
                text = message if isinstance(message, str) else json.dumps(message)
                await socket.send_str(text)
                reply = await socket.receive(60)
                if reply.type is not aiohttp.WSMsgType.TEXT:
                    assert (reply.data, json.loads(text)["type"]) == (1000, "close")
                    break
                replies.append(json.loads(reply.data))
            return replies

    return asyncio.run(talking())


def obs_of(reply: dict[str, Any]) -> np.ndarray:
    obs = reply["data"]["observation"]["obs"]
    if isinstance(obs, list):
        return np.asarray(obs)
    return np.frombuffer(base64.b64decode(obs["base64"]), obs["dtype"]).reshape(obs["shape"])


def test_openenvs_envs_are_ours(serve: Serve, open_vec: Callable[..., VecEnv]) -> None:
    server = serve("BreakoutNoFrameskip-v4", 4, limits=HTTP)
    twin = open_vec("BreakoutNoFrameskip-v4", 1, autoreset="disabled")
    actions = [1, 2, 3, 3]
    messages = [{"type": "step", "data": {"action": action}} for action in actions]
    reset = {"type": "reset", "data": {"seed": 7, "episode_id": "e"}}
    replies = talk(server.http_address, reset, *messages, {"type": "state"})
    np.testing.assert_array_equal(obs_of(replies[0]), twin.reset(seed=7)[0][0])
    for action, reply in zip(actions, replies[1:-1], strict=True):
        obs, reward, _, _, info = twin.step([action])
        np.testing.assert_array_equal(obs_of(reply), obs[0])
        assert (reply["data"]["reward"], reply["data"]["done"]) == (reward[0], False)
        assert reply["data"]["observation"]["lives"] == info["lives"][0]
    assert replies[-1] == {"type": "state", "data": {"episode_id": "e", "step_count": 4}}
    wait_until(lambda: server.num_clients == 0, seconds=60)


def test_games_for_two_are_refused(serve: Serve) -> None:
    with pytest.raises(UnsupportedError, match="is of one player: num_players must be 1"):
        serve("PongNoFrameskip-v4", 1, limits=HTTP, num_players=2)


def test_an_episode_ends_and_waits_for_a_reset(serve: Serve) -> None:
    address = serve("CartPole-v1", 1, limits=HTTP).http_address
    step = {"type": "step", "data": {"action_id": 0}}
    replies = talk(address, {"type": "reset", "data": {"seed": 0}}, *[step] * 12)
    ends = [reply["type"] == "observation" and reply["data"]["done"] for reply in replies]
    assert sum(ends) == 1
    assert replies[ends.index(True) + 1]["data"]["code"] == "EXECUTION_ERROR"


@pytest.mark.parametrize(
    ("env_id", "backend"), [("FailsByRaise-v0", "sync"), ("FailsByDying-v0", "async")]
)
def test_a_reset_goes_on_after_an_env_has_failed(env_id: str, backend: str, serve: Serve) -> None:
    settings = {"backend": backend, "context": "forkserver"} if backend == "async" else {}
    server = serve(f"scripted:{env_id}", 1, limits=HTTP, **settings)
    reset, step = {"type": "reset"}, {"type": "step", "data": {"action": 5}}
    replies = talk(
        server.http_address, reset, step, step, step, step, reset, step, {"type": "state"}
    )
    codes = [reply["data"].get("code") for reply in replies]
    assert codes == [None, None, None, "EXECUTION_ERROR", "VALIDATION_ERROR", None, None, None]
    assert "reset comes first" in replies[4]["data"]["message"]
    assert obs_of(replies[6]).tolist() == [1, 1]
    assert replies[7]["data"]["step_count"] == 1
    wait_until(lambda: server.num_clients == 0, seconds=60)


def test_a_reset_goes_on_after_an_env_was_closed() -> None:
    from atari_wrappers.remote.openenv import OpenEnvClient

    client = OpenEnvClient(request_batch("CartPole-v1", 1, Settings()))
    client.do("reset", {})
    assert client._env is not None
    client._env.close()  # as a failure does that is not one env's own
    with pytest.raises(ClosedError):
        client.do("step", {"action": 0})
    assert client.do("reset", {})["done"] is False
    client.close()


@pytest.mark.parametrize("given", [[1.7, 3.9], [True, False], [1, "2"], [300, 0], [-1, 0]])
def test_numbers_are_taken_as_they_are_or_refused(given: list[object]) -> None:
    from atari_wrappers.remote.http import from_json

    with pytest.raises(ValueError, match="uint8"):
        from_json(given, np.dtype(np.uint8))
    assert from_json([1.0, 3], np.dtype(np.uint8)).tolist() == [1, 3]


def test_floats_may_be_rounded_but_not_become_infinite() -> None:
    from atari_wrappers.remote.http import from_json

    assert from_json([0.1, np.inf], np.dtype(np.float32)).tolist() == [np.float32(0.1), np.inf]
    with pytest.raises(ValueError, match=r"float32 does not have 1e\+300"):
        from_json([0.1, 1e300], np.dtype(np.float32))


def test_what_is_no_message_is_told(serve: Serve) -> None:
    reset, state = {"type": "reset"}, {"type": "state"}
    step = {"type": "step", "data": {"action": 0}}
    wrong = ["{", "[]", {"type": "jump"}, {"type": "step", "data": {"action": "x"}}]
    more = [{"type": "step", "data": {"action": 9}}, {"type": "step"}, "[" * 100_000]
    address = serve("CartPole-v1", 1, limits=HTTP).http_address
    replies = talk(address, step, reset, *wrong, *more, state)
    codes = [reply["data"].get("code") for reply in replies]
    assert codes == [
        *("VALIDATION_ERROR", None, "INVALID_JSON", "INVALID_JSON", "UNKNOWN_TYPE"),
        *("VALIDATION_ERROR", "VALIDATION_ERROR", "VALIDATION_ERROR", "INVALID_JSON", None),
    ]


def test_a_connection_has_an_env_by_http_too(serve: Serve) -> None:
    server = serve("CartPole-v1", 1, limits=HTTP | {"max_clients": 1})
    host = server.http_address.removeprefix("http://")
    connection, other = HTTPConnection(host, timeout=60), HTTPConnection(host, timeout=60)

    def post(who: HTTPConnection, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        who.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {TOKEN}"})
        reply = who.getresponse()
        return reply.status, json.load(reply)

    assert post(connection, "/step", action={"action": 1})[0] == 422
    assert post(connection, "/reset", seed="x")[0] == 422
    assert post(connection, "/step", action={"action": 1})[0] == 422
    assert len(post(connection, "/reset", seed=3)[1]["observation"]["obs"]) == 4
    assert post(connection, "/step", action={"action": 1})[1]["reward"] == 1.0
    assert post(other, "/reset")[0] == 503
    connection.close()
    wait_until(lambda: server.num_clients == 0, seconds=60)
    assert post(other, "/reset")[0] == 200
    other.close()


def test_connections_that_have_ended_take_no_room(serve: Serve) -> None:
    server = serve("CartPole-v1", 1, limits=HTTP | {"max_clients": 2})
    assert server.http_address is not None
    host = server.http_address.removeprefix("http://")
    for _ in range(20):
        connection = HTTPConnection(host, timeout=60)
        connection.request("POST", f"/{TOKEN}/reset", "{}", {"Connection": "close"})
        assert connection.getresponse().status == 200
        connection.close()


def test_who_comes_and_goes_is_logged(serve: Serve) -> None:
    lines: list[str] = []
    server = serve("CartPole-v1", 1, limits=HTTP | {"max_clients": 1, "log": lines.append})
    talk(server.http_address, {"type": "reset"}, {"type": "close"})
    wait_until(lambda: lines == ["a client by HTTP has come", "a client by HTTP has left"])


def test_numbers_that_are_not_finite_are_null() -> None:
    value = {"reward": float("nan"), "rows": [[1.5, float("-inf")], "NaN"]}
    assert json.loads(dumps(value)) == {"reward": None, "rows": [[1.5, None], "NaN"]}


def test_a_token_is_asked_for(serve: Serve) -> None:
    address = serve("CartPole-v1", 1, limits=HTTP).http_address
    for path in ("health", "other/health"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{address}/{path}", timeout=60)
    assert get(address, "health") == {"status": "healthy"}
    with pytest.raises(UnsupportedError, match="other machines could connect"):
        serve("CartPole-v1", 1, limits={"http": "0.0.0.0:0"})


def test_a_unix_socket_is_this_users(tmp_path: Path, serve: Serve) -> None:
    path = tmp_path / "socket"
    modes = []
    listen = socket.socket.listen
    with pytest.MonkeyPatch.context() as patch:
        # Nobody can connect before.
        patch.setattr(
            socket.socket,
            "listen",
            lambda *args: (path.exists() and modes.append(path.stat().st_mode), listen(*args))[1],
        )
        server = serve("CartPole-v1", 1, limits={"http": f"unix:{path}"})
    assert modes
    assert {mode & 0o777 for mode in (*modes, path.stat().st_mode)} == {0o600}
    with pytest.raises(OSError, match="another server does"):
        serve("CartPole-v1", 1, limits={"http": f"unix:{path}"})
    assert b'{"status": "healthy"}' in sent(str(path), LAST, 60)
    server.stop()
    assert not path.exists()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")
def test_tls(tmp_path: Path, serve: Serve) -> None:
    cert, key = make_certificate(tmp_path)
    limits = {"http": "localhost:0", "certificate": (cert, key)}
    address = serve("CartPole-v1", 1, limits=limits).http_address
    assert address.startswith("https://localhost:")
    path = f"{address}/{TOKEN}/health"
    trusting = ssl.create_default_context(cafile=cert)
    with urllib.request.urlopen(path, timeout=60, context=trusting) as reply:
        assert json.load(reply) == {"status": "healthy"}
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(path, timeout=60)
    with pytest.raises(ConnectionError, match=r"(?i)remote end closed|reset"):
        urllib.request.urlopen(path.replace("https:", "http:"), timeout=60)


# A request after which the server closes the connection.
LAST = f"GET /{TOKEN}/health HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode()


def sent(address: str | tuple[str, int], data: bytes, seconds: float) -> bytes:
    """Send bytes; return what comes back until the server has enough, or says no more."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    received = b""
    with socket.socket(family) as connection:
        connection.settimeout(seconds)
        connection.connect(address)
        try:
            connection.sendall(data)
            while part := connection.recv(1 << 16):
                received += part
        except (ConnectionError, TimeoutError):
            pass
    return received


WORDS = [0, 1, -1, 9, 1e400, 10**30, 1.5, float("nan"), True, None, "", "x", [], {}, [[1], 2]]
WORDS += ["int64", "O", "V9999999", "{", "AAAA", "=", [-1], [2**40, 2**40], "close", "step"]
NAMES = ["action", "action_id", "seed", "episode_id", "dtype", "shape", "base64", "type", "data"]
BODIES: list[dict[str, Any]] = [
    {"seed": 3, "episode_id": "e"},
    {"action": {"action": 1}},
    {"action": {"action": {"dtype": "int64", "shape": [], "base64": "AQAAAAAAAAA="}}},
]


def hostile(value: Any, rng: random.Random) -> Any:
    """Return JSON with parts of it replaced, added or left out."""
    if rng.random() < 0.15:
        return rng.choice(WORDS)
    if not isinstance(value, dict):
        return value
    parts = {name: hostile(part, rng) for name, part in value.items() if rng.random() < 0.95}
    if rng.random() < 0.1:
        parts[rng.choice(NAMES)] = rng.choice(WORDS)
    return parts


def hostile_request(rng: random.Random) -> bytes:
    """Return a request, of which the JSON, some bytes or nothing is wrong."""
    path = rng.choice(["reset", "step", "step", "state", "schema", "metadata", "mcp", "ws"])
    text = json.dumps(hostile(rng.choice(BODIES), rng))
    if rng.random() < 0.05:
        text = "[" * 100_000
    head = f"{rng.choice(['POST', 'POST', 'GET'])} /{path} HTTP/1.1\r\nHost: here\r\n"
    head += f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(text)}\r\n\r\n"
    request = bytearray((head + text).encode())
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        request[rng.randrange(len(request))] = rng.randrange(256)
    return bytes(request)


def test_hostile_requests_do_no_harm(serve: Serve) -> None:
    """`FUZZ_SECONDS=1800 pytest tests/remote -k hostile` does it for half an hour."""
    seconds = float(os.environ.get("FUZZ_SECONDS", "1"))
    seed = time.time_ns() if seconds > 1 else 0
    sys.stdout.write(f"seed {seed}\n")  # which pytest shows where it fails
    rng = random.Random(seed)
    server = serve("CartPole-v1", 1, limits=HTTP)
    host, port = server.http_address.removeprefix("http://").split(":")
    statuses: dict[bytes, int] = {}
    until = time.monotonic() + seconds

    def is_enough() -> bool:
        """Whether the time is over and much was understood, or all is far too slow."""
        late = time.monotonic() - until
        return late > 300 or (
            late > 0 and min(statuses.get(status, 0) for status in (b"200", b"422")) > 20
        )

    while not is_enough():
        requests = b"".join([*(hostile_request(rng) for _ in range(8)), LAST])
        replies = sent((host, int(port)), requests, 0.3)
        for status in re.findall(rb"HTTP/1\.\d (\d+) ", replies):
            statuses[status] = statuses.get(status, 0) + 1
        messages = [
            json.dumps(hostile({"type": rng.choice(["reset", "step", "state"]), "data": body}, rng))
            for body in rng.choices(BODIES, k=4)
            if rng.random() < 0.9
        ]
        for reply in talk(server.http_address, {"type": "reset"}, *messages):
            assert reply["data"].get("code") != "EXECUTION_ERROR" or "ended" in str(reply), reply
    assert statuses[b"200"] > 20
    assert statuses[b"422"] > 20
    assert b"500" not in statuses, statuses
    wait_until(lambda: server.num_clients == 0, seconds=60)
    assert get(server.http_address, "health") == {"status": "healthy"}


def test_its_validator_passes(serve: Serve) -> None:
    validation = pytest.importorskip("openenv.cli._validation", reason="OpenEnv is large")
    address = serve("BreakoutNoFrameskip-v4", 1, limits=HTTP).http_address
    report = validation.validate_running_environment(f"{address}/{TOKEN}")
    assert report["passed"], report
    assert report["standard_profile"] == "openenv-http/1.x"
