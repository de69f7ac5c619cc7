"""What envrax's tests ask of its `VecEnv` (`VmapEnv` in its early versions).

Envrax at commits 246fc5b and 198f376, `tests/`. Its envs are pure functions of a state, which ours
match by saving and restoring states. The test names its source.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from atari_wrappers import VecEnv

OpenVec = Callable[..., VecEnv]


def test_the_state_of_one_env_moves_to_another_batch(open_hosted: OpenVec) -> None:
    """`test_batched_env.py::test_slot_state_removes_leading_dim`."""
    vec, other = (open_hosted("CartPole-v1", count) for count in (3, 2))
    vec.reset(seed=0)
    other.reset(seed=9)
    seen = vec.step([1, 0, 1])[0]
    [state] = vec.save_state(1)
    obs, _ = other.restore_state([state], indices=[0])
    np.testing.assert_array_equal(obs[0], seen[1])
    np.testing.assert_array_equal(other.step([0, 0])[0][0], vec.step([0, 0, 0])[0][1])
