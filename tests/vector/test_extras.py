"""What envs say in their infos beyond the record, where they say it in kinds of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import VectorEnv

from atari_wrappers import VecEnv
from atari_wrappers.backends.extras import gathered

ALIKE: list[dict[str, Any]] = [
    {"a": 1, "b": 2.5, "c": True, "d": np.float32(3), "e": np.arange(3), "f": "x", "g": None},
    {"a": 2, "h": {"i": 1, "j": {"k": np.zeros((2, 2), np.uint8)}}, "final_obs": np.ones(3)},
    {},
    {"b": -1.0, "e": np.ones(3, np.int64), "f": "yy", "h": {"i": 7}},
]


def test_what_is_alike_is_gathered_as_by_gymnasium() -> None:
    merger: VectorEnv = VectorEnv()
    merger.num_envs = len(ALIKE)
    theirs: dict[str, Any] = {}
    for place, info in enumerate(ALIKE):
        theirs = merger._add_info(theirs, info, place)
    _assert_same(gathered(dict(enumerate(ALIKE)), len(ALIKE)), theirs)


def _assert_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        if isinstance(value, dict):
            _assert_same(ours[name], value)
        else:
            assert ours[name].dtype == value.dtype, name
            for mine, other in zip(ours[name], value, strict=True):
                np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5], np.array([1.0, 2.5])),
        ([np.int64(1), 2], np.array([1, 2])),
        ([1, None], np.array([1, None])),
        ([1, "a"], np.array([1, "a"], object)),
        ([True, 7], np.array([True, 7], object)),
        ([2**70, 1], np.array([2**70, 1], object)),
        ([{"x": 1}, 2], np.array([{"x": 1}, 2])),
    ],
)
def test_what_differs_is_told_as_it_is(values: list[Any], expected: np.ndarray) -> None:
    got = gathered({place: {"m": value} for place, value in enumerate(values)}, 2)
    assert got["m"].dtype == expected.dtype
    assert got["m"].tolist() == expected.tolist()
    assert [type(value) for value in got["m"]] == [type(value) for value in expected]
    assert got["_m"].tolist() == [True, True]


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_arrays_of_other_shapes_close_no_batch(
    backend: str, open_vec: Callable[..., VecEnv]
) -> None:
    vec = open_vec("peer_envs:Hearing-v0", 2, backend=backend)
    vec.reset(seed=0)
    for step in range(1, 4):
        info = vec.step([0, 1])[4]
        assert [len(array) for array in info["heard"]] == [step, step + 1]
