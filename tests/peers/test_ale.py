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


@pytest.fixture(params=["ale", "native", "sync"])
def open_like(request: pytest.FixtureRequest, open_vec: OpenVec) -> OpenVec:
    """A batch like the oracle's; `async` is `sync` in other processes, as other tests show."""

    def open_one(autoreset: str = "next-step", **settings: Any) -> VecEnv:
        settings |= {"backend": request.param, "preset": "ale", "autoreset": autoreset}
        return open_vec("BreakoutNoFrameskip-v4", 3, **settings)

    return open_one


def assert_step(mine: tuple, other: tuple) -> None:
    for left, right in zip(mine[:4], other[:4], strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(mine[4]["lives"], other[4]["lives"])


@pytest.mark.parametrize("autoreset", MODES)
def test_games_are_played_as_ale_plays_them(
    autoreset: str, open_like: OpenVec, open_oracle: Callable[..., AtariVectorEnv]
) -> None:
    """`step` and the two ways to restart; raw seeds give the same no-ops."""
    # ALE draws from one fewer than `noop_max`; the recipe's default is that.
    vec, oracle = open_like(autoreset), open_oracle(autoreset)
    first, other = vec.reset(seed=4)[0], oracle.reset(seed=4)[0]
    np.testing.assert_array_equal(first, other)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(200):
        actions = rng.integers(4, size=3)
        mine, theirs = vec.step(actions), oracle.step(actions)
        assert_step(mine, theirs)
        if autoreset == "same-step":
            ended = mine[2] | mine[3]
            for row in np.flatnonzero(ended):
                np.testing.assert_array_equal(
                    mine[4]["final_obs"][row], theirs[4]["final_obs"][row]
                )
        ends += int((mine[2] | mine[3]).sum())
    assert ends > 0


def test_envs_outside_of_a_reset_mask_are_left_untouched(
    open_like: OpenVec, open_oracle: Callable[..., AtariVectorEnv]
) -> None:
    """`reset`: one seed per env that is reset; the others report what they last did."""
    vec, oracle = open_like(), open_oracle()
    mask = np.array([True, False, True])
    with pytest.raises(ResetNeededError):
        vec.reset(mask=mask)
    vec.reset(seed=0)
    oracle.reset(seed=0)
    for _ in range(20):
        before, _, _, _, told = vec.step([1, 2, 3])
        oracle.step(np.array([1, 2, 3]))
    obs, info = vec.reset(seed=[7, None, 9], mask=mask)
    expected, _ = oracle.reset(seed=np.array([7, 9]), options={"reset_mask": mask})
    np.testing.assert_array_equal(obs, expected)
    np.testing.assert_array_equal(obs[1], before[1])
    assert info["episode_length"].tolist() == [0, 20, 0]
    assert info["episode_return"][1] == told["episode_return"][1]
    for _ in range(30):
        assert_step(vec.step([2, 3, 1]), oracle.step(np.array([2, 3, 1])))


@pytest.mark.parametrize(
    "settings",
    [
        {
            "screen_size": (60, 100),
            "frame_stack": 2,
            "frame_skip": 3,
            "ale": {"img_height": 60, "img_width": 100, "stack_num": 2, "frameskip": 3},
        },
        {"grayscale": False, "ale": {"grayscale": False}},
        {
            "full_action_space": True,
            "clip_reward": False,
            "ale": {"full_action_space": True, "reward_clipping": False},
        },
    ],
    ids=["sizes", "colour", "actions and rewards"],
)
def test_settings_are_those_of_ale(
    settings: dict[str, Any],
    open_like: OpenVec,
    open_oracle: Callable[..., AtariVectorEnv],
) -> None:
    """The arguments of the constructor."""
    ours = dict(settings)
    oracle = open_oracle(**ours.pop("ale"))
    vec = open_like(**ours)
    assert vec.single_observation_space == oracle.single_observation_space
    assert vec.single_action_space == oracle.single_action_space
    np.testing.assert_array_equal(vec.reset(seed=2)[0], oracle.reset(seed=2)[0])
    for step in range(20):
        actions = np.array([1, step % 4, 3])
        assert_step(vec.step(actions), oracle.step(actions))


def test_continuous_actions(open_like: OpenVec, open_oracle: Callable[..., AtariVectorEnv]) -> None:
    """`continuous` and `continuous_action_threshold`."""
    oracle = open_oracle(continuous=True, continuous_action_threshold=0.3)
    vec = open_like(continuous=True, continuous_action_threshold=0.3)
    assert vec.single_action_space == oracle.single_action_space
    np.testing.assert_array_equal(vec.reset(seed=2)[0], oracle.reset(seed=2)[0])
    vec.action_space.seed(0)
    for _ in range(60):
        actions = vec.action_space.sample()
        assert_step(vec.step(actions), oracle.step(actions))


@pytest.mark.parametrize("num_threads", [1, 3])
def test_the_number_of_threads_changes_nothing(num_threads: int, open_vec: OpenVec) -> None:
    """`num_threads`."""
    settings = {"backend": "ale", "sticky_actions": 0.25}
    vec = open_vec("BreakoutNoFrameskip-v4", 3, num_threads=num_threads, **settings)
    twin = open_vec("BreakoutNoFrameskip-v4", 3, **settings)
    np.testing.assert_array_equal(vec.reset(seed=3)[0], twin.reset(seed=3)[0])
    for step in range(40):
        assert_step(vec.step([1, step % 4, 2]), twin.step([1, step % 4, 2]))
