"""What the tests of all adapters share."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Networks of a few thousand weights are slower on several threads, above all on busy cores."""
    torch.set_num_threads(1)
