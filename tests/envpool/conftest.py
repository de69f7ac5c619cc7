"""EnvPool itself, beside which `atari_wrappers.envpool` plays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import envpool as theirs
import pytest

from atari_wrappers import envpool as ours


class Pair(NamedTuple):
    """A pool of ours and one of EnvPool's, made by the same call."""

    ours: Any
    theirs: Any


@pytest.fixture
def open_pair() -> Iterator[Callable[..., Pair]]:
    """Both pools of a call of `make`; they are closed at the end of the test."""
    opened: list[Pair] = []

    def open_one(*args: Any, **kwargs: Any) -> Pair:
        opened.append(Pair(ours.make(*args, **kwargs), theirs.make(*args, **kwargs)))
        return opened[-1]

    yield open_one
    for pair in opened:
        for pool in pair:
            pool.close()
