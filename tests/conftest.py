"""Fixtures that every part of the tests may use."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import displays
import games
import pytest
import serving

from atari_wrappers import VecEnv, make_vec

# Files and folders that cannot be imported on the wheels alone: they need the trainer, torch (as
# stable-baselines3 and RLlib do), or what checks the sources. Of all other tests those need the
# sources that use the fixture `sources`.
NEEDS_TRAINER = (
    *("cli", "own_env", "policies", "ranks", "native/test_package.py"),
    *("adapters/test_rllib.py", "adapters/test_rllib_vector_env.py", "peers/test_rllib.py"),
    *("adapters/test_stable_baselines3.py", "peers/test_stable_baselines3.py"),
    *("conformance/test_baselines.py", "conformance/test_cleanrl.py"),
    *("envpool/test_loop.py", "vector/test_torch.py"),
    *("wrappers/test_frames.py", "wrappers/test_resets.py", "wrappers/test_rewards.py"),
    *("test_docs.py", "test_examples.py", "test_map.py", "test_packaging.py"),
    *("test_rust_layers.py", "test_site.py", "test_types.py"),
)


@cache
def needs_trainer(path: Path) -> bool:
    """Whether a test file is marked `trainer` as a whole."""
    place = path.relative_to(Path(__file__).parent)
    return any(place.is_relative_to(name) for name in NEEDS_TRAINER)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out whole files without importing them: torch need not be there."""
    return (
        True if config.option.markexpr == "not trainer" and needs_trainer(collection_path) else None
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of those files, and those that use the sources."""
    for item in items:
        if needs_trainer(item.path) or "sources" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.trainer)


# For every part: the name of a display without a screen.
display = displays.display

# Workers are then forked from a process that has imported this already: 20 ms each instead of 400.
multiprocessing.set_forkserver_preload(["atari_wrappers.backends.workers", "scripted", "peer_envs"])


@pytest.fixture(scope="session")
def sources() -> Path:
    """The project's folder, with its scripts and what cargo builds: tests that use it need both."""
    return Path(__file__).parents[1]


@pytest.fixture
def open_vec() -> Iterator[Callable[..., VecEnv]]:
    """`make_vec`, whose results are closed at the end of the test.

    Worker processes come from a fork server, unless the test says how they start. `remote` is a
    server of this process, with a batch of `native` or else what serves.
    """
    opened: list[VecEnv] = []

    def open_one(*args: Any, **kwargs: Any) -> VecEnv:
        if kwargs.get("backend") == "remote":
            opened.append(serving.open_remote(closing, *args, **kwargs | {"backend": "auto"}))
            return opened[-1]
        if kwargs.get("backend") == "async":
            kwargs.setdefault("context", "forkserver")
        opened.append(make_vec(*args, **kwargs))
        return opened[-1]

    with ExitStack() as closing:
        yield open_one
        for env in opened:
            env.close()


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Have torch, where it is imported, sum in one order, and lose no time on busy cores."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(params=["ale", "native"])
def each_emulator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `games.make_game` play on this one, where it is known how the game begins there."""
    monkeypatch.setattr(games, "emulator", request.param)
