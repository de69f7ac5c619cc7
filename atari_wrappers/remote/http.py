"""`HttpFace`: what a server has, by HTTP and JSON. A client is a connection, and ends with it."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import math
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from aiohttp import web

from atari_wrappers.remote.addresses import bound_for_this_user, stays_here
from atari_wrappers.remote.clients import Client, Clients
from atari_wrappers.remote.values import of_type

Result = TypeVar("Result")
_WAIT_SECONDS = 10.0
_WATCH_SECONDS = 0.2
_LONG_SECONDS = 365 * 86400.0
# aiohttp writes a traceback for each request that is none, and who sends those is told.
_UNHEARD = logging.Logger("aiohttp", logging.CRITICAL + 1)


# What values raise that do not fit.
REFUSED = (
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    RecursionError,
    web.RequestPayloadError,
)


class TooManyClientsError(RuntimeError):
    """No more clients are served."""


class Connection:
    """A connection as `Clients` ends it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, request: web.Request) -> None:
        self._loop, self._transport = loop, request.transport

    def cancel(self) -> None:
        """End it."""
        if self._transport is not None:
            self._loop.call_soon_threadsafe(self._transport.close)


class HttpFace:
    """Serves HTTP in a thread of its own; subclasses say what.

    The token stands in the header `Authorization: Bearer TOKEN`, or before the path, `/TOKEN/...`,
    for clients that take an address alone.

    Args:
        address: Where to listen.
        token: What clients must say.
        clients: Those of the server.
        certificate: For TLS, where other machines can connect.
        max_request_bytes: Larger requests are refused.
        log: Told, in a line each, who comes and goes.

    Raises:
        OSError: The address is taken or not of this machine.
    """

    posts: ClassVar[tuple[str, ...]] = ()
    gets: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        address: str,
        token: str,
        clients: Clients,
        *,
        certificate: tuple[Path, Path] | None,
        max_request_bytes: int,
        log: Callable[[str], None],
    ) -> None:
        self._log = log
        self._token, self.clients, self._limit = token.encode(), clients, max_request_bytes
        self._of_connections: dict[Any, Client] = {}
        self.loop = asyncio.new_event_loop()
        self._pool = ThreadPoolExecutor(clients.most + 1, "batch-http-client")
        self._thread = threading.Thread(target=self.loop.run_forever, name="batch-http")
        self._thread.start()
        try:
            self.address = self._do(self._start(address, certificate))
        except BaseException:
            self._end()
            raise

    def _do(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    async def _start(self, address: str, certificate: tuple[Path, Path] | None) -> str:
        app = web.Application(middlewares=[self._check], client_max_size=self._limit)
        for prefix in ("", "/{token}"):
            for name in self.posts:
                app.router.add_post(f"{prefix}/{name}", self._answer)
            for name in self.gets:
                app.router.add_get(f"{prefix}/{name}", self._answer)
            self.add_routes(app, prefix)
        # Who asks for nothing is sent away by `Clients`, and who is no client by aiohttp.
        idle = self.clients.idle_timeout or _LONG_SECONDS
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_UNHEARD,
            shutdown_timeout=1.0,
            keepalive_timeout=idle + _WAIT_SECONDS,
        )
        await self._runner.setup()
        context = None
        if certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*certificate)
        if address.startswith("unix:"):
            with bound_for_this_user(address):
                await web.UnixSite(self._runner, address.removeprefix("unix:")).start()
            return address
        host, _, port = address.rpartition(":")
        site = web.TCPSite(self._runner, host.strip("[]"), int(port), ssl_context=context)
        await site.start()
        number = self._runner.addresses[0][1]
        scheme = "http" if context is None else "https"
        assert context is not None or stays_here(address)
        return f"{scheme}://{host}:{number}"

    def add_routes(self, app: web.Application, prefix: str) -> None:
        """Add routes beside those of `posts` and `gets`."""

    @web.middleware
    async def _check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Ask for the token."""
        given = request.match_info.get("token")
        if given is None:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(errors="surrogatepass"), self._token):
            return web.json_response({"error": "the token is missing or another"}, status=401)
        response: web.StreamResponse = await handler(request)
        return response

    async def _answer(self, request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        try:
            body = await request.json() if request.can_read_body else {}
            if not isinstance(body, dict):
                raise ValueError("a request is a JSON object")
            return web.json_response(await self.run(self.reply, request, name, body), dumps=dumps)
        except web.HTTPException:
            raise
        except TooManyClientsError as error:
            return web.json_response({"error": str(error)}, status=503)
        except REFUSED as error:
            return web.json_response({"error": str(error)}, status=422)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            return web.json_response({"error": text}, status=500)

    def reply(self, request: web.Request, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return what is asked for, in a thread where this may take its time."""
        raise NotImplementedError

    async def run(self, function: Callable[..., Result], *args: Any) -> Result:
        """Call a function in a thread."""
        return await self.loop.run_in_executor(self._pool, function, *args)

    def new_client(self) -> Client:
        """Return what one more client has."""
        raise NotImplementedError

    def admit(self, request: web.Request) -> Client:
        """Take in a client.

        Raises:
            TooManyClientsError: There is no room.
        """
        client, connection = self.new_client(), Connection(self.loop, request)
        if not self.clients.admit(client, connection):
            # Connections that have ended give their room at once, and not when they are looked at.
            for protocol, other in list(self._of_connections.items()):
                if other.idle_since is not None:
                    self._release_if_over(protocol)
            if not self.clients.admit(client, connection):
                most = self.clients.most
                problem = f"{most} clients are connected, as many as it serves"
                self._log(f"a client by HTTP is refused: {problem}")
                raise TooManyClientsError(problem)
        self._log("a client by HTTP has come")
        return client

    def client_of(self, request: web.Request) -> Client:
        """Return the client of a connection."""
        protocol = request.protocol
        client = self._of_connections.get(protocol)
        if client is None or client.is_over:
            client = self._of_connections[protocol] = self.admit(request)
            self.loop.call_soon_threadsafe(self._watch, protocol, client)
        return client

    def _watch(self, protocol: Any, client: Client) -> None:
        """Release a client when its connection is gone."""
        present = self._of_connections.get(protocol)
        if present is None:
            return  # it was released
        if present is not client:  # which is over
            self._pool.submit(self.release, client)
        elif is_over(protocol):
            self._pool.submit(self._release_if_over, protocol)
        else:
            self.loop.call_later(_WATCH_SECONDS, self._watch, protocol, client)

    def _release_if_over(self, protocol: Any) -> None:
        """Release the client of a connection that has ended, unless somebody else does."""
        if is_over(protocol):
            client = self._of_connections.pop(protocol, None)
            if client is not None:
                self.release(client)

    def release(self, client: Client) -> None:
        """Let a client go."""
        self.clients.release(client)
        self._log("a client by HTTP has left")

    def stop(self) -> None:
        """End all connections; a second call does nothing."""
        if self.loop.is_closed():
            return
        self._do(self._runner.cleanup())
        if self.address.startswith("unix:"):
            Path(self.address.removeprefix("unix:")).unlink(missing_ok=True)
        self._end()
        for client in self._of_connections.values():  # which may hang
            threading.Thread(target=self.clients.release, args=(client,), daemon=True).start()

    def _end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_WAIT_SECONDS)
        self.loop.close()
        self._pool.shutdown(wait=False)


def is_over(protocol: Any) -> bool:
    """Whether a connection has ended."""
    return protocol.transport is None or protocol.transport.is_closing()


def dumps(value: Any) -> str:
    """Return JSON, in which numbers that are not finite are `null`."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_json(array: np.ndarray) -> Any:
    """Return an array as JSON: a list, or its bytes in base64 where it has several axes."""
    if array.ndim <= 1:
        return array.tolist()
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "base64": base64.b64encode(little.tobytes()).decode(),
    }


def from_json(value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Return an array of JSON: nested lists, or what `to_json` gives.

    Raises:
        ValueError: It is none, or has numbers that the type has not.
    """
    if not isinstance(value, dict):
        return of_type(value, dtype)
    if not value.keys() >= {"dtype", "shape", "base64"}:
        raise ValueError('an array is nested lists, or {"dtype": ..., "shape": ..., "base64": ...}')
    named, data = np.dtype(value["dtype"]), base64.b64decode(value["base64"], validate=True)
    if named.kind not in "biuf":
        raise ValueError(f"an array of {named} is no plain data")
    numbers = np.frombuffer(data, named.newbyteorder("<"))
    return of_type(numbers.reshape(value["shape"]), dtype)
