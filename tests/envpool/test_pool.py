"""What pools refuse, in whose words; ids, settings, the older forms, pictures."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import envpool as theirs
import gymnasium as gym
import numpy as np
import pytest

from atari_wrappers import (
    PendingStepError,
    ResetNeededError,
    UnknownEnvError,
    UnsupportedError,
)
from atari_wrappers import envpool as ours
from atari_wrappers.envpool import old_gym
from atari_wrappers.envpool.config import Config, ConfigKeywords

OpenPair = Callable[..., Any]


def test_ids_and_settings_are_envpools() -> None:
    specs = theirs.registration.registry.specs
    ids = [name for name, (module, *_) in specs.items() if module == "envpool.atari"]
    assert ours.list_all_envs() == ids
    spec, other = ours.make_spec("Qbert-v5", num_envs=3), theirs.make_spec("Qbert-v5", num_envs=3)
    expected = other.config._asdict()
    del expected["base_path"]
    # 1 there, though it makes batches of all envs.
    expected["batch_size"] = 3
    assert spec.config._asdict() == expected
    assert tuple(spec.config._fields) == tuple(expected)
    assert spec.action_space == other.action_space
    assert spec.observation_space == other.observation_space
    for name in ("state_array_spec", "action_array_spec"):
        mine, yours = getattr(spec, name), getattr(other, name)
        assert list(mine) == list(yours)
        for key, array in mine.items():
            assert (list(array.shape), array.dtype) == (list(yours[key].shape), yours[key].dtype)
            assert (array.minimum, array.maximum) == (yours[key].minimum, yours[key].maximum), key


def test_keywords_are_the_settings() -> None:
    render = {"render_mode", "render_env_id"}
    assert ConfigKeywords.__annotations__.keys() == {*Config._fields} - {"task"} | render
    for name in Config._fields:
        assert f"    {name}: " in (Config.__doc__ or ""), name


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"task_id": "Pnog-v5"}, UnknownEnvError, "no Atari game .* `Pnog-v5`; did you mean `Pong"),
        ({"task_id": "CartPole-v1"}, UnknownEnvError, "list_all_envs"),
        ({"env_type": "jax"}, ValueError, "env_type must be one of dm, gym, gymnasium, not 'jax'"),
        ({"stack": 2}, TypeError, "no setting stack; did you mean stack_num?"),
        ({"num_envs": 0}, ValueError, "num_envs must be at least 1, not 0"),
        ({"num_envs": "2"}, TypeError, "num_envs must be an integer, not '2'"),
        ({"num_envs": 2, "batch_size": 3}, ValueError, r"at most num_envs \(2\), not 3"),
        ({"seed": -1}, ValueError, "seed -1 lies outside"),
        ({"seed": [1, 2]}, ValueError, "2 seeds for 1 envs"),
        ({"seed": [1], "env_seed": [2]}, ValueError, "not both"),
        ({"repeat_action_probability": 2.0}, ValueError, "repeat_action_probability must lie in"),
        ({"reward_clip": 1}, TypeError, "reward_clip must be True or False, not 1"),
        ({"gym_reset_return_info": False}, UnsupportedError, "import old_gym"),
        ({"render_mode": "human"}, UnsupportedError, "there is no window"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    call = {"task_id": "Pong-v5", "env_type": "gym"} | settings
    with pytest.raises(error, match=message):
        ours.make(**call)


def test_settings_without_effect_bring_a_warning() -> None:
    with pytest.warns(UserWarning, match="thread_affinity_offset has no effect") as told:
        pool = ours.make_gymnasium("Pong-v5", thread_affinity_offset=0, max_num_players=2)
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="reset.seed=.* does nothing"):
        pool.reset(seed=3)
    with pytest.warns(UserWarning, match="give seeds to envpool.make"):
        pool.seed(3)
    with pytest.raises(UnsupportedError, match="JAX"):
        pool.xla()
    with pytest.raises(ValueError, match="reset_mask as its only option"):
        pool.reset(options={"new_game": True})
    pool.close()
    pool.close()


def test_an_action_out_of_range_is_refused_and_moves_nothing() -> None:
    pool = ours.make_gym("Pong-v5", num_envs=2)
    pool.reset()
    with pytest.raises(ValueError, match="action 6 of env 1 is outside of the valid range 0 to 5"):
        pool.step(np.array([0, 6]))
    assert pool.step(np.array([0, 0]))[4]["elapsed_step"].tolist() == [1, 1]
    pool.close()


def test_numbers_of_more_bits_are_not_cut() -> None:
    pool = ours.make_gym("Pong-v5", num_envs=2)
    pool.reset()
    with pytest.raises(ValueError, match="action 4294967296 of env 0"):
        pool.step(np.array([2**32, 2**32 + 2]))
    pool.close()


def test_infos_are_copied_as_dicts(open_pair: OpenPair) -> None:
    mine, other = open_pair("Pong-v5", "gymnasium", num_envs=2)
    for pool in mine, other:
        pool.reset()
    info, theirs = (pool.step(np.zeros(2, int))[-1] for pool in (mine, other))
    for kept in copy.deepcopy(info), pickle.loads(pickle.dumps(info)):
        assert type(kept) is dict
        assert kept.keys() == theirs.keys()
        np.testing.assert_array_equal(kept["ram"], theirs["ram"])
    *_, late = mine.step(np.zeros(2, int))
    mine.step(np.zeros(2, int))
    assert "ram" not in copy.copy(late)


def test_a_dm_pool_that_refuses_a_call_goes_on_as_before() -> None:
    pool = ours.make_dm("Pong-v5", num_envs=3)
    pool.reset()
    pool.step(np.zeros(3, int))
    pool.send(np.zeros(3, int))
    with pytest.raises(PendingStepError):
        pool.async_reset()
    with pytest.raises(PendingStepError):
        pool.reset(np.array([0]))
    assert pool.recv().step_type.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="env_id"):
        pool.reset(np.array([3]))
    assert pool.step(np.zeros(3, int)).step_type.tolist() == [1, 1, 1]
    assert pool.reset(np.array([1])).step_type.tolist() == [0]
    pool.close()


def test_a_first_call_of_some_envs_is_refused_and_begins_nothing(open_pair: OpenPair) -> None:
    """EnvPool resets these, and each other one by its own first call."""
    mine, other = open_pair("Pong-v5", "gym", num_envs=2)
    some, action = np.array([1]), np.array([0])
    for call in (lambda pool: pool.step(action, some), lambda pool: pool.reset(some)):
        assert call(other)[-1]["env_id"].tolist() == [1]
        with pytest.raises(ResetNeededError):
            call(mine)
    assert mine.step(np.array([0, 0]))[-1]["elapsed_step"].tolist() == [0, 0]


def test_the_memory_of_the_console_is_that_of_the_step() -> None:
    pool = ours.make_gym("Pong-v5", num_envs=2)
    _, info = pool.reset()
    assert "ram" in info
    assert info.get("ram").shape == info["ram"].shape == (2, 128)
    *_, info = pool.step(np.zeros(2, int))
    pool.step(np.zeros(2, int))
    with pytest.raises(KeyError, match="read it before the next step"):
        info["ram"]
    pool.close()


def test_pictures_are_envpools(open_pair: OpenPair) -> None:
    mine, other = open_pair("Pong-v5", "gym", num_envs=2, render_mode="rgb_array", render_env_id=1)
    mine.reset(), other.reset()
    np.testing.assert_array_equal(mine.render(), other.render())
    np.testing.assert_array_equal(mine.render([1, 0]), other.render([1, 0]))
    bare = ours.make_gym("Pong-v5")
    with pytest.raises(RuntimeError, match="render_mode"):
        bare.render()
    bare.close()


def test_a_pool_is_gymnasiums_twice_over(open_pair: OpenPair) -> None:
    """As EnvPool's: wrappers of single envs take it, and those of batches."""
    for pool in open_pair("Pong-v5", "gymnasium", num_envs=2):
        assert isinstance(pool, gym.Env)
        assert isinstance(pool, gym.vector.VectorEnv)
        assert (len(pool), pool.is_async, pool.unwrapped) == (2, False, pool)
        assert pool.all_env_ids.tolist() == [0, 1]
        assert pool.config["num_envs"] == pool.spec.config.num_envs == 2
        assert "num_envs=2" in str(pool)
        assert pool.metadata["autoreset_mode"] == gym.vector.AutoresetMode.NEXT_STEP

        class Wrapper(gym.Wrapper):
            def step(self, action: Any) -> Any:
                return super().step(action)

        wrapped = Wrapper(pool)
        wrapped.reset()
        assert wrapped.step(np.zeros(2, int))[0].shape == (2, 4, 84, 84)


def test_the_forms_of_older_versions() -> None:
    pool = old_gym.make("Pong-v5", env_type="gym", num_envs=2, max_episode_steps=3, seed=1)
    new = ours.make("Pong-v5", env_type="gym", num_envs=2, max_episode_steps=3, seed=1)
    # Scripts of that time set these by themselves.
    pool.num_envs, pool.single_action_space = 2, pool.action_space
    np.testing.assert_array_equal(pool.reset(), new.reset()[0])
    for step in range(4):
        obs, reward, done, info = pool.step(np.zeros(2, int))
        expected = new.step(np.zeros(2, int))
        np.testing.assert_array_equal(obs, expected[0])
        assert (reward.dtype, done.dtype) == (np.float32, bool)
        assert done.tolist() == info["TimeLimit.truncated"].tolist() == [step == 2] * 2
    obs, info = old_gym.make_gym("Pong-v5", gym_reset_return_info=True).reset()
    assert (obs.shape, info["lives"].tolist()) == ((1, 4, 84, 84), [0])
    with pytest.raises(ValueError, match="env_type must be one of gym"):
        old_gym.make("Pong-v5", env_type="dm")
    pool.close()
    new.close()


def test_nothing_warns_in_ordinary_use() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pool = ours.make("Pong-v5", "gym", num_envs=2, num_threads=1, batch_size=1)
        pool.async_reset()
        pool.send(np.zeros(1, int), pool.recv()[-1]["env_id"])
        pool.close()
