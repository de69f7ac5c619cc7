"""Every recipe is compared with its oracle on both emulators that follow recipes, at once."""

from __future__ import annotations

import games
import pytest


@pytest.fixture(autouse=True)
def _on_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "emulator", "both")
