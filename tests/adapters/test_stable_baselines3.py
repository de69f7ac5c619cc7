from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scripted import CarelessEnv
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecFrameStack

from atari_wrappers import UnsupportedError, VecEnv
from atari_wrappers.adapters.stable_baselines3 import StableBaselines3VecEnv, make_vec_env

NUM_ENVS = 2


class ThreeSteps(CarelessEnv):
    """Truncates each third step; observes `[steps taken, episode]`, and is paid 2.5 per step."""

    action_space = gym.spaces.Discrete(3)  # stable-baselines3 knows none that starts elsewhere
    mood = "calm"


gym.register("ThreeSteps-v0", ThreeSteps)


@pytest.fixture
def open_env() -> Iterator[Callable[..., StableBaselines3VecEnv]]:
    opened: list[StableBaselines3VecEnv] = []

    def open_one(*args: Any, **kwargs: Any) -> StableBaselines3VecEnv:
        opened.append(make_vec_env(*args, **kwargs))
        return opened[-1]

    yield open_one
    for env in opened:
        env.close()


def oracle(game: str, seed: int) -> VecFrameStack:
    return VecFrameStack(make_atari_env(f"{game}NoFrameskip-v4", n_envs=NUM_ENVS, seed=seed), 4)


def channels_first(obs: np.ndarray) -> np.ndarray:
    return np.moveaxis(obs, -1, -3)


def test_baselines_preset_is_what_make_atari_env_makes(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    ours = open_env("BreakoutNoFrameskip-v4", NUM_ENVS, seed=5, backend="sync")
    theirs = oracle("Breakout", 5)
    np.testing.assert_array_equal(ours.reset(), channels_first(theirs.reset()))
    rng = np.random.default_rng(0)
    games = 0
    for step in range(300):
        actions = rng.integers(ours.action_space.n, size=NUM_ENVS)
        obs, rewards, dones, infos = ours.step(actions)
        their_obs, their_rewards, their_dones, their_infos = theirs.step(actions)
        np.testing.assert_array_equal(obs, channels_first(their_obs), f"step {step}")
        np.testing.assert_array_equal(rewards, their_rewards)
        np.testing.assert_array_equal(dones, their_dones)
        assert (rewards.dtype, dones.dtype) == (their_rewards.dtype, their_dones.dtype)
        for mine, other in zip(infos, their_infos, strict=True):
            games += assert_same_info(mine, other)
    theirs.close()
    assert games >= 1


def assert_same_info(mine: dict[str, Any], other: dict[str, Any]) -> bool:
    """Compare one env's infos; return whether a game ended."""
    for key in ("lives", "TimeLimit.truncated"):
        assert mine[key] == other[key]
    assert ("terminal_observation" in mine) == ("terminal_observation" in other)
    if "terminal_observation" in mine:
        np.testing.assert_array_equal(
            mine["terminal_observation"], channels_first(other["terminal_observation"])
        )
    if "episode" in other:
        assert mine["episode"].keys() == other["episode"].keys()
        assert (mine["episode"]["r"], mine["episode"]["l"]) == (
            other["episode"]["r"],
            other["episode"]["l"],
        )
    return "episode" in other


def test_evaluate_policy_counts_games_as_with_the_libraries_own_env(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    ours, theirs = (
        open_env("BreakoutNoFrameskip-v4", NUM_ENVS, seed=3),
        oracle("Breakout", 3),
    )
    model = PPO("CnnPolicy", ours, n_steps=32, seed=0, device="cpu")
    ours.seed(3)
    results = []
    for env in (ours, theirs):
        set_random_seed(0)
        results.append(
            evaluate_policy(
                model, env, n_eval_episodes=2, deterministic=False, return_episode_rewards=True
            )
        )
    theirs.close()
    assert results[0] == results[1]
    assert len(results[0][0]) == 2


@pytest.mark.parametrize("preset", ["default", "baselines"])
def test_ppo_trains_on_observations_as_they_come(
    preset: str, open_env: Callable[..., StableBaselines3VecEnv]
) -> None:
    env = open_env("PongNoFrameskip-v4", NUM_ENVS, preset=preset)
    model = PPO("CnnPolicy", env, n_steps=16, batch_size=16, n_epochs=1, seed=1, device="cpu")
    before = [weights.clone() for weights in model.policy.parameters()]
    model.learn(64)
    assert model.get_env() is env  # no VecTransposeImage around it
    assert model.num_timesteps == 64
    changes = zip(before, model.policy.parameters(), strict=True)
    assert any(bool((old != new).any()) for old, new in changes)


def test_dqn_stores_the_last_observation_of_an_episode(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    env = open_env("ThreeSteps-v0", NUM_ENVS)
    settings = {"buffer_size": 64, "learning_starts": 4, "train_freq": 2, "batch_size": 4}
    model = DQN("MlpPolicy", env, seed=0, device="cpu", **settings)
    model.learn(24)
    memory = model.replay_buffer
    # The third step of each episode truncates it; the script counts steps in `obs[0]`.
    steps = memory.next_observations[: memory.pos, :, 0]
    np.testing.assert_array_equal(steps[:6], [[1, 1], [2, 2], [3, 3]] * 2)
    np.testing.assert_array_equal(memory.timeouts[:6], (steps == 3)[:6])
    assert [episode["r"] for episode in model.ep_info_buffer] == [7.5] * 8
    assert [episode["l"] for episode in model.ep_info_buffer] == [3] * 8


def test_only_atari_games_have_the_preset(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        others = [open_env("CartPole-v1", 2), open_env(["CartPole-v1"], 1)]
    assert [env.venv.settings.preset for env in others] == [None, None]
    assert open_env("PongNoFrameskip-v4", 1).venv.settings.preset == "baselines"


def test_learning_cartpole_raises_the_return(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    env = open_env("CartPole-v1", 4, preset="default")
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=128, seed=2, device="cpu")
    model.learn(8192)
    assert np.mean([episode["r"] for episode in model.ep_info_buffer]) > 60  # random play: 22


def test_seeds_repeat_a_run_and_are_used_once(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    env = open_env("CartPole-v1", NUM_ENVS, seed=7)
    first, second = env.reset(), env.reset()
    assert env.seed(7) == [7, 8]
    np.testing.assert_array_equal(env.reset(), first)
    assert (second != first).any()
    np.testing.assert_array_equal(first[1], gym.make("CartPole-v1").reset(seed=8)[0])


def test_without_a_seed_numpy_decides(open_env: Callable[..., StableBaselines3VecEnv]) -> None:
    env = open_env("CartPole-v1", NUM_ENVS)
    draws = []
    for seed in (0, 0, 1):
        np.random.seed(seed)  # noqa: NPY002 - as `set_random_seed` of the library does
        draws.append(env.seed())
    assert draws[0] == draws[1] != draws[2]


def test_attributes_and_methods_reach_chosen_envs(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    env = open_env("ThreeSteps-v0", 3)
    env.set_attr("mood", ["wild"], indices=[0, 2])
    assert env.get_attr("mood") == [["wild"], "calm", ["wild"]]
    assert env.get_attr("mood", indices=1) == ["calm"]
    assert env.env_method("has_wrapper_attr", "mood", indices=[0]) == [True]
    assert callable(env.get_attr("reset", 0)[0])  # a method is returned, not called
    assert env.has_attr("mood")
    assert not env.has_attr("no_such_attribute")
    with pytest.raises(AttributeError):
        env.get_attr("no_such_attribute")


def test_wrappers_are_found(open_env: Callable[..., StableBaselines3VecEnv]) -> None:
    env = open_env("CartPole-v1", NUM_ENVS)
    assert env.env_is_wrapped(Monitor) == [True, True]
    assert env.env_is_wrapped(gym.wrappers.TimeLimit, indices=[1]) == [True]
    assert env.env_is_wrapped(gym.wrappers.ClipAction) == [False, False]


def test_envs_of_other_processes_are_reached_too(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    env = open_env("CartPole-v1", NUM_ENVS, backend="async", num_workers=1)
    env.set_attr("tau", 0.5, indices=1)
    assert env.get_attr("tau") == [0.02, 0.5]
    assert env.env_is_wrapped(Monitor) == [True, True]
    with pytest.raises(UnsupportedError, match="TimeLimit"):
        env.env_is_wrapped(gym.wrappers.TimeLimit)


def test_options_reach_the_envs_of_one_reset(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    env = open_env("CartPole-v1", NUM_ENVS)
    env.set_options({"low": 0.02, "high": 0.04})
    assert (env.reset() >= 0.02).all()
    assert (env.reset() < 0.02).any()
    env.set_options([{"low": 0.02}, {}])
    with pytest.raises(UnsupportedError, match="same options"):
        env.reset()
    env.reset()


@pytest.mark.parametrize("preset", ["default", "baselines"])
def test_pictures_are_tiled(preset: str, open_env: Callable[..., StableBaselines3VecEnv]) -> None:
    env = open_env("PongNoFrameskip-v4", NUM_ENVS, preset=preset)
    env.reset()
    images = env.get_images()
    assert len(images) == NUM_ENVS
    height, width, _ = images[0].shape
    assert env.render().shape == (2 * height, width, 3)


def test_the_c_plus_plus_backend_says_that_it_has_no_attributes(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    env = open_env("PongNoFrameskip-v4", NUM_ENVS, preset="default", backend="ale")
    assert not env.has_attr("np_random")
    assert env.env_is_wrapped(gym.wrappers.TimeLimit) == [False, False]
    with pytest.raises(UnsupportedError, match="sync"):
        env.get_attr("np_random")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"autoreset": "next-step"}, 'autoreset="same-step"'),
        ({"batch_size": 1, "backend": "sync"}, "batch_size"),
        ({"num_players": 2, "backend": "sync"}, "num_players"),
    ],
)
def test_batches_that_it_would_get_wrong_are_refused(
    settings: dict[str, Any], says: str, open_vec: Callable[..., VecEnv]
) -> None:
    with pytest.raises(UnsupportedError, match=says):
        StableBaselines3VecEnv(open_vec("PongNoFrameskip-v4", 2, **settings))


def test_batches_of_tensors_are_refused() -> None:
    with pytest.raises(UnsupportedError, match='leave output at "numpy", not "torch"'):
        make_vec_env("PongNoFrameskip-v4", 2, output="torch")


def test_a_list_has_an_env_for_each_and_pictures_their_rate(
    open_env: Callable[..., StableBaselines3VecEnv],
) -> None:
    envs = open_env(["PongNoFrameskip-v4", "PongNoFrameskip-v4"])
    assert (envs.num_envs, envs.metadata["render_fps"]) == (2, 15)
    assert open_env("PongNoFrameskip-v4").num_envs == 1
