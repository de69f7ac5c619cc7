"""How clients of every kind reach a server: its address, their token, and TLS."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from atari_wrappers.checks import check_number
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.remote.addresses import (
    CA_VARIABLE,
    Service,
    checked_address,
    given_token,
    grpc_target,
    options,
    stays_here,
)
from atari_wrappers.remote.session import Session

_MAX_REPLY = 1 << 30


def open_session(
    service: Service,
    address: str,
    token: str | None,
    *,
    tls: bool,
    ca_file: str | Path | None,
    timeout: float,
    reconnect: float,
) -> Session:
    """Return a session with a server, whose arguments clients of every kind take.

    Raises:
        UnsupportedError: The address needs TLS.
        ValueError: An argument is out of range.
        TypeError: An argument has the wrong type.
        OSError: The certificates cannot be read.
    """
    address, token = checked_address(address), given_token(token)
    check_number("timeout", timeout, 1e-3)
    check_number("reconnect", reconnect, 0.0)
    if ca_file is None and not stays_here(address):
        ca_file = os.environ.get(CA_VARIABLE) or None
    channel = _channel(address, tls=tls or ca_file is not None, ca_file=ca_file)
    return Session(service, channel, address, token, timeout, reconnect)


def _channel(address: str, *, tls: bool, ca_file: str | Path | None) -> Any:
    """Return a channel of gRPC's to a server."""
    import grpc

    if not tls:
        if not stays_here(address):
            raise UnsupportedError(
                f"{address} may be another machine: give ca_file, or tls=True, to encrypt what is"
                " sent, or forward a port of 127.0.0.1 by ssh"
            )
        return grpc.insecure_channel(grpc_target(address), options(_MAX_REPLY))
    trusted = None if ca_file is None else Path(ca_file).read_bytes()
    credentials = grpc.ssl_channel_credentials(trusted)
    return grpc.secure_channel(grpc_target(address), credentials, options(_MAX_REPLY))
