"""Any calls in any order: a batch on `native` answers each as its twin on `sync` does.

`sync` plays ale-py by Python's rules, which the conformance tests hold to the libraries that define
the recipes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from atari_wrappers import VecEnv

OpenVec = Callable[..., VecEnv]
SHORT = {"max_episode_frames": 60}
# Between them: every preset and autoreset mode, every kind of observation and of action, and games
# that end by themselves, by a lost life and by a limit.
CASES: list[tuple[str | list[str], dict[str, Any]]] = [
    ("Breakout", {}),
    ("Breakout", {"preset": "baselines", "autoreset": "next-step", "sticky_actions": 0.25}),
    ("Breakout", {"preset": "envpool", "autoreset": "disabled", "episodic_life": True}),
    ("Seaquest", SHORT | {"preset": "gymnasium", "grayscale": False, "screen_size": (50, 70)}),
    ("Seaquest", SHORT | {"preset": "ale", "episodic_life": True, "autoreset": "disabled"}),
    ("MsPacman", SHORT | {"obs_type": "ram", "autoreset": "disabled", "sticky_actions": 0.25}),
    ("Pong", SHORT | {"obs_type": "ram", "autoreset": "next-step", "mode": 1, "difficulty": 1}),
    ("Assault", SHORT | {"continuous": True, "sticky_actions": 0.25, "frame_skip": 3}),
    (
        ["Skiing", "Pong", "Assault"],
        SHORT | {"preset": "baselines", "continuous": True, "noop_max": 3},
    ),
    ("Frostbite", SHORT | {"channels_last": True, "grayscale": False, "frame_stack": 2}),
    (
        ["Pong", "Breakout", "Seaquest"],
        {"max_episode_frames": 12, "full_action_space": True, "frame_skip": 1},
    ),
    (["Pong", "Tennis", "Freeway"], SHORT | {"full_action_space": True, "autoreset": "disabled"}),
]


def ids_of(games: str | list[str]) -> str | list[str]:
    if isinstance(games, str):
        return f"{games}NoFrameskip-v4"
    return [f"{game}NoFrameskip-v4" for game in games]


def assert_same(mine: Any, other: Any, rows: Any, place: str) -> None:
    """Compare results: arrays to the last bit, where a mask says which rows count in these."""
    if isinstance(other, dict):
        assert mine.keys() == other.keys(), place
        for name in other:
            masked = name.startswith("final_")
            mask = other[f"_{name}"] if masked else rows
            assert_same(mine[name], other[name], mask, f"{place}: {name}")
    elif isinstance(other, np.ndarray):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape), place
        chosen = slice(None) if rows is None else rows
        np.testing.assert_array_equal(mine[chosen], other[chosen], place)
    elif isinstance(other, tuple):
        for one, two in zip(mine, other, strict=True):
            assert_same(one, two, rows, place)
    else:
        assert mine == other, place


class Twins:
    """A batch on each backend, both asked the same."""

    def __init__(self, open_vec: OpenVec, games: str | list[str], **settings: Any) -> None:
        self.pair = [open_vec(ids_of(games), 3, backend=b, **settings) for b in ("native", "sync")]
        self.by_hand = settings.get("autoreset") == "disabled"
        self.rng = np.random.default_rng(0)
        self.calls = self.ends = 0
        self.ended = np.zeros(3, bool)
        self.ask("reset", seed=3)
        self.states = [vec.save_state() for vec in self.pair]
        self.waiting = self.ended.copy()  # which were ended in these states

    def ask(self, call: str, *args: Any, **kwargs: Any) -> Any:
        mine, other = (getattr(vec, call)(*args, **kwargs) for vec in self.pair)
        self.calls += 1
        assert_same(mine, other, None, f"call {self.calls}, {call} {args} {kwargs}")
        return mine

    def some(self, among: np.ndarray) -> np.ndarray:
        """Some of these envs, at least one, in any order."""
        chosen = self.rng.permutation(np.flatnonzero(among))
        return chosen[: self.rng.integers(1, len(chosen) + 1)]

    def actions(self, count: int) -> np.ndarray:
        space = self.pair[0].single_action_space
        return np.array([space.sample() for _ in range(count)], space.dtype)

    def note(self, ids: np.ndarray, result: tuple) -> None:
        ended = result[2] | result[3]
        self.ends += int(ended.sum())
        self.ended[ids] = ended

    def step(self) -> None:
        if self.by_hand and self.ended.any():
            return self.reset_ended()
        return self.note(np.arange(3), self.ask("step", self.actions(3)))

    def step_some(self) -> None:
        if self.by_hand and self.ended.all():
            return self.reset_ended()
        ids = self.some(~self.ended if self.by_hand else np.ones(3, bool))
        result = self.ask("step", self.actions(len(ids)), env_id=ids)
        return self.note(result[4]["env_id"], result)

    def step_in_two(self) -> None:
        """Two sends before one `recv`, which has a destination."""
        ready = np.flatnonzero(~self.ended) if self.by_hand else np.arange(3)
        if len(ready) < 2:
            return self.step()
        first, last = ready[-1:], ready[:-1]
        for ids in (first, last):
            self.ask("send", self.actions(len(ids)), env_id=ids)
        outs = [
            np.zeros((len(ready), *vec.observation_space.shape[1:]), np.uint8) for vec in self.pair
        ]
        mine, other = (vec.recv(out=out) for vec, out in zip(self.pair, outs, strict=True))
        assert mine[0].ctypes.data == outs[0].ctypes.data
        assert_same(mine, other, None, f"after call {self.calls}, recv of two sends")
        return self.note(mine[4]["env_id"], mine)

    def reset_ended(self) -> None:
        mask = self.ended.copy()
        self.ask("reset", mask=mask)
        self.ended[mask] = False

    def reset_some(self) -> None:
        mask = np.isin(np.arange(3), self.some(np.ones(3, bool)))
        seeds = [int(seed) if seed % 2 else None for seed in self.rng.integers(1000, size=3)]
        self.ask("reset", mask=mask, seed=seeds)
        self.ended[mask] = False

    def reset_all(self) -> None:
        self.ask("reset", seed=[None, 7, 2**31 - 2] if self.calls % 2 else None)
        self.ended[:] = False

    def save(self) -> None:
        self.states = [vec.save_state() for vec in self.pair]
        self.waiting = self.ended.copy()

    def restore(self) -> None:
        indices = self.some(np.ones(3, bool)).tolist()
        mine, other = (
            vec.restore_state([states[index] for index in indices], indices=indices)
            for vec, states in zip(self.pair, self.states, strict=True)
        )
        assert_same(mine, other, None, f"after call {self.calls}, restore of {indices}")
        self.ended[indices] = self.waiting[indices]

    def look(self) -> None:
        self.ask("render")
        self.ask("get_attr", "frame_number")
        for mine, other in zip(*(vec.get_attr("ale") for vec in self.pair), strict=True):
            np.testing.assert_array_equal(mine.getRAM(), other.getRAM())
            assert (mine.lives(), mine.game_over()) == (other.lives(), other.game_over())


@pytest.mark.parametrize(("games", "settings"), CASES)
def test_native_answers_as_sync_does(
    games: str | list[str], settings: dict[str, Any], open_vec: OpenVec
) -> None:
    twins = Twins(open_vec, games, **settings)
    twins.pair[0].single_action_space.seed(0)
    kinds = [twins.step, twins.step_some, twins.step_in_two, twins.reset_some, twins.reset_all]
    kinds += [twins.save, twins.restore, twins.look]
    for kind in twins.rng.choice(len(kinds), 120, p=[0.5, 0.2, 0.1, 0.04, 0.02, 0.04, 0.06, 0.04]):
        kinds[kind]()
    assert twins.ends >= 1
