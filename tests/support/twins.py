"""The same batch on `native` and on `sync`, whose answers must be the same.

`sync` plays ale-py by Python's rules, which the conformance tests hold to the libraries that define
the recipes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from atari_wrappers import VecEnv

OpenVec = Callable[..., VecEnv]


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

    def __init__(
        self, open_vec: OpenVec, env_ids: str | list[str], num_envs: int = 3, **settings: Any
    ) -> None:
        self.pair = [open_vec(env_ids, num_envs, backend=b, **settings) for b in ("native", "sync")]
        self.by_hand = settings.get("autoreset") == "disabled"
        self.rng = np.random.default_rng(0)
        self.pair[0].single_action_space.seed(0)
        self.calls = 0
        self.ends: Counter[str] = Counter()
        self.num_envs, self.ended = num_envs, np.zeros(num_envs, bool)
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
        _, _, terminated, truncated, info = result
        last = info.get("final_info", info)  # of the rows that ended
        is_life = terminated & (last["lives"] > 0)
        self.ends["lives lost"] += int(is_life.sum())
        self.ends["games over"] += int((terminated & ~is_life).sum())
        self.ends["truncated"] += int(info["game_truncated"].sum())
        self.ended[ids] = terminated | truncated

    def step(self) -> None:
        if self.by_hand and self.ended.any():
            return self.reset_ended()
        return self.note(np.arange(self.num_envs), self.ask("step", self.actions(self.num_envs)))

    def step_some(self) -> None:
        if self.by_hand and self.ended.all():
            return self.reset_ended()
        ids = self.some(~self.ended if self.by_hand else np.ones(self.num_envs, bool))
        result = self.ask("step", self.actions(len(ids)), env_id=ids)
        return self.note(result[4]["env_id"], result)

    def step_in_two(self) -> None:
        """Two sends before one `recv`, which has a destination."""
        ready = np.flatnonzero(~self.ended) if self.by_hand else np.arange(self.num_envs)
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
        mask = np.isin(np.arange(self.num_envs), self.some(np.ones(self.num_envs, bool)))
        seeds = [
            int(seed) if seed % 2 else None for seed in self.rng.integers(1000, size=self.num_envs)
        ]
        self.ask("reset", mask=mask, seed=seeds)
        self.ended[mask] = False

    def reset_all(self) -> None:
        self.ask("reset", seed=[None, 7, 2**31 - 2] if self.calls % 2 else None)
        self.ended[:] = False

    def save(self) -> None:
        self.states = [vec.save_state() for vec in self.pair]
        self.waiting = self.ended.copy()

    def restore(self) -> None:
        indices = self.some(np.ones(self.num_envs, bool)).tolist()
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
