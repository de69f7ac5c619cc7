"""`Server`: who may connect, for how long, and the end of all that; `BatchServer` serves envs."""

from __future__ import annotations

import hmac
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import grpc
from google.protobuf.message import DecodeError

from atari_wrappers.checks import check_count, check_number
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.remote.addresses import (
    BATCHES,
    Service,
    bound_for_this_user,
    checked_address,
    grpc_target,
    options,
    stays_here,
)
from atari_wrappers.remote.batches_pb2 import Reply, Resumed
from atari_wrappers.remote.clients import Clients, StreamClient
from atari_wrappers.remote.served import Served
from atari_wrappers.request import BatchRequest

if TYPE_CHECKING:
    from atari_wrappers.remote.http import HttpFace

# Threads beside those of clients, to refuse others.
_DOORKEEPERS = 4
_CLOSING_SECONDS = 10.0
# In which calls end that were told to.
_GOODBYE_SECONDS = 0.5
# The most is gRPC's.
_LEAST_REQUEST, _MOST_REQUEST = 1 << 12, (1 << 31) - 1


class Server(ABC):
    """Serves each client what is its own, until it leaves or `stop` is called.

    Args:
        address: Where to listen: `HOST:PORT` (port 0: any that is free), or `unix:PATH`, which only
            this user can open.
        token: What clients must say.
        certificate: Paths of a PEM file of certificates and one of the key, for TLS; needed where
            other machines can connect.
        max_clients: At the same time.
        idle_timeout: Seconds after which a client that asks for nothing, or does not take what it
            asked for, is sent away; 0 for never.
        keep_lost: Seconds for which what a client has is kept, at most, when its connection is
            lost; only of clients that ask for it.
        max_request_bytes: Larger requests end their call. Saved states are the largest. `None` for
            64 MiB, or, of a batch, for 512 KiB for each env if that is more.
        http: Another address, where the same is served by HTTP and JSON; it needs
            `pip install "atari-wrappers[http]"`.
        log: Told, in a line each, who comes and goes.

    Raises:
        UnsupportedError: Other machines could connect, without TLS.
        OSError: The address is taken or not of this machine, or a file cannot be read.
        ValueError: An argument is out of range, or the certificate or its key is none.
    """

    service: ClassVar[Service]
    _usual_request = 64 << 20

    def __init__(
        self,
        address: str,
        token: str,
        *,
        certificate: tuple[Path, Path] | None = None,
        max_clients: int = 16,
        idle_timeout: float = 3600.0,
        keep_lost: float = 120.0,
        max_request_bytes: int | None = None,
        http: str | None = None,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        address = checked_address(address)
        check_number("idle_timeout", idle_timeout, 0.0)
        check_number("keep_lost", keep_lost, 0.0)
        self._log, self._keep_lost = log, keep_lost
        self._token = f"Bearer {token}".encode()
        threads = check_count("max_clients", max_clients, 1) + _DOORKEEPERS
        limit = self._usual_request if max_request_bytes is None else max_request_bytes
        limit = check_count("max_request_bytes", limit, _LEAST_REQUEST)
        if limit > _MOST_REQUEST:
            raise ValueError(f"max_request_bytes must be at most {_MOST_REQUEST}, not {limit}")
        self._pool = ThreadPoolExecutor(threads, "batch-client")
        self._server = grpc.server(
            self._pool,
            options=options(limit),
            maximum_concurrent_rpcs=threads,
        )
        handler = grpc.stream_stream_rpc_method_handler(self._open)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(self.service.name, {"Open": handler}),)
        )
        self.address: str = self._listen(address, certificate)
        self._clients = Clients(max_clients, idle_timeout)
        self._face = None
        self.http_address: str | None = None
        try:
            if http is not None:
                self._face = self._http_face(http, token, certificate, limit)
                self.http_address = self._face.address
        except BaseException:
            self.stop()
            raise
        self._server.start()

    @abstractmethod
    def _new_client(self) -> StreamClient:
        """Return what one more client has."""

    def _http_face(
        self, address: str, token: str, certificate: tuple[Path, Path] | None, limit: int
    ) -> HttpFace:
        """Serve by HTTP, too."""
        address = checked_address(address)
        _check_encrypted(address, certificate)
        try:
            return self._new_face()(
                address,
                token,
                self._clients,
                certificate=certificate,
                max_request_bytes=limit,
                log=self._log,
            )
        except ModuleNotFoundError as error:
            raise UnsupportedError(
                f'--http needs aiohttp ({error}): pip install "atari-wrappers[http]"'
            ) from error

    @abstractmethod
    def _new_face(self) -> Callable[..., HttpFace]:
        """Return what makes the face by HTTP."""

    def _listen(self, address: str, certificate: tuple[Path, Path] | None) -> str:
        """Bind the address, and return it with the port that it has."""
        _check_encrypted(address, certificate)
        try:
            with bound_for_this_user(address):
                if certificate is None:
                    port = self._server.add_insecure_port(grpc_target(address))
                else:
                    chain, key = (path.read_bytes() for path in certificate)
                    credentials = grpc.ssl_server_credentials([(key, chain)])
                    port = self._server.add_secure_port(grpc_target(address), credentials)
        except RuntimeError as error:
            raise OSError(
                f"cannot listen on {address}: it is taken, or not of this machine"
                + (", or the certificate or its key is none" if certificate else "")
            ) from error
        if address.startswith("unix:"):
            return address
        return f"{address.rpartition(':')[0]}:{port}"

    def _open(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """Serve one client, as long as its connection is there."""
        client, peer = self._admit(context), context.peer()
        known = client.has
        try:
            if known:
                self._log(f"client {peer} goes on with its {known}")
                yield Reply(resumed=Resumed(last_id=client.last_id)).SerializeToString()
                yield from client.unconfirmed
            for data in requests:
                try:
                    reply = client.answer(data)
                except DecodeError:
                    client.keep_seconds = 0.0
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "this is no request")
                if client.has and not known:
                    known = client.has
                    self._log(f"client {peer} has {known}")
                if reply is not None:
                    yield reply
                if client.is_over:
                    client.keep_seconds = 0.0
                    break
        except grpc.RpcError:
            pass  # the connection is gone
        finally:
            is_kept = self._clients.release(client)
            how = f"is kept for {client.keep_seconds:g} s" if is_kept else "has left"
            self._log(f"client {peer} {how}")

    def _admit(self, context: Any) -> StreamClient:
        """Let a client in, or end its call."""
        metadata = dict(context.invocation_metadata())
        given = metadata.get("authorization", "")
        given = given if isinstance(given, bytes) else given.encode()
        if not hmac.compare_digest(given, self._token):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token is missing or another")
        session = metadata.get("session")
        if session is not None:
            return self._take(str(session), context)
        client = self._new_client()
        if not self._clients.admit(client, context):
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._clients.most} clients are connected, as many as it serves (--max-clients)",
            )
        return client

    def _take(self, session: str, context: Any) -> StreamClient:
        """Return the client whose connection was lost, or end its call."""
        try:
            client = self._clients.take(session, context)
        except TimeoutError:
            context.abort(grpc.StatusCode.UNAVAILABLE, "it is still busy with what was asked")
            raise  # which abort does, too
        if isinstance(client, StreamClient):
            return client
        context.abort(
            grpc.StatusCode.NOT_FOUND,
            "it was started anew, or has closed what was yours, which it keeps for"
            f" {self._keep_lost:g} s at most (--keep-lost)",
        )
        raise AssertionError("abort raises")

    @property
    def num_clients(self) -> int:
        """How many clients there are, those included whose connection was lost."""
        return len(self._clients)

    def stop(self) -> None:
        """End all calls, and wait until their batches are closed, but not for ever."""
        self._clients.refuse()
        if self._face is not None:
            self._face.stop()
        self._server.stop(_GOODBYE_SECONDS).wait(_CLOSING_SECONDS)
        self._clients.wait_until_closed(_CLOSING_SECONDS)
        self._pool.shutdown(wait=False)
        if self.address.startswith("unix:"):
            Path(self.address.removeprefix("unix:")).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        """Return the server, which is stopped at the end of the `with` block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop it."""
        self.stop()


class BatchServer(Server):
    """Serves each client a batch of envs of its own.

    Args:
        request: The batch that each gets, or a part of its envs.
        address: Where to listen.
        token: What clients must say.
        **limits: Those of `Server`.
    """

    service = BATCHES

    def __init__(self, request: BatchRequest, address: str, token: str, **limits: Any) -> None:
        self._request = request
        usual = max(self._usual_request, request.num_envs << 19)
        self._usual_request = min(usual, _MOST_REQUEST)
        super().__init__(address, token, **limits)

    def _new_face(self) -> Callable[..., HttpFace]:
        from atari_wrappers.remote.openenv import OpenEnvFace

        return partial(OpenEnvFace, self._request)

    def _new_client(self) -> StreamClient:
        return Served(self._request, self._log, self._keep_lost)


def _check_encrypted(address: str, certificate: tuple[Path, Path] | None) -> None:
    """Refuse an address that other machines can reach, without TLS."""
    if certificate is None and not stays_here(address):
        raise UnsupportedError(
            f"{address}: other machines could connect, which needs a certificate and its key"
            " for TLS (--tls-cert, --tls-key); or listen on 127.0.0.1 and forward a port by ssh"
        )
