"""A client's call to a server: requests go out, and replies are waited for."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError

from atari_wrappers.checks import check_number
from atari_wrappers.errors import ServerError, StepTimeoutError
from atari_wrappers.remote.addresses import NEWEST_VERSION, OLDEST_VERSION, Service
from atari_wrappers.remote.batches_pb2 import Hello, Leave, Reply, Request, Welcome
from atari_wrappers.remote.failures import from_failure

_LOGGER = logging.getLogger("atari_wrappers")
_RETRY_SECONDS = 0.1
# What a server gives as its status, and what the first line of its error says then.
_NOT_THERE = "UNAVAILABLE"
# So it says that it is full, and by a connection that was there that a message is too large.
_NO_ROOM = "RESOURCE_EXHAUSTED"
# How long a client that leaves waits for the server to close a batch that it would keep otherwise.
_GOODBYE_SECONDS = 2.0
_LAST_ID = (1 << 64) - 1


class Session:
    """One call, from `open` until `close`.

    A thread puts what arrives into a queue, so that waiting has a timeout and Ctrl-C loses nothing.

    Args:
        service: What is asked for.
        channel: Of gRPC; closed with the session.
        address: What errors call the server.
        token: For the server.
        timeout: Seconds after which a server that does not reply is given up.
        reconnect: Seconds for which a lost connection is made anew.
    """

    def __init__(
        self,
        service: Service,
        channel: Any,
        address: str,
        token: str | None,
        timeout: float,
        reconnect: float,
    ) -> None:
        self._service, self._channel = service, channel
        self.address, self._timeout = address, timeout
        self._reconnect = reconnect
        self._metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        self._next_id, self._forgotten = 1, 0
        # The last reply, requests that may have to be sent again, and when the connection was lost.
        self._received, self._unanswered = 0, dict[int, bytes]()
        # A request whose reply was late, and that reply once it came while another was awaited.
        self._late, self._kept = 0, dict[int, Reply]()
        self._lost_at: float | None = None
        self._goodbye: list[bytes] = []  # what is sent last
        self.welcome: Welcome | None = None
        self._open_call()

    def _open_call(self) -> None:
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()
        stub, metadata = self._channel.stream_stream(self._service.method), self._metadata
        if self.welcome is not None:
            metadata = (*metadata, ("session", self.welcome.session))
        self._call = stub(iter(self._requests.get, None), metadata=metadata)
        has_ended = threading.Event()
        reading = self._call, self._replies, has_ended
        threading.Thread(target=_read, args=reading, name="batch-replies", daemon=True).start()
        self._end = weakref.finalize(
            self, _end, self._call, self._requests, has_ended, self._goodbye
        )

    def connect(self, hello: Hello, seconds: float) -> Welcome:
        """Agree with the server on a version, and return what it says of what was asked for.

        A server that is not up yet may come.

        Raises:
            ServerError: There is none within so many seconds, or it refuses.
            Exception: The server could not make the batch.
        """
        check_number("connect_timeout", seconds, 0.0)
        hello.oldest_version, hello.newest_version = OLDEST_VERSION, NEWEST_VERSION
        hello.keep_seconds = self._reconnect
        until = time.monotonic() + seconds
        while True:
            try:
                welcome = self.answer(self.ask(hello=hello)).welcome
                break
            except ServerError as error:
                if not error.is_absent or time.monotonic() > until:
                    raise
            self._unanswered.clear()
            time.sleep(_RETRY_SECONDS)
            self._end()
            self._open_call()
        version = welcome.version
        if not OLDEST_VERSION <= version <= NEWEST_VERSION:
            raise ServerError(f"{self.address} answers in version {version} of the protocol")
        self.welcome = welcome
        if welcome.session:
            self._goodbye.append(Request(id=_LAST_ID, leave=Leave()).SerializeToString())
        return welcome

    def ask(self, **call: Any) -> int:
        """Send a request, and return its id."""
        number = self._next_id
        self._next_id += 1
        data = Request(id=number, received=self._received, **call).SerializeToString()
        if self._reconnect:
            self._unanswered[number] = data
        if self._lost_at is None:
            self._requests.put(data)
        return number

    def answer(self, number: int, timeout: float | None = None) -> Reply:
        """Wait for the reply to a request.

        Raises:
            StepTimeoutError: It was not there within `timeout` seconds; it can be waited for again.
            ServerError: The server is gone, or gives no answer.
            Exception: The request failed.
        """
        if number in self._kept:
            return self._said(self._kept.pop(number))
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                reply = self._receive(until)
            except TimeoutError:
                self._late = number
                raise StepTimeoutError(f"not ready within {timeout} s") from None
            if reply.id <= self._received:
                continue  # again, after the connection was lost
            self._received = reply.id
            for each in [each for each in self._unanswered if each <= reply.id]:
                del self._unanswered[each]
            if reply.id == self._late < number:
                self._kept[reply.id] = reply
            elif self._said(reply).id >= number:
                return reply

    def _said(self, reply: Reply) -> Reply:
        """Return a reply, unless it is a failure that somebody waits for."""
        if reply.WhichOneof("answer") == "failure" and reply.id > self._forgotten:
            raise from_failure(reply.failure)
        return reply

    def forget(self) -> None:
        """Take what was asked until now for answered."""
        self._forgotten = self._next_id - 1
        self._kept.clear()

    def _receive(self, until: float | None) -> Reply:
        """Return what arrives next, if need be by another connection.

        Raises:
            TimeoutError: Nothing has by then.
        """
        while True:
            data = self._next(until)
            if not isinstance(data, bytes):
                self._go_on(data)
                continue
            reply = self._parsed(data)
            if reply.WhichOneof("answer") != "resumed":
                return reply
            self._lost_at = None
            _LOGGER.warning("the connection to the server at %s is back", self.address)
            for number, request in self._unanswered.items():
                if number > reply.resumed.last_id:
                    self._requests.put(request)

    def _next(self, until: float | None) -> bytes | Exception | None:
        """Return what the call gives next: a reply, or how it ended."""
        limit = min(self._timeout, threading.TIMEOUT_MAX)
        if self._lost_at is not None:
            left = self._lost_at + self._reconnect - time.monotonic()
            limit = min(max(left, _RETRY_SECONDS), threading.TIMEOUT_MAX)
        callers = limit if until is None else max(until - time.monotonic(), 0.0)
        try:
            return self._replies.get(timeout=min(callers, limit))
        except queue.Empty:
            if callers < limit:
                raise TimeoutError from None
            self.close()
            raise ServerError(
                f"the server at {self.address} gave no answer for {limit:g} s"
            ) from None

    def _parsed(self, data: bytes) -> Reply:
        try:
            return Reply.FromString(data)
        except DecodeError:
            self.close()
            raise ServerError(f"what answers at {self.address} speaks another protocol") from None

    def _go_on(self, error: Exception | None) -> None:
        """Make another connection to the batch; `Resumed` comes by it.

        Raises:
            ServerError: The server does not keep the batch, or was gone for too long.
        """
        now = time.monotonic()
        is_kept = self.welcome is not None and self.welcome.session
        status = "" if error is None else _status(error)[0]
        is_full = status == _NO_ROOM and self._lost_at is not None
        if is_kept and (status == _NOT_THERE or is_full):
            if self._lost_at is None:
                self._lost_at = now
                _LOGGER.warning(
                    "the connection to the server at %s is lost; trying again for %g s",
                    self.address,
                    self._reconnect,
                )
            if now - self._lost_at < self._reconnect:
                time.sleep(_RETRY_SECONDS)
                self._end.detach()  # it is over; its requests end, too
                self._requests.put(None)
                self._open_call()
                return
        self._replies.put(error)  # for whoever asks next
        raise self._lost(error)

    def _lost(self, error: Exception | None) -> ServerError:
        """Say in one line how the call ended."""
        if error is None:
            return ServerError(f"the server at {self.address} ended the connection")
        status, details = _status(error)
        details = " ".join(details.split())
        if status == _NOT_THERE and self.welcome is None:
            absent = ServerError(f"no server at {self.address}: {details}")
            absent.is_absent = True
            return absent
        if status == _NOT_THERE:
            details = f"it is gone ({details})"
        if status in ("UNIMPLEMENTED", "INTERNAL", "UNKNOWN"):
            details = f"what answers there does not serve {self._service.what} ({details})"
        if status == "CANCELLED":
            details = "it ended the connection, as when it stops or a client was idle for too long"
        return ServerError(f"the server at {self.address}: {details}")

    def close(self) -> None:
        """End the call, and with it the server's batch."""
        self._end()
        self._channel.close()

    def abandon(self) -> None:
        """In a forked child: leave the call to the parent."""
        self._end.detach()


def _status(error: Exception) -> tuple[str, str]:
    """Return gRPC's status and details of an error of a call."""
    code, details = getattr(error, "code", None), getattr(error, "details", None)
    if code is None or details is None:
        return "", str(error)
    return code().name, details() or ""


def _read(
    call: Any, replies: queue.SimpleQueue[bytes | Exception | None], has_ended: threading.Event
) -> None:
    """Put what arrives into a queue, last of all how the call ended."""
    try:
        for data in call:
            replies.put(data)
    except Exception as error:
        replies.put(error)
    else:
        replies.put(None)
    finally:
        has_ended.set()


def _end(
    call: Any,
    requests: queue.SimpleQueue[bytes | None],
    has_ended: threading.Event,
    goodbye: list[bytes],
) -> None:
    for request in (*goodbye, None):
        requests.put(request)
    if goodbye:
        has_ended.wait(_GOODBYE_SECONDS)
    with contextlib.suppress(Exception):
        call.cancel()


def env_ids(indices: Sequence[int] | None) -> Sequence[int]:
    """Return envs as messages name them: none for all."""
    return () if indices is None else indices
