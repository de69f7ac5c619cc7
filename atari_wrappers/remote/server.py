"""`BatchServer`: who may connect, for how long, and the end of all that."""

from __future__ import annotations

import hmac
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import grpc
from google.protobuf.message import DecodeError

from atari_wrappers.checks import check_count, check_number
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.remote.addresses import SERVICE, checked_address, options, stays_here
from atari_wrappers.remote.served import Served
from atari_wrappers.request import BatchRequest

# Threads beside those of clients, to refuse others.
_DOORKEEPERS = 4
_CLOSING_SECONDS = 10.0
_LEAST_REQUEST = 1 << 12


class BatchServer:
    """Serves each client a batch of its own, until it leaves or `stop` is called.

    Args:
        request: The batch that each gets, or a part of its envs.
        address: Where to listen: `HOST:PORT` (port 0: any that is free), or `unix:PATH`, which only
            this user can open.
        token: What clients must say.
        certificate: Paths of a PEM file of certificates and one of the key, for TLS; needed where
            other machines can connect.
        max_clients: At the same time.
        idle_timeout: Seconds after which a client that asks for nothing, or does not take what it
            asked for, is sent away; 0 for never.
        max_request_bytes: Larger requests end their call. Saved states are the largest.
        log: Told, in a line each, who comes and goes.

    Raises:
        UnsupportedError: Other machines could connect, without TLS.
        OSError: The address is taken or not of this machine, or a file cannot be read.
        ValueError: An argument is out of range, or the certificate or its key is none.
    """

    def __init__(
        self,
        request: BatchRequest,
        address: str,
        token: str,
        *,
        certificate: tuple[Path, Path] | None = None,
        max_clients: int = 16,
        idle_timeout: float = 3600.0,
        max_request_bytes: int = 64 << 20,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        address = checked_address(address)
        check_number("idle_timeout", idle_timeout, 0.0)
        self._request, self._log = request, log
        self._token = f"Bearer {token}".encode()
        self._max_clients = check_count("max_clients", max_clients, 1)
        self._idle_timeout = idle_timeout
        self._clients: dict[Served, Any] = {}
        self._changed, self._is_stopped = threading.Condition(), False
        threads = self._max_clients + _DOORKEEPERS
        limit = check_count("max_request_bytes", max_request_bytes, _LEAST_REQUEST)
        self._pool = ThreadPoolExecutor(threads, "batch-client")
        self._server = grpc.server(
            self._pool,
            options=options(limit),
            maximum_concurrent_rpcs=threads,
        )
        handler = grpc.stream_stream_rpc_method_handler(self._open)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, {"Open": handler}),)
        )
        self.address: str = self._listen(address, certificate)
        self._server.start()
        threading.Thread(target=self._send_idle_away, name="batch-idle", daemon=True).start()

    def _listen(self, address: str, certificate: tuple[Path, Path] | None) -> str:
        """Bind the address, and return it with the port that it has."""
        if certificate is None and not stays_here(address):
            raise UnsupportedError(
                f"{address}: other machines could connect, which needs a certificate and its key"
                " for TLS (--tls-cert, --tls-key); or listen on 127.0.0.1 and forward a port by ssh"
            )
        if address.startswith("unix:"):
            _check_free(address.removeprefix("unix:"))
        mask = os.umask(0o177)  # of a Unix socket: this user alone
        try:
            if certificate is None:
                port = self._server.add_insecure_port(address)
            else:
                chain, key = (path.read_bytes() for path in certificate)
                credentials = grpc.ssl_server_credentials([(key, chain)])
                port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise OSError(
                f"cannot listen on {address}: it is taken, or not of this machine"
                + (", or the certificate or its key is none" if certificate else "")
            ) from error
        finally:
            os.umask(mask)
        if address.startswith("unix:"):
            return address
        return f"{address.rpartition(':')[0]}:{port}"

    def _open(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """Serve one client."""
        served = self._admit(context)
        peer = context.peer()
        try:
            is_known = False
            for data in requests:
                try:
                    reply = served.answer(data)
                except DecodeError:
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "this is no request")
                if not is_known and served.num_envs:
                    is_known = True
                    self._log(f"client {peer} has {served.num_envs} envs")
                if reply is not None:
                    yield reply
                if served.is_over:
                    break
        except grpc.RpcError:
            pass  # the client is gone
        finally:
            try:
                served.close()
            finally:
                with self._changed:
                    del self._clients[served]
                    self._changed.notify_all()
                self._log(f"client {peer} has left")

    def _admit(self, context: Any) -> Served:
        """Let a client in, or end its call."""
        given = dict(context.invocation_metadata()).get("authorization", "")
        given = given if isinstance(given, bytes) else given.encode()
        if not hmac.compare_digest(given, self._token):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token is missing or another")
        served = Served(self._request, self._log)
        with self._changed:
            is_full = len(self._clients) >= self._max_clients
            if not is_full and not self._is_stopped:
                self._clients[served] = context
                return served
        context.abort(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"{self._max_clients} clients are connected, as many as it serves (--max-clients)",
        )
        raise AssertionError("abort raises")

    def _send_idle_away(self) -> None:
        """End the calls of clients that have not been heard of for too long."""
        if not self._idle_timeout:
            return
        while True:
            with self._changed:
                self._changed.wait(min(1.0, self._idle_timeout / 4))
                if self._is_stopped:
                    return
                clients = list(self._clients.items())
            for served, context in clients:
                since = served.idle_since
                if since is not None and time.monotonic() - since > self._idle_timeout:
                    context.cancel()

    @property
    def num_clients(self) -> int:
        """How many clients are connected."""
        return len(self._clients)

    def stop(self) -> None:
        """End all calls, and wait until their batches are closed, but not for ever."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        self._server.stop(None).wait(_CLOSING_SECONDS)
        with self._changed:
            self._changed.wait_for(lambda: not self._clients, _CLOSING_SECONDS)
        self._pool.shutdown(wait=False)
        if self.address.startswith("unix:"):
            Path(self.address.removeprefix("unix:")).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        """Return the server, which is stopped at the end of the `with` block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop it."""
        self.stop()


def _check_free(path: str) -> None:
    """Refuse the path of a socket that somebody listens on, or of anything else."""
    place = Path(path)
    if not place.exists():
        return
    if not place.is_socket():
        raise FileExistsError(f"{path} is there, and no socket")
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(path) == 0:
            raise OSError(f"cannot listen on unix:{path}: another server does")
