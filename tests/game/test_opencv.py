"""Where OpenCV is not installed, what needs it says so, and the rest goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable

import gymnasium as gym
import pytest

from atari_wrappers import UnsupportedError, VecEnv, make_env, make_vec, opencv
from atari_wrappers.game.native import NativeGame
from atari_wrappers.wrappers import WarpFrame

GAME = "PongNoFrameskip-v4"
REMEDY = r'OpenCV, which is not installed: pip install "atari-wrappers\[opencv\]"'


@pytest.fixture(autouse=True)
def _without_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cv2", raising=False)
    monkeypatch.setattr(opencv, "find_spec", lambda _: None)


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_a_backend_that_needs_it_names_those_that_do_not(backend: str) -> None:
    with pytest.raises(UnsupportedError, match=REMEDY + r'; use backend="native" or "ale"'):
        make_vec(GAME, 1, backend=backend)


def test_what_shows_no_pictures_needs_none(open_vec: Callable[..., VecEnv]) -> None:
    open_vec(GAME, 1, backend="sync", obs_type="ram").reset()
    open_vec("CartPole-v1", 1, backend="sync").reset()


def test_a_single_game_is_played_without_it() -> None:
    assert isinstance(make_env(GAME).unwrapped, NativeGame)


def test_single_environments_say_so() -> None:
    with pytest.raises(UnsupportedError, match=REMEDY + '; backend="native" needs none'):
        make_env(GAME, backend="sync")
    with pytest.raises(UnsupportedError, match=REMEDY):
        WarpFrame(gym.make(GAME))
