"""What these tests, on a machine that is busy, may wait for longer than a user would."""

from __future__ import annotations

import pytest

from atari_wrappers.backends.workers import dispatcher


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give workers time to finish what they record."""
    monkeypatch.setattr(dispatcher, "CLOSE_SECONDS", 120.0)
