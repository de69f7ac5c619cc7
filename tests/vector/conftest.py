"""What these tests, on a machine that is busy, may wait for longer than a user would."""

from __future__ import annotations

import pytest

from atari_wrappers.backends.workers import processes


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a worker that ends time to be gone, and one that hangs time to say where."""
    monkeypatch.setattr(processes, "_END_SECONDS", 60.0)
    monkeypatch.setattr(processes, "_TRACE_SECONDS", 60.0)
