"""Fixtures of the peers' acceptance tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from backends import HOSTED, LOCAL, OPEN

from atari_wrappers import VecEnv

# Two envs of three share a process, so that its index is not the env's.
SETTINGS = {
    "ale": {"backend": "ale"},
    "native": {"backend": "native"},
    "sync": {"backend": "sync"},
    "async": {"backend": "async", "num_workers": 2},
}


@pytest.fixture(params=HOSTED)
def open_hosted(
    request: pytest.FixtureRequest, open_vec: Callable[..., VecEnv]
) -> Callable[..., VecEnv]:
    """`make_vec` on each backend that runs any id."""
    return partial(open_vec, **SETTINGS[request.param])


@pytest.fixture(params=OPEN)
def open_atari(
    request: pytest.FixtureRequest, open_vec: Callable[..., VecEnv]
) -> Callable[..., VecEnv]:
    """`make_vec` on each backend that steps Atari games in parts, in any mode."""
    return partial(open_vec, **SETTINGS[request.param])


@pytest.fixture(params=LOCAL)
def open_any(
    request: pytest.FixtureRequest, open_vec: Callable[..., VecEnv]
) -> Callable[..., VecEnv]:
    """`make_vec` on each backend, for Atari games."""
    return partial(open_vec, **SETTINGS[request.param])


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A named pipe, which holds up who reads it until somebody writes."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path
