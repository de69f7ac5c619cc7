"""Servers and clients of these tests, ended with each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from serving import TOKEN, start_server
from waiting import wait_until

if TYPE_CHECKING:
    from atari_wrappers.remote import BatchServer, RemoteVecEnv

# gRPC is an extra.
collect_ignore_glob = [] if find_spec("grpc") else ["test_*.py"]


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """Close what was entered; no thread of a client or a server is left."""
    before = set(threading.enumerate())
    with ExitStack() as stack:
        yield stack
    wait_until(
        lambda: not [each for each in set(threading.enumerate()) - before if ours(each)], seconds=60
    )


@pytest.fixture
def serve(closing: ExitStack) -> Callable[..., BatchServer]:
    """`start_server`, whose servers are stopped at the end of the test."""
    return lambda *args, **kwargs: start_server(closing, *args, **kwargs)


@pytest.fixture
def connect(closing: ExitStack) -> Callable[..., RemoteVecEnv]:
    """`RemoteVecEnv` with the server's token, closed at the end of the test."""

    from atari_wrappers.remote import RemoteVecEnv

    def connect_to(server: BatchServer | str, *args: Any, **kwargs: Any) -> RemoteVecEnv:
        address = server if isinstance(server, str) else server.address
        kwargs = {"token": TOKEN, "connect_timeout": 0.0} | kwargs
        return closing.enter_context(RemoteVecEnv(address, *args, **kwargs))

    return connect_to


def ours(thread: threading.Thread) -> bool:
    return thread.name.startswith("batch-")
