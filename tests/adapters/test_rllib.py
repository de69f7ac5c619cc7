"""RLlib's current API (env runners) on our batches."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scripted import CarelessEnv

from atari_wrappers import UnsupportedError, VecEnv, make_vec

pytest.importorskip("ray.rllib", reason="Ray is optional")
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.wrappers.atari_wrappers import NormalizedImageEnv

from atari_wrappers.adapters.rllib import EnvCreator, register

NUM_ENVS = 2

# Where tests run on several processes: Ray takes seconds to start, and does so in one of them.
pytestmark = pytest.mark.xdist_group("ray")


class ThreeSteps(CarelessEnv):
    """Truncates each third step; observes `[steps taken, episode]`, and is paid 2.5 per step."""

    action_space = gym.spaces.Discrete(3)


gym.register("ThreeStepsOfRllib-v0", ThreeSteps)


def config(name: str, num_envs: int = NUM_ENVS) -> PPOConfig:
    """Return a small PPO on a registered env, its runner in this process."""
    return (
        PPOConfig()
        .environment(name)
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=num_envs,
            gym_env_vectorize_mode="vector_entry_point",
        )
        .learners(num_learners=0)
        .training(train_batch_size_per_learner=64, minibatch_size=64, num_epochs=1)
        .debugging(seed=0, log_level="ERROR")
    )


@pytest.fixture
def build(ray_session: None) -> Iterator[Callable[[PPOConfig], Any]]:
    """Build algorithms, and stop them after the test."""
    built: list[Any] = []

    def build_one(settings: PPOConfig) -> Any:
        built.append(settings.build_algo())
        return built[-1]

    yield build_one
    for algorithm in built:
        algorithm.stop()


@pytest.fixture
def sample(ray_session: None) -> Callable[..., list[SingleAgentEpisode]]:
    """Let an env runner play by chance."""

    def sample_steps(settings: PPOConfig, steps: int) -> list[SingleAgentEpisode]:
        runner = SingleAgentEnvRunner(config=settings)
        try:
            assert isinstance(runner.env.unwrapped, VecEnv)
            return runner.sample(num_timesteps=steps, random_actions=True)
        finally:
            runner.stop()

    return sample_steps


def test_ppo_learns_cartpole(build: Callable[[PPOConfig], Any]) -> None:
    settings = config(register("CartPole-v1"), num_envs=4)
    settings.training(train_batch_size_per_learner=1024, minibatch_size=128, num_epochs=10, lr=1e-3)
    algorithm = build(settings)
    assert isinstance(algorithm.env_runner.env.unwrapped, VecEnv)
    results = [algorithm.train()["env_runners"] for _ in range(6)]
    assert results[-1]["num_env_steps_sampled_lifetime"] >= 6 * 1024
    assert results[-1]["episode_return_mean"] > 60  # random play: 22


def test_ppo_trains_on_a_game(build: Callable[[PPOConfig], Any]) -> None:
    settings = config(register("PongNoFrameskip-v4"))
    network = DefaultModelConfig(conv_filters=[[8, 8, 4], [8, 4, 2]], head_fcnet_hiddens=[16])
    settings.rl_module(model_config=network)
    algorithm = build(settings)
    assert algorithm.env_runner.env.single_observation_space.shape == (84, 84, 4)
    before = algorithm.get_module().get_state()
    result = algorithm.train()
    assert result["env_runners"]["num_env_steps_sampled_lifetime"] >= 64
    after = algorithm.get_module().get_state()
    assert any((before[name] != after[name]).any() for name in before)


def test_runners_in_other_processes_make_batches_too(build: Callable[[PPOConfig], Any]) -> None:
    algorithm = build(config(register("CartPole-v1")).env_runners(num_env_runners=1))
    group = algorithm.env_runner_group
    kinds = group.foreach_env_runner(
        lambda runner: type(runner.env.unwrapped).__name__, local_env_runner=False
    )
    assert kinds == ["VecEnv"]
    assert algorithm.train()["env_runners"]["num_env_steps_sampled_lifetime"] >= 64


def test_episodes_hold_no_step_that_only_restarts(sample: Callable[..., Any]) -> None:
    episodes = sample(config(register("ThreeStepsOfRllib-v0")), 24)
    whole = [episode for episode in episodes if episode.is_done]
    assert len(whole) == 8
    for episode in whole:
        np.testing.assert_array_equal(episode.get_observations()[:, 0], [0, 1, 2, 3])
        assert len(set(episode.get_observations()[:, 1])) == 1
        assert episode.is_truncated
        assert not episode.is_terminated
        np.testing.assert_array_equal(episode.get_rewards(), [2.5] * 3)


def test_runners_see_the_games_observations_and_infos(sample: Callable[..., Any]) -> None:
    [episode] = sample(config(register("PongNoFrameskip-v4", noop_max=0), num_envs=1), 20)
    obs, actions = episode.get_observations(), episode.get_actions()
    env = make_vec("PongNoFrameskip-v4", 1, noop_max=0)
    env.reset(seed=0)
    for step, action in enumerate(actions):
        expected, reward, *_, info = env.step([int(action)])
        images = NormalizedImageEnv.observation(None, np.moveaxis(expected[0], 0, -1))
        np.testing.assert_array_equal(obs[step + 1], images)
        assert episode.get_rewards(step) == reward[0]
        assert episode.get_infos(step + 1)["lives"] == info["lives"][0]
        assert episode.get_infos(step + 1)["episode_length"] == step + 1
    env.close()


def test_a_creator_makes_a_batch_or_one_env() -> None:
    creator = pickle.loads(pickle.dumps(EnvCreator("PongNoFrameskip-v4", {"preset": "ale"})))
    envs = creator({"num_envs": 3, "frame_stack": 2})
    assert (envs.num_envs, envs.unwrapped.settings.preset) == (3, "ale")
    assert envs.observation_space.shape == (3, 84, 84, 2)
    assert envs.reset(seed=0)[0].shape == (3, 84, 84, 2)
    envs.close()
    with pytest.raises(TypeError, match="did you mean frame_stack"):
        creator({"frame_stak": 2})
    creator({"num_envs": 2, "render_mode": "rgb_array"}).close()
    env = creator({"render_mode": "rgb_array"})
    assert env.reset(seed=0)[0].shape == env.observation_space.shape == (84, 84, 4)
    env.close()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"autoreset": "same-step"}, 'autoreset="next-step"'),
        ({"autoreset": "disabled"}, 'autoreset="next-step"'),
        ({"obs_buffers": 2}, "obs_buffers"),
        ({"batch_size": 1}, "batch_size"),
        ({"num_players": 2}, "num_players"),
        ({"channels_last": True}, "channels_last"),
    ],
)
def test_batches_that_runners_would_get_wrong_are_refused(
    settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(UnsupportedError, match=says):
        register("PongNoFrameskip-v4", **settings)
    with pytest.raises(UnsupportedError, match=says):
        EnvCreator("PongNoFrameskip-v4", {})({"num_envs": 2, **settings})
