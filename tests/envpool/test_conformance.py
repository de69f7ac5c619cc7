"""Pools play EnvPool's games: observations, rewards, ends and infos, over whole games."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

OpenPair = Callable[..., Any]
TRAINING = {"episodic_life": True, "reward_clip": True}


def assert_alike(ours: Any, theirs: Any, place: str) -> None:
    """Compare two results, keys and dtypes included."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours[:-1], theirs[:-1], strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_array_equal(mine, other, place)
    info = ours[-1]
    info["ram"]  # is read when it is asked for
    assert info.keys() == theirs[-1].keys()
    for name, other in theirs[-1].items():
        mine = info[name]
        if name == "players":
            mine, other = mine["env_id"], other["env_id"]
        assert mine.dtype == other.dtype, name
        np.testing.assert_array_equal(mine, other, f"{name} {place}")


def play(pair: Any, steps: int, seed: int = 0) -> Counter[str]:
    """Play both with the same actions; return how often episodes and games ended."""
    assert pair.ours.action_space == pair.theirs.action_space
    assert pair.ours.observation_space == pair.theirs.observation_space
    rng, seen = np.random.default_rng(seed), Counter()
    assert_alike(pair.ours.reset(), pair.theirs.reset(), "at the reset")
    for step in range(steps):
        actions = rng.integers(pair.ours.action_space.n, size=pair.ours.num_envs)
        result = pair.ours.step(actions)
        assert_alike(result, pair.theirs.step(actions), f"at step {step}")
        seen["terminated"] += int(result[2].sum())
        seen["truncated"] += int(result[3].sum())
        seen["games"] += int(result[4]["terminated"].sum())
        seen["points"] += int((result[4]["reward"] != 0).sum())
    return seen


# Other games of one environment, `conformance/test_envpool.py` compares.
def test_whole_games(open_pair: OpenPair) -> None:
    seen = play(open_pair("Breakout-v5", "gymnasium", num_envs=3, seed=7), 300)
    assert seen["games"] >= 1
    assert seen["points"] >= 3


def test_as_agents_are_trained(open_pair: OpenPair) -> None:
    seen = play(open_pair("Breakout-v5", "gym", num_envs=2, seed=7, **TRAINING), 250)
    assert seen["games"] >= 1
    assert seen["terminated"] > seen["games"], "lost lives"


@pytest.mark.parametrize(
    "settings",
    [
        {"gray_scale": False, "stack_num": 2, "seed": [5, 1, 9]},
        {"img_height": 70, "img_width": 50, "stack_num": 1, "difficulty": 1, "mode": 4},
        {"use_inter_area_resize": False, "gray_scale": False, "img_height": 100}
        | {"noop_max": 5, "use_fire_reset": False},
        {"use_inter_area_resize": False, "stack_num": 1, "env_seed": [5, 1, 9]}
        | {"zero_discount_on_life_loss": True, "max_num_players": 1},
        {"frame_skip": 2, "max_episode_steps": 40, "full_action_space": True}
        | {"repeat_action_probability": 0.4},
    ],
)
def test_settings(settings: dict[str, Any], open_pair: OpenPair) -> None:
    seen = play(open_pair("Breakout-v5", "gym", num_envs=3, **TRAINING, **settings), 70)
    assert seen["truncated"] >= ("max_episode_steps" in settings)
    assert seen["terminated"] >= ("frame_skip" not in settings)


def test_pools_seeded_by_numpy_arrays_are_the_same(open_pair: OpenPair) -> None:
    play(open_pair("Pong-v5", "gym", num_envs=2, seed=np.array([3, 8])), 20)


def test_resets_steps_and_parts_of_a_batch(open_pair: OpenPair) -> None:
    ours, theirs = open_pair("Breakout-v5", "gym", num_envs=4, seed=1, **TRAINING)
    assert_alike(ours.step(np.zeros(4, int)), theirs.step(np.zeros(4, int)), "before a reset")
    rng = np.random.default_rng(0)
    for turn in range(60):
        ids = rng.permutation(4)[: rng.integers(1, 5)]
        actions = rng.integers(4, size=len(ids))
        assert_alike(ours.step(actions, ids), theirs.step(actions, ids), f"some, turn {turn}")
        if turn % 13 == 12:
            assert_alike(ours.reset(ids), theirs.reset(ids), "a reset of some")
    mask = {"reset_mask": np.array([False, True, True, False])}
    assert_alike(ours.reset(options=mask), theirs.reset(options=mask), "by mask")
    action = {"action": np.array([1, 2], np.int32), "env_id": np.array([3, 0], np.int32)}
    assert_alike(ours.step(action), theirs.step(dict(action)), "by a dict")
    for pool in (ours, theirs):
        pool.async_reset()
    assert_alike(ours.recv(), theirs.recv(), "a reset as a step")
    for pool in (ours, theirs):
        pool.async_reset()
    assert_alike(ours.recv(reset=True), theirs.recv(reset=True), "a reset in two")


@pytest.mark.parametrize("as_dict", [False, True])
def test_the_first_step_of_all_envs_resets_them_in_any_order(
    as_dict: bool, open_pair: OpenPair
) -> None:
    pair = open_pair("Breakout-v5", "gym", num_envs=3, seed=[5, 1, 9], **TRAINING)
    for step in range(8):
        ids = np.roll(np.arange(3, dtype=np.int32), step + 1)
        action = np.array([1, 2, 3], np.int32)
        call = ({"action": action, "env_id": ids},) if as_dict else (action, ids)
        assert_alike(pair.ours.step(*call), pair.theirs.step(*call), f"at step {step}")


def test_parts_of_a_pool_play_the_same_games(open_pair: OpenPair) -> None:
    """Who is ready first is chance; what an env shows at its own n-th step is not."""
    histories = []
    for pool in open_pair("Breakout-v5", "gym", num_envs=5, batch_size=2, seed=4, **TRAINING):
        assert pool.is_async
        seen: dict[int, list[Any]] = {env: [] for env in range(5)}
        pool.async_reset()
        while min(map(len, seen.values())) < 60:
            obs, reward, terminated, truncated, info = pool.recv()
            ids = info["env_id"]
            assert (len(ids), obs.shape) == (2, (2, 4, 84, 84))
            for row, env in enumerate(ids.tolist()):
                values = (reward, terminated, truncated, info["lives"], info["elapsed_step"])
                seen[env].append((obs[row].tobytes(), *(value[row] for value in values)))
            pool.send(np.array([len(seen[env]) % 4 for env in ids.tolist()]), ids)
        histories.append({env: rows[:60] for env, rows in seen.items()})
    assert histories[0] == histories[1]
    assert any(row[2] for rows in histories[0].values() for row in rows)


@pytest.mark.parametrize("on_loss", [False, True])
@pytest.mark.parametrize("lives", [False, True])
def test_the_dm_interface(lives: bool, on_loss: bool, open_pair: OpenPair) -> None:
    settings = {"episodic_life": lives, "zero_discount_on_life_loss": on_loss}
    ours, theirs = open_pair(
        "Breakout-v5", "dm", num_envs=2, seed=5, max_episode_steps=40, **settings
    )
    assert ours.action_spec() == theirs.action_spec() == ours.spec.action_spec()
    assert ours.observation_spec() == ours.spec.observation_spec()
    for name in ("env_id", "obs", "lives", "reward", "terminated"):
        spec, other = (getattr(pool.observation_spec(), name) for pool in (ours, theirs))
        assert spec == other, name
    steps, discounts = Counter(), Counter()
    for step in range(250):
        if step % 90 == 0:
            mine, other = ours.reset(), theirs.reset()
        else:
            actions = np.array([step % 4, step // 2 % 4])
            mine, other = ours.step(actions), theirs.step(actions)
        for name in ("step_type", "reward", "discount"):
            array = getattr(mine, name)
            assert array.dtype == getattr(other, name).dtype
            np.testing.assert_array_equal(array, getattr(other, name), f"{name} at {step}")
        for name in ("env_id", "obs", "lives", "reward", "terminated"):
            np.testing.assert_array_equal(
                getattr(mine.observation, name), getattr(other.observation, name), name
            )
        steps.update(mine.step_type.tolist())
        discounts.update(mine.discount.tolist())
    assert min(steps[0], steps[1], steps[2]) >= 3
    assert (discounts[0.0] > steps[2]) == (on_loss and not lives)
