"""Who is connected to a server: how many, for how long, and whose connection may come back."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from abc import ABC, abstractmethod
from typing import Any

from atari_wrappers.about import __version__
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.remote.addresses import NEWEST_VERSION, OLDEST_VERSION
from atari_wrappers.remote.batches_pb2 import Hello, Reply, Request, Welcome
from atari_wrappers.remote.failures import to_failure

_LOGGER = logging.getLogger(__name__)
# Replies that a client may leave unconfirmed; it waits for each but those to failures.
_MOST_UNCONFIRMED = 16
# How long a call that goes on with a batch waits until the lost one has let go of it.
_TAKING_SECONDS = 5.0


class Client(ABC):
    """What a server has for one client, as long as that is connected, or a little longer.

    Attributes:
        idle_since: When the server began to wait for the client, by `time.monotonic`; `None` while
            it works for it.
        lost_since: When its connection was lost, by `time.monotonic`; `None` while it has one.
        session: What a call names that goes on with it, if it is kept.
        keep_seconds: How long it is kept without a connection.
    """

    idle_since: float | None
    lost_since: float | None = None
    session: str = ""
    keep_seconds: float = 0.0

    def __init__(self) -> None:
        self.idle_since = time.monotonic()

    @property
    @abstractmethod
    def has(self) -> str:
        """What it has, in words for the log; nothing before it said hello."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether nothing can be asked of it any more, after a failure."""

    @abstractmethod
    def close(self) -> None:
        """Free what it has."""


class StreamClient(Client):
    """A client that asks by the messages of `batches.proto`.

    Attributes:
        last_id: Of the requests that it was asked.

    Args:
        most_seconds: How long it may be kept without a connection.
    """

    last_id: int = 0

    def __init__(self, most_seconds: float) -> None:
        super().__init__()
        self._unconfirmed: dict[int, bytes] = {}
        self._most_seconds, self._is_known = most_seconds, False

    @abstractmethod
    def welcome(self, hello: Hello) -> Welcome:
        """Make what the client asks for, and say what it is."""

    @abstractmethod
    def reply_to(self, request: Request, call: str) -> bytes | None:
        """Do what a request says, and return the reply, if it has one."""

    def answer(self, data: bytes) -> bytes | None:
        """Do what a request says, and return the reply, if it has one.

        Raises:
            DecodeError: It is no request.
        """
        request = Request.FromString(data)
        self.idle_since = None
        for number in [each for each in self._unconfirmed if each <= request.received]:
            del self._unconfirmed[number]
        try:
            reply = self._answer(request)
        except Exception as error:
            reply = Reply(id=request.id, failure=to_failure(error)).SerializeToString()
        finally:
            self.idle_since = time.monotonic()
        if reply is not None and self.keep_seconds:
            self._unconfirmed[request.id] = reply
            if len(self._unconfirmed) > _MOST_UNCONFIRMED:
                self.keep_seconds = 0.0
                self._unconfirmed.clear()
        return reply

    def _answer(self, request: Request) -> bytes | None:
        call = request.WhichOneof("call")
        if call is None:
            raise ValueError("a request asks for nothing that this server knows")
        if request.id <= self.last_id:
            raise ValueError(f"request {request.id} comes after request {self.last_id}")
        self.last_id = request.id
        if not self._is_known:
            if call != "hello":
                raise ValueError(f"{call}: the first request must be hello")
            return Reply(id=request.id, welcome=self._greet(request.hello)).SerializeToString()
        if call == "hello":
            raise ValueError("hello: only the first request is")
        if call == "leave":
            self.keep_seconds = 0.0
            return None
        return self.reply_to(request, call)

    def _greet(self, hello: Hello) -> Welcome:
        """Agree on a version, and on whether it is kept when its connection is lost."""
        version = min(hello.newest_version, NEWEST_VERSION)
        if version < max(hello.oldest_version, OLDEST_VERSION):
            raise UnsupportedError(
                f"the server speaks versions {OLDEST_VERSION} to {NEWEST_VERSION} of the protocol,"
                f" the client {hello.oldest_version} to {hello.newest_version}"
            )
        welcome = self.welcome(hello)
        self._is_known = True
        seconds = min(hello.keep_seconds, self._most_seconds)
        if seconds > 0:
            self.session, self.keep_seconds = secrets.token_urlsafe(16), seconds
        welcome.version, welcome.software = version, f"atari_wrappers {__version__}"
        welcome.session, welcome.keep_seconds = self.session, self.keep_seconds
        return welcome

    @property
    def unconfirmed(self) -> list[bytes]:
        """Replies that the client may not have."""
        return list(self._unconfirmed.values())


class Clients:
    """The clients of a server, each with the connection that it has, or `None`.

    Args:
        most: At the same time, those included whose connection was lost.
        idle_timeout: Seconds after which one that asks for nothing is sent away; 0 for never.
    """

    def __init__(self, most: int, idle_timeout: float) -> None:
        self.most, self.idle_timeout = most, idle_timeout
        self._connections: dict[Client, Any] = {}
        self._changed, self._is_stopped = threading.Condition(), False
        threading.Thread(target=self._look_after, name="batch-idle", daemon=True).start()

    def __len__(self) -> int:
        return len(self._connections)

    def admit(self, client: Client, connection: Any) -> bool:
        """Take in a client, if there is room.

        Args:
            client: A new one.
            connection: Its `cancel` ends it.
        """
        with self._changed:
            if self._is_stopped or len(self._connections) >= self.most:
                return False
            self._connections[client] = connection
            return True

    def take(self, session: str, connection: Any) -> Client | None:
        """Return the client of a session, which has this connection from now on.

        Raises:
            TimeoutError: Its former connection has not let go of it.
        """
        with self._changed:
            kept = (each for each in self._connections if each.keep_seconds)
            client = next((each for each in kept if each.session == session), None)
            if client is None:
                return None
            former = self._connections[client]
            if former is not None:
                former.cancel()
            is_let_go = self._changed.wait_for(
                lambda: self._connections.get(client) is None, _TAKING_SECONDS
            )
            if not is_let_go:
                raise TimeoutError
            if client not in self._connections:
                return None
            self._connections[client], client.lost_since = connection, None
            client.idle_since = time.monotonic()
            return client

    def release(self, client: Client) -> bool:
        """Close a client whose connection has ended, or keep it; return whether it is kept."""
        with self._changed:
            is_kept = bool(client.keep_seconds) and not self._is_stopped
            if is_kept:
                client.lost_since = time.monotonic()
                self._connections[client] = None
                self._changed.notify_all()
        if not is_kept:
            self._close([client])
        return is_kept

    def _close(self, clients: list[Client]) -> None:
        for client in clients:
            try:
                client.close()
            except Exception:
                _LOGGER.exception("what a client had did not close")
            finally:
                with self._changed:
                    self._connections.pop(client, None)
                    self._changed.notify_all()

    def _look_after(self) -> None:
        """Send idle clients away, and close those that were kept in vain."""
        pause = min(1.0, self.idle_timeout / 4) if self.idle_timeout else 1.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped, pause)
                if self._is_stopped:
                    return
                now, given_up = time.monotonic(), []
                for client, connection in self._connections.items():
                    if connection is None:
                        if now - (client.lost_since or now) > client.keep_seconds:
                            client.keep_seconds = 0.0  # nobody takes it any more
                            given_up.append(client)
                    elif self._is_idle(client, now):
                        client.keep_seconds = 0.0
                        connection.cancel()
            self._close(given_up)

    def _is_idle(self, client: Client, now: float) -> bool:
        since = client.idle_since
        return bool(self.idle_timeout) and since is not None and now - since > self.idle_timeout

    def refuse(self) -> None:
        """Take in nobody any more, keep nobody, and end the connections."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
            connections = [each for each in self._connections.values() if each is not None]
        for connection in connections:
            connection.cancel()  # which tells clients that there is nothing to wait for

    def wait_until_closed(self, seconds: float) -> None:
        """Close those without a connection, and wait until the others are."""
        with self._changed:
            kept = [client for client, each in self._connections.items() if each is None]
        self._close(kept)
        with self._changed:
            self._changed.wait_for(lambda: not self._connections, seconds)
