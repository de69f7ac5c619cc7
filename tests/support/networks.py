"""A network that can be cut."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import ExitStack


class Proxy:
    """A network between two ports.

    Attributes:
        address: Where it listens.
        loses_replies: Whether it carries nothing back.
    """

    loses_replies = False

    def __init__(self, target: str) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._target, self._is_cut, self._drops = _place(target), False, False
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._carry, name="proxy")
        self._thread.start()

    def _carry(self) -> None:
        while not self._end.is_set():
            with ExitStack() as stack:
                self._carry_until_dropped(stack)

    def _carry_until_dropped(self, stack: ExitStack) -> None:
        pairs: dict[socket.socket, socket.socket] = {}
        while not self._end.is_set():
            ready, _, _ = select.select([self._listener, *pairs], [], [], 0.01)
            if self._drops:
                self._drops = False
                return
            if self._is_cut:
                self._end.wait(0.05)
                continue
            for each in ready:
                if each is self._listener:
                    near = stack.enter_context(self._listener.accept()[0])
                    far = stack.enter_context(socket.create_connection(self._target))
                    pairs |= {near: far, far: near}
                elif each in pairs:
                    self._carry_from(each, pairs)

    def _carry_from(self, each: socket.socket, pairs: dict[socket.socket, socket.socket]) -> None:
        try:
            data = each.recv(1 << 16)
            if data:
                is_reply = each.getpeername() == self._target
                if not (is_reply and self.loses_replies):
                    pairs[each].sendall(data)
                return
            pairs[each].shutdown(socket.SHUT_WR)
        except OSError:  # one side is gone
            pairs.pop(pairs[each], None)
        del pairs[each]

    def cut(self) -> None:
        """Carry nothing any more, and close nothing."""
        self._is_cut = True

    def drop(self, target: str | None = None) -> None:
        """Close what is open, and go on, perhaps to another address."""
        self._target, self._drops = _place(target) if target else self._target, True
        while self._drops:
            self._end.wait(0.002)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        self._thread.join()
        self._listener.close()


def _place(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
