"""What stable-baselines3's tests ask of its `DummyVecEnv` and `SubprocVecEnv`.

Stable-baselines3 2.9.2, `tests/test_vec_envs.py`. Each test names its source. What the adapter
makes of a batch is tested with the adapters; here it is the batch itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from atari_wrappers import VecEnv

OpenVec = Callable[..., VecEnv]
COUNTING = "peer_envs:Counting-v0"


def test_methods_and_attributes_of_some_envs(open_hosted: OpenVec) -> None:
    """`test_vecenv_custom_calls`: indices are one, several, from the end, or all."""
    vec = open_hosted(COUNTING, 3)
    vec.reset()
    results = vec.call("weigh", 1, columns=2)
    assert [result.shape for result in results] == [(1, 2)] * 3
    results = vec.call("weigh", 1, indices=[0, 2], columns=3)
    assert [result.shape for result in results] == [(1, 3)] * 2
    for index in range(3):
        assert vec.set_attr("count", index, indices=index) is None
    assert vec.get_attr("count") == (0, 1, 2)
    vec.set_attr("count", 42, indices=None)
    assert vec.get_attr("count") == (42, 42, 42)
    vec.reset()
    vec.set_attr("count", 12, indices=[0, 1])
    assert vec.get_attr("count") == (12, 12, 0)
    assert vec.get_attr("count", indices=[0, 2]) == (12, 0)
    vec.reset()
    vec.set_attr("count", 12, indices=[0, -1])
    assert vec.get_attr("count") == (12, 0, 12)
    assert vec.get_attr("count", indices=[-1]) == (12,)
    with pytest.raises(ValueError, match="no env -4 among 0 to 2"):
        vec.get_attr("count", indices=-4)


@pytest.mark.parametrize("truncates", [False, True])
def test_the_last_observation_of_an_episode_is_kept(truncates: bool, open_hosted: OpenVec) -> None:
    """`test_vecenv_terminal_obs`: three envs that end with step 5, 6 and 7."""
    vec = open_hosted(COUNTING, 3)
    lengths = [5, 6, 7]
    vec.set_attr("max_count", lengths)
    vec.set_attr("truncates", truncates)
    before = vec.reset()[0]
    for step in range(1, 8):
        obs, _, terminated, truncated, info = vec.step([0, 0, 0])
        ended, other = (truncated, terminated) if truncates else (terminated, truncated)
        assert ended.tolist() == [step == length for length in lengths]
        assert not other.any()
        assert ("final_obs" in info) == ended.any()
        for row in np.flatnonzero(ended):
            assert info["final_obs"][row] == before[row] + 1 == lengths[row]
            assert obs[row] == 0
            assert info["episode"]["l"][row] == lengths[row]
        before = obs


def test_envs_differ_with_and_without_a_seed(open_hosted: OpenVec) -> None:
    """`test_vec_seeding`: neither observations nor rewards may be alike."""
    vec = open_hosted("peer_envs:Box-v0", 3)
    for seed in (None, 0):
        obs, _ = vec.reset(seed=seed)
        reward = vec.step(vec.action_space.sample())[1]
        for rows in (obs, reward[:, None]):
            assert len(np.unique(rows, axis=0)) == 3


def test_pictures_are_tiled_to_one(open_hosted: OpenVec) -> None:
    """`test_render`: one picture that holds each env's, row by row."""
    vec = open_hosted("peer_envs:Box-v0", 3)
    vec.reset()
    vec.step(vec.action_space.sample(), env_id=range(3))
    vec.step(vec.action_space.sample()[:2], env_id=[0, 2])
    assert [frame.shape for frame in vec.render()] == [(4, 6, 3)] * 3
    assert [int(frame.max()) for frame in vec.render()] == [2, 1, 2]
    picture = vec.render_tiles()
    assert (picture.dtype, picture.shape) == (np.uint8, (8, 12, 3))
    np.testing.assert_array_equal(picture[:4, :6], vec.render_at(0))
    np.testing.assert_array_equal(picture[:4, 6:], vec.render_at(1))
    np.testing.assert_array_equal(picture[4:, :6], vec.render_at(2))
    assert not picture[4:, 6:].any()
