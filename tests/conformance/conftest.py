"""Every recipe is compared with its oracle on each emulator that follows recipes."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _on_each(each_emulator: None) -> None:
    """Run each test once on each."""
