"""Every recipe is compared with its oracle on each emulator that follows recipes."""

from __future__ import annotations

import games
import pytest


@pytest.fixture(autouse=True, params=["ale", "native"])
def emulator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let `make_game` play on this one."""
    monkeypatch.setattr(games, "emulator", request.param)
    return request.param
