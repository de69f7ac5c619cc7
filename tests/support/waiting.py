"""Waiting for what other processes and threads do."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(
    is_so: Callable[[], object], otherwise: str = "it did not happen", seconds: float = 240.0
) -> None:
    """Wait until something is so, but not for ever."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
