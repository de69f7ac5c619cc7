"""Who plays the games for two."""

from __future__ import annotations

import pettingzoo_games
import pytest


@pytest.fixture(params=["sync", "native"])
def each_emulator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `pettingzoo_games.make_game` play on this one."""
    monkeypatch.setattr(pettingzoo_games, "emulator", request.param)
