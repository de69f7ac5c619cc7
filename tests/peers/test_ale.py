"""What ALE documents of its `AtariVectorEnv`.

ale-py 0.12.1, `help(AtariVectorEnv)` and https://ale.farama.org/vector-environment. Its tests are
under the GPL and were not read. That env itself is the oracle: the recipe `ale` on each backend has
to show the same pictures after the same calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ale_py
import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode

from atari_wrappers import ResetNeededError, VecEnv

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

OpenVec = Callable[..., VecEnv]
OpenLike = Callable[..., list[VecEnv]]
MODES = {"next-step": AutoresetMode.NEXT_STEP, "same-step": AutoresetMode.SAME_STEP}


@pytest.fixture
def open_oracle() -> Iterator[Callable[..., AtariVectorEnv]]:
    opened: list[AtariVectorEnv] = []

    def open_one(autoreset: str = "next-step", **kwargs: Any) -> AtariVectorEnv:
        mode = MODES[autoreset]
        opened.append(AtariVectorEnv("breakout", 3, num_threads=2, autoreset_mode=mode, **kwargs))
        return opened[-1]

    yield open_one
    for env in opened:
        env.close()


@pytest.fixture
def open_like(open_vec: OpenVec) -> OpenLike:
    """Batches like the oracle's; `async` is `sync` in other processes, as other tests show."""

    def open_each(autoreset: str = "next-step", **settings: Any) -> list[VecEnv]:
        settings |= {"preset": "ale", "autoreset": autoreset}
        return [
            open_vec("BreakoutNoFrameskip-v4", 3, backend=backend, **settings)
            for backend in ("ale", "native", "sync")
        ]

    return open_each


def assert_step(mine: tuple, other: tuple) -> None:
    for left, right in zip(mine[:4], other[:4], strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(mine[4]["lives"], other[4]["lives"])


@pytest.mark.parametrize("autoreset", MODES)
def test_games_are_played_as_ale_plays_them(
    autoreset: str, open_like: OpenLike, open_oracle: Callable[..., AtariVectorEnv]
) -> None:
    """`step` and the two ways to restart; raw seeds give the same no-ops."""
    # ALE draws from one fewer than `noop_max`; the recipe's default is that.
    vecs, oracle = open_like(autoreset), open_oracle(autoreset)
    first = oracle.reset(seed=4)[0]
    for vec in vecs:
        np.testing.assert_array_equal(vec.reset(seed=4)[0], first)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(200):
        actions = rng.integers(4, size=3)
        theirs = oracle.step(actions)
        ended = theirs[2] | theirs[3]
        for vec in vecs:
            mine = vec.step(actions)
            assert_step(mine, theirs)
            if autoreset == "same-step":
                for row in np.flatnonzero(ended):
                    np.testing.assert_array_equal(
                        mine[4]["final_obs"][row], theirs[4]["final_obs"][row]
                    )
        ends += int(ended.sum())
    assert ends > 0


def test_envs_outside_of_a_reset_mask_are_left_untouched(
    open_like: OpenLike, open_oracle: Callable[..., AtariVectorEnv]
) -> None:
    """`reset`: one seed per env that is reset; the others report what they last did."""
    vecs, oracle = open_like(), open_oracle()
    mask = np.array([True, False, True])
    oracle.reset(seed=0)
    for _ in range(20):
        oracle.step(np.array([1, 2, 3]))
    expected, _ = oracle.reset(seed=np.array([7, 9]), options={"reset_mask": mask})
    later = [oracle.step(np.array([2, 3, 1])) for _ in range(30)]
    for vec in vecs:
        with pytest.raises(ResetNeededError):
            vec.reset(mask=mask)
        vec.reset(seed=0)
        for _ in range(20):
            before, _, _, _, told = vec.step([1, 2, 3])
        obs, info = vec.reset(seed=[7, None, 9], mask=mask)
        np.testing.assert_array_equal(obs, expected)
        np.testing.assert_array_equal(obs[1], before[1])
        assert info["episode_length"].tolist() == [0, 20, 0]
        assert info["episode_return"][1] == told["episode_return"][1]
        for theirs in later:
            assert_step(vec.step([2, 3, 1]), theirs)


@pytest.mark.parametrize(
    ("settings", "theirs"),
    [
        (
            {
                "screen_size": (60, 100),
                "frame_stack": 2,
                "frame_skip": 3,
                "full_action_space": True,
                "clip_reward": False,
            },
            {
                "img_height": 60,
                "img_width": 100,
                "stack_num": 2,
                "frameskip": 3,
                "full_action_space": True,
                "reward_clipping": False,
            },
        ),
        (
            {"grayscale": False, "continuous": True, "continuous_action_threshold": 0.3},
            {"grayscale": False, "continuous": True, "continuous_action_threshold": 0.3},
        ),
    ],
    ids=["sizes, actions and rewards", "colour and continuous"],
)
def test_settings_are_those_of_ale(
    settings: dict[str, Any],
    theirs: dict[str, Any],
    open_like: OpenLike,
    open_oracle: Callable[..., AtariVectorEnv],
) -> None:
    """The arguments of the constructor."""
    vecs, oracle = open_like(**settings), open_oracle(**theirs)
    first = oracle.reset(seed=2)[0]
    for vec in vecs:
        assert vec.single_observation_space == oracle.single_observation_space
        assert vec.single_action_space == oracle.single_action_space
        np.testing.assert_array_equal(vec.reset(seed=2)[0], first)
    is_continuous = settings.get("continuous", False)
    oracle.action_space.seed(0)
    for step in range(60 if is_continuous else 20):
        actions = oracle.action_space.sample() if is_continuous else np.array([1, step % 4, 3])
        expected = oracle.step(actions)
        for vec in vecs:
            assert_step(vec.step(actions), expected)


def test_the_number_of_threads_changes_nothing(open_vec: OpenVec) -> None:
    """`num_threads`."""
    settings = {"backend": "ale", "sticky_actions": 0.25}
    twin, *vecs = (
        open_vec("BreakoutNoFrameskip-v4", 3, num_threads=num_threads, **settings)
        for num_threads in (0, 1, 3)
    )
    first = twin.reset(seed=3)[0]
    for vec in vecs:
        np.testing.assert_array_equal(vec.reset(seed=3)[0], first)
    for step in range(40):
        expected = twin.step([1, step % 4, 2])
        for vec in vecs:
            assert_step(vec.step([1, step % 4, 2]), expected)
