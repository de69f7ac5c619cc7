"""Servers of batches within a test's process."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from atari_wrappers.request import request_batch
from atari_wrappers.settings import merged

if TYPE_CHECKING:
    from atari_wrappers.remote import BatchServer, RemoteVecEnv

TOKEN = "a-token"


def start_server(
    closing: ExitStack,
    env_id: Any = "BreakoutNoFrameskip-v4",
    num_envs: int | None = 2,
    *,
    address: str = "127.0.0.1:0",
    limits: dict[str, Any] | None = None,
    **settings: Any,
) -> BatchServer:
    """Start a server, which is stopped with `closing`."""
    from atari_wrappers.remote import BatchServer

    request = request_batch(env_id, num_envs, merged(None, settings))
    return closing.enter_context(BatchServer(request, address, TOKEN, **limits or {}))


def open_remote(
    closing: ExitStack, env_id: Any, num_envs: int | None = None, *args: Any, **settings: Any
) -> RemoteVecEnv:
    """Do what `make_vec` does, on a server of its own."""
    pytest.importorskip("grpc", reason="it is an extra")
    from atari_wrappers.remote import RemoteVecEnv

    obs_buffers = settings.pop("obs_buffers", 0)
    server = start_server(closing, env_id, num_envs, *args, **settings)
    return RemoteVecEnv(server.address, token=TOKEN, obs_buffers=obs_buffers)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate of `localhost` and its key by openssl."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    extra = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *extra, *files], check=True, capture_output=True)
    return cert, key
