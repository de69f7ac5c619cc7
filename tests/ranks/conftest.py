"""Ranks of the trainer in a folder of its own, for each test."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from torchrun import Ranks


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Ranks]:
    """Ranks of the trainer; what is left of them at the end of the test is killed."""
    made = Ranks(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            for pid in [*made.pids(), process.pid]:
                os.kill(pid, signal.SIGKILL)
            process.wait()
