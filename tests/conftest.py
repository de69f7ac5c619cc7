"""Fixtures that every part of the tests may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from atari_wrappers import VecEnv, make_vec


@pytest.fixture
def open_vec() -> Iterator[Callable[..., VecEnv]]:
    """`make_vec`, whose results are closed at the end of the test."""
    opened: list[VecEnv] = []

    def open_one(*args: Any, **kwargs: Any) -> VecEnv:
        opened.append(make_vec(*args, **kwargs))
        return opened[-1]

    yield open_one
    for env in opened:
        env.close()
