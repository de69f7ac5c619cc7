"""Who is connected to a server: how many, for how long, and whose connection may come back."""

from __future__ import annotations

import math
import secrets
import threading
import time
from abc import ABC, abstractmethod
from typing import Any

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
        last_id: Of the requests that it was asked.
    """

    idle_since: float | None
    lost_since: float | None = None
    session: str = ""
    keep_seconds: float = 0.0
    last_id: int = 0

    def __init__(self) -> None:
        self._unconfirmed: dict[int, bytes] = {}
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
    def answer(self, data: bytes) -> bytes | None:
        """Do what a request says, and return the reply, if it has one.

        Raises:
            DecodeError: It is no request.
        """

    @abstractmethod
    def close(self) -> None:
        """Free what it has."""

    def keep(self, seconds: float) -> None:
        """Have it kept when its connection is lost."""
        if math.isfinite(seconds) and seconds > 0:
            self.session, self.keep_seconds = secrets.token_urlsafe(16), seconds

    def confirm(self, number: int) -> None:
        """Forget replies that the client has."""
        for each in [each for each in self._unconfirmed if each <= number]:
            del self._unconfirmed[each]

    def note_reply(self, number: int, reply: bytes) -> None:
        """Keep a reply until the client has it; one that never says so is not kept."""
        if self.keep_seconds:
            self._unconfirmed[number] = reply
            if len(self._unconfirmed) > _MOST_UNCONFIRMED:
                self.keep_seconds = 0.0
                self._unconfirmed.clear()

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
        self.most, self._idle_timeout = most, idle_timeout
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
            finally:
                with self._changed:
                    self._connections.pop(client, None)
                    self._changed.notify_all()

    def _look_after(self) -> None:
        """Send idle clients away, and close those that were kept in vain."""
        pause = min(1.0, self._idle_timeout / 4) if self._idle_timeout else 1.0
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
        return bool(self._idle_timeout) and since is not None and now - since > self._idle_timeout

    def refuse(self) -> None:
        """Take in nobody any more, and keep nobody."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def wait_until_closed(self, seconds: float) -> None:
        """Close those without a connection, and wait until the others are."""
        with self._changed:
            kept = [client for client, each in self._connections.items() if each is None]
        self._close(kept)
        with self._changed:
            self._changed.wait_for(lambda: not self._connections, seconds)
