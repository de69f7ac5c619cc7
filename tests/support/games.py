"""Real games for tests, and how to compare two envs that should play alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import ale_py
import gymnasium as gym
import numpy as np

from atari_wrappers.game.env import AtariGame
from atari_wrappers.game.native import NativeGame
from atari_wrappers.recipes import PRESETS
from atari_wrappers.request import request_env
from atari_wrappers.settings import Settings

# Who plays the games of `make_game`: "ale", which is ALE behind Python's rules, "native", or
# "both".
emulator = "ale"

gym.register_envs(ale_py)
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


def raw_game(name: str, **kwargs: Any) -> gym.Env:
    """Return the bare game, `Breakout` for instance: RGB, one frame per step."""
    return gym.make(f"{name}NoFrameskip-v4", disable_env_checker=True, **kwargs)


class OnBoth:
    """One game on two emulators, of which the second must say what the first says."""

    def __init__(self, *games: gym.Env) -> None:
        self._games = games

    def __getattr__(self, name: str) -> Any:
        return getattr(self._games[0], name)

    def reset(self, **options: Any) -> Any:
        return self._same([game.reset(**options) for game in self._games])

    def step(self, action: Any) -> Any:
        return self._same([game.step(action) for game in self._games])

    def render(self) -> Any:
        return self._same([game.render() for game in self._games])

    def _same(self, said: list[Any]) -> Any:
        if not is_equal(*said):
            try:
                np.testing.assert_equal(said[1], said[0])
            except AssertionError as error:
                raise RuntimeError("the emulators differ") from error
        return said[0]


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two answers are equal, arrays within tuples and dicts included.

    NumPy's assertions tell where they differ, and take longer than a game's step.
    """
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(is_equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_equal(one[name], other[name]) for name in one)
    return bool(one == other)


def make_game(env_id: str, preset: str, **parts: Any) -> Any:
    """Return a game that follows a preset with some parts replaced, on `emulator`."""
    if emulator == "native":
        return make_quick(env_id, preset, **parts)
    request = request_env(env_id, Settings(recipe=replace(PRESETS[preset], **parts)))
    game = AtariGame(request.env_id, request.recipe)
    return OnBoth(game, NativeGame(request)) if emulator == "both" else game


def make_quick(env_id: str, preset: str, **parts: Any) -> NativeGame:
    """Return the same game on the quick emulator, for what is not compared but only looked up."""
    return NativeGame(request_env(env_id, Settings(recipe=replace(PRESETS[preset], **parts))))


def rollout(env: gym.Env, steps: int, seed: int = 7) -> Iterator[tuple[Any, ...]]:
    """Play seeded random actions, and yield `(obs,)` per reset and a result per step."""
    rng = np.random.default_rng(seed)
    yield env.reset(seed=seed)[:1]
    for _ in range(steps):
        result = env.step(int(rng.integers(env.action_space.n)))
        yield result[:4]
        if result[2] or result[3]:
            yield env.reset()[:1]


def assert_play_alike(ours: gym.Env, theirs: gym.Env, steps: int) -> int:
    """Compare two envs to the last bit over a rollout; return how many episodes ended."""
    ends = 0
    pairs = zip(rollout(ours, steps), rollout(theirs, steps), strict=True)
    for place, (mine, other) in enumerate(pairs):
        np.testing.assert_array_equal(np.squeeze(mine[0]), np.squeeze(other[0]), f"at {place}")
        assert mine[1:] == other[1:], f"at {place}"
        ends += len(mine) == 1
    return ends - 1
