from __future__ import annotations

import numpy as np

from atari_wrappers.adapters.shared import info_rows


def test_each_env_gets_its_own_values_as_python_scalars() -> None:
    info = {"lives": np.array([3, 2]), "speed": np.array([[0, 1], [2, 3]]), "env_id": np.arange(2)}
    left, right = info_rows(info, 2)
    assert left["lives"] == 3
    assert type(left["lives"]) is int
    np.testing.assert_array_equal(right["speed"], [2, 3])
    assert left.keys() == {"lives", "speed"}


def test_values_that_a_mask_excludes_are_left_out() -> None:
    info = {
        "bonus": np.array([7.0, 0.0]),
        "_bonus": np.array([True, False]),
        "nested": {"key": np.array(["a", "b"], object), "_key": np.array([False, True])},
    }
    assert info_rows(info, 2) == [{"bonus": 7.0, "nested": {}}, {"nested": {"key": "b"}}]


def test_an_ended_episode_shows_its_last_info() -> None:
    info = {
        "lives": np.array([5, 3]),
        "final_info": {"lives": np.array([0, 0]), "raw_reward": np.array([4.0, 0.0])},
        "_final_info": np.array([True, False]),
        "final_obs": np.zeros((2, 4)),
        "_final_obs": np.array([True, False]),
        7: np.array([1.0, 0.0]),
        "_7": np.array([False, False]),
    }
    assert info_rows(info, 2) == [{"lives": 0, "raw_reward": 4.0}, {"lives": 3}]
