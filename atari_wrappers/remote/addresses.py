"""Where a server listens and a client connects: addresses, tokens, certificates, limits of gRPC's.

An address is `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`. What leaves this machine is encrypted by
TLS, or refused.
"""

from __future__ import annotations

import importlib
import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

TOKEN_VARIABLE = "ATARI_WRAPPERS_TOKEN"
CA_VARIABLE = "ATARI_WRAPPERS_CA_FILE"
# Of the protocol: what this version of the package speaks.
OLDEST_VERSION = NEWEST_VERSION = 1
# A peer that is gone without a word, as behind a cut cable, is told within twice this.
_PING_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Service:
    """What a server serves.

    Attributes:
        name: In the protocol.
        what: In words.
    """

    name: str
    what: str

    @property
    def method(self) -> str:
        """Its method, as gRPC calls it."""
        return f"/{self.name}/Open"


BATCHES = Service("atari_wrappers.batches.v1.Batches", "batches")
POLICIES = Service("atari_wrappers.batches.v1.Policies", "policies")


def require_grpc() -> None:
    """Refuse where gRPC or Protobuf, which are an extra, is not installed, or is too old.

    Raises:
        ImportError: It is so.
    """
    # Or it writes lines of its own to stderr when a connection ends.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        for name in ("grpc", "atari_wrappers.remote.batches_pb2"):
            importlib.import_module(name)
    except Exception as error:  # an old Protobuf raises an error of its own
        reason = " ".join(str(error).split())
        raise ImportError(
            f"batches over a socket need gRPC and Protobuf ({reason}):"
            ' pip install "atari-wrappers[remote]"'
        ) from error


def checked_address(address: Any) -> str:
    """Return an address, the path of a Unix socket in full.

    Raises:
        ValueError: It is none.
        TypeError: It is no text.
    """
    if not isinstance(address, str):
        raise TypeError(f"an address must be text, HOST:PORT or unix:PATH, not {address!r}")
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        whole = Path(path).absolute()
        if not path or "\0" in path or len(os.fsencode(whole)) > 107:
            raise ValueError(f"{address!r}: the whole path of a Unix socket has 1 to 107 bytes")
        return f"unix:{whole}"
    host, _, port = address.rpartition(":")
    is_port = port.isascii() and port.isdigit() and int(port) < 1 << 16
    is_bare_ipv6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not host or not is_port or is_bare_ipv6 or "/" in host:
        raise ValueError(f"{address!r} is no address: HOST:PORT, [IPV6]:PORT or unix:PATH")
    return address


def grpc_target(address: str) -> str:
    """Return a checked address as gRPC reads it: in a path `%41` would be `A`."""
    if address.startswith("unix:"):
        return f"unix:{quote(address.removeprefix('unix:'))}"
    return address


def stays_here(address: str) -> bool:
    """Whether nothing sent to an address leaves this machine."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def given_token(token: str | None) -> str | None:
    """Return the token that was given, or that of the environment, if there is one."""
    token = token or os.environ.get(TOKEN_VARIABLE) or None
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise ValueError("a token is printable ASCII without spaces")
    return token


def options(max_receive: int) -> list[tuple[str, int]]:
    """Return gRPC's options for either side, which takes messages of at most so many bytes."""
    milliseconds = 1000 * _PING_SECONDS
    return [
        ("grpc.max_receive_message_length", max_receive),
        ("grpc.max_send_message_length", -1),
        ("grpc.keepalive_time_ms", milliseconds),
        ("grpc.keepalive_timeout_ms", milliseconds),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_ping_interval_without_data_ms", milliseconds // 2),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", milliseconds // 2),
        ("grpc.enable_retries", 0),
        # How long an attempt to connect may take at least; else 20 s, whatever a client asks for.
        ("grpc.min_reconnect_backoff_ms", 2000),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 1000),
        ("grpc.so_reuseport", 0),  # a port that is taken is refused
    ]


@contextmanager
def bound_for_this_user(address: str) -> Iterator[None]:
    """While an address is bound: a Unix socket is this user's alone, and no other server's.

    Raises:
        OSError: Somebody listens on the socket.
        FileExistsError: Something else has its path.
    """
    if address.startswith("unix:"):
        _check_free(address.removeprefix("unix:"))
    mask = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(mask)


def _check_free(path: str) -> None:
    place = Path(path)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"cannot listen on unix:{path}: there is no folder {place.parent}")
    if not place.exists():
        return
    if not place.is_socket():
        raise FileExistsError(f"{path} is there, and no socket")
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(path) == 0:
            raise OSError(f"cannot listen on unix:{path}: another server does")
