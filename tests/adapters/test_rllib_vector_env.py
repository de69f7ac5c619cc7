"""`RLlibVectorEnv`, held against the vector env that RLlib's older API makes itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import scripted  # noqa: F401 - registers ids

from atari_wrappers import ResetNeededError, UnsupportedError, VecEnv, WorkerError, make_vec

pytest.importorskip("ray.rllib", reason="Ray is optional")
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.vector_env import VectorEnv
from ray.tune.registry import register_env

from atari_wrappers.adapters.rllib import RLlibVectorEnv

OpenVec = Callable[..., VecEnv]
NUM_ENVS = 3

# Where tests run on several processes: Ray takes seconds to start, and does so in one of them.
pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture
def oracle() -> VectorEnv:
    return VectorEnv.vectorize_gym_envs(
        make_env=lambda _: gym.make("CartPole-v1", render_mode="rgb_array", max_episode_steps=15),
        num_envs=NUM_ENVS,
    )


@pytest.fixture
def short_cartpole() -> str:
    name = "ShortCartPole-v1"
    if name not in gym.registry:
        gym.register(name, gym.spec("CartPole-v1").entry_point, max_episode_steps=15)
    return name


def test_it_plays_as_rllibs_own(oracle: VectorEnv, short_cartpole: str, open_vec: OpenVec) -> None:
    env = RLlibVectorEnv(open_vec(short_cartpole, NUM_ENVS))
    seeds = [7, 3, 11]
    np.testing.assert_array_equal(
        env.vector_reset(seeds=seeds)[0], oracle.vector_reset(seeds=seeds)[0]
    )
    rng = np.random.default_rng(0)
    ends = {"terminated": 0, "truncated": 0}
    for step in range(80):
        actions = rng.integers(2, size=NUM_ENVS).tolist()
        mine, theirs = env.vector_step(actions), oracle.vector_step(actions)
        for left, right in zip(mine[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(left, right, f"step {step}")
        for index in range(NUM_ENVS):
            if mine[2][index] or mine[3][index]:
                ends["terminated" if mine[2][index] else "truncated"] += 1
                seed = step if step % 2 else None
                np.testing.assert_array_equal(
                    env.reset_at(index, seed=seed)[0], oracle.reset_at(index, seed=seed)[0]
                )
    assert min(ends.values()) > 0
    np.testing.assert_array_equal(env.try_render_at(1), oracle.try_render_at(1))
    assert len(env.get_sub_environments()) == NUM_ENVS


def test_infos_tell_of_each_env(short_cartpole: str, open_vec: OpenVec) -> None:
    env = RLlibVectorEnv(open_vec(short_cartpole, NUM_ENVS))
    env.vector_reset(seeds=[0, 1, 2])
    *_, infos = env.vector_step([0, 1, 0])
    assert [info["episode_length"] for info in infos] == [1, 1, 1]
    assert [info["raw_reward"] for info in infos] == [1.0, 1.0, 1.0]


def test_an_ended_env_has_to_be_reset(short_cartpole: str, open_vec: OpenVec) -> None:
    env = RLlibVectorEnv(open_vec(short_cartpole, NUM_ENVS))
    env.vector_reset()
    while not any(env.vector_step([0] * NUM_ENVS)[2]):
        pass
    with pytest.raises(ResetNeededError, match="reset_at envs"):
        env.vector_step([0] * NUM_ENVS)
    env.vector_reset()
    env.vector_step([0] * NUM_ENVS)


def test_games_are_seen_with_channels_last(open_vec: OpenVec) -> None:
    env = RLlibVectorEnv(open_vec("PongNoFrameskip-v4", 2, preset="baselines"))
    raw = open_vec("PongNoFrameskip-v4", 2, preset="baselines")
    assert env.observation_space.shape == (84, 84, 4)
    obs, _ = env.reset(seed=4)
    np.testing.assert_array_equal(obs, np.moveaxis(raw.reset(seed=4)[0], 1, -1))
    np.testing.assert_array_equal(
        env.vector_step([2, 3])[0], np.moveaxis(raw.step([2, 3])[0], 1, -1)
    )
    assert env.reset_at(1, seed=5)[0].shape == (84, 84, 4)


def test_a_refused_reset_leaves_the_episode_that_is_under_way(open_vec: OpenVec) -> None:
    env = RLlibVectorEnv(open_vec("BreakoutNoFrameskip-v4", 2, max_episode_steps=2))
    env.vector_reset(seeds=[1, 2])
    for _ in range(2):
        env.vector_step([0, 0])
    with pytest.raises(ValueError, match="seed"):
        env.reset_at(0, seed=-1)
    with pytest.raises(ResetNeededError, match="reset_at envs"):
        env.vector_step([0, 0])
    assert env.reset_at(0)[1] == env.reset_at(1)[1] == {"lives": 5}


def test_a_failed_env_is_made_anew_and_the_step_completed(open_vec: OpenVec) -> None:
    env = RLlibVectorEnv(open_vec("FailsByRaise-v0", 2))
    env.vector_reset()
    for _ in range(2):
        env.vector_step([5, 5])
    with pytest.raises(WorkerError, match="the script says so") as failure:
        env.vector_step([5, 5])
    while True:  # both envs fail in this step, one after the other
        for index in failure.value.env_indices:
            env.restart_at(index)
        try:
            *_, truncated, infos = env.vector_step([5, 5])
            break
        except WorkerError as error:
            failure.value.env_indices = error.env_indices
    assert truncated == [True, True]
    assert all(info["worker_restarted"] for info in infos)
    assert env.reset_at(0)[0][0] == 0


def test_after_a_failure_and_an_interrupt_a_reset_begins_anew(open_vec: OpenVec) -> None:
    env = RLlibVectorEnv(open_vec("FailsByRaise-v0", 1))
    env.vector_reset()
    env.vector_step([5])
    env.vector_step([5])
    with pytest.raises(WorkerError, match="the script says so"):
        env.vector_step([5])
    env.restart_at(0)
    env.venv.drop_pending()  # as Ctrl-C does
    env.vector_reset()
    assert env.vector_step([5])[3] == [False]


@pytest.mark.parametrize("options", [None, [{"low": 0.02, "high": 0.04}] * NUM_ENVS])
def test_options_are_for_all(options: Any, short_cartpole: str, open_vec: OpenVec) -> None:
    env = RLlibVectorEnv(open_vec(short_cartpole, NUM_ENVS))
    obs, _ = env.vector_reset(seeds=[1, 2, 3], options=options)
    assert bool((np.array(obs) >= 0.02).all()) == (options is not None)
    with pytest.raises(UnsupportedError, match="same options"):
        env.vector_reset(options=[{"low": 0.02}, None, None])


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_single_envs_have_the_spaces_of_the_batch(backend: str, open_vec: OpenVec) -> None:
    workers = 1 if backend == "async" else 0
    env = RLlibVectorEnv(open_vec("PongNoFrameskip-v4", 2, backend=backend, num_workers=workers))
    singles = env.get_sub_environments()
    assert [single.observation_space for single in singles] == [env.observation_space] * 2
    assert singles[1].get_wrapper_attr("np_random_seed") is not None


@pytest.mark.parametrize(
    ("env_id", "preset"),
    [
        ("CartPole-v1", "default"),
        ("PongNoFrameskip-v4", "default"),
        ("PongNoFrameskip-v4", "baselines"),
    ],
)
def test_the_older_api_trains(env_id: str, preset: str, ray_session: None) -> None:
    made: list[RLlibVectorEnv] = []

    def create(env_config: Any) -> RLlibVectorEnv:
        made.append(RLlibVectorEnv(make_vec(env_id, 2, preset=preset)))
        return made[-1]

    register_env("older", create)
    algorithm = (
        PPOConfig()
        .environment("older")
        .api_stack(enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2, rollout_fragment_length=32)
        .training(
            train_batch_size=64,
            minibatch_size=64,
            num_epochs=1,
            model={"conv_filters": [[4, [8, 8], 4], [4, [21, 21], 1]]} if "Pong" in env_id else {},
        )
        .debugging(seed=0, log_level="ERROR")
        .build_algo()
    )
    result = algorithm.train()
    assert result["num_env_steps_sampled_lifetime"] == 64
    if env_id == "CartPole-v1":
        assert result["env_runners"]["num_episodes"] >= 1
    algorithm.stop()
    for env in made:
        assert env.venv.closed


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"autoreset": "next-step"}, 'autoreset="same-step"'),
        ({"obs_buffers": 2}, "obs_buffers"),
        ({"batch_size": 1}, "batch_size"),
    ],
)
def test_batches_that_it_would_get_wrong_are_refused(
    settings: dict[str, Any], says: str, open_vec: OpenVec
) -> None:
    with pytest.raises(UnsupportedError, match=says):
        RLlibVectorEnv(open_vec("CartPole-v1", 2, **settings))
