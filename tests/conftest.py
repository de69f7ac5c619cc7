"""Fixtures that every part of the tests may use."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from typing import Any

import games
import pytest

from atari_wrappers import VecEnv, make_vec

# Workers are then forked from a process that has imported this already: 20 ms each instead of 400.
multiprocessing.set_forkserver_preload(["atari_wrappers.backends.workers", "scripted", "peer_envs"])


@pytest.fixture
def open_vec() -> Iterator[Callable[..., VecEnv]]:
    """`make_vec`, whose results are closed at the end of the test.

    Worker processes come from a fork server, unless the test says how they start.
    """
    opened: list[VecEnv] = []

    def open_one(*args: Any, **kwargs: Any) -> VecEnv:
        if kwargs.get("backend") == "async":
            kwargs.setdefault("context", "forkserver")
        opened.append(make_vec(*args, **kwargs))
        return opened[-1]

    yield open_one
    for env in opened:
        env.close()


@pytest.fixture(params=["ale", "native"])
def each_emulator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `games.make_game` play on this one, where it is known how the game begins there."""
    monkeypatch.setattr(games, "emulator", request.param)
