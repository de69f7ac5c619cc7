"""Restarts of a batch: by itself, by hand, of all envs and of some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backends import BACKENDS, HOSTED, PARTS, TWIN
from trajectory import same, trajectory

from atari_wrappers import ResetNeededError, VecEnv, WorkerError

GAME = "SpaceInvadersNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]


@pytest.mark.parametrize("backend", ["ale", "native", "sync"])
def test_reset_starts_a_new_game_even_after_a_lost_life(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec("BreakoutNoFrameskip-v4", 1, backend=backend, noop_max=0)
    _, info = vec.reset(seed=0)
    while info["lives"][0] == 5:
        info = vec.step([0 if backend == "ale" else 1])[4]
    assert vec.reset()[1]["lives"][0] == 5


@pytest.mark.parametrize("backend", HOSTED)
def test_next_step_restarts_one_step_later(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Careless-v0", 2, backend=backend, autoreset="next-step")
    vec.reset()
    results = [vec.step([5, 5]) for _ in range(7)]
    assert [result[0][0].tolist() for result in results[2:4]] == [[3, 1], [0, 2]]
    assert [result[3][0] for result in results] == [False, False, True, False, False, False, True]
    assert [float(result[4]["raw_reward"][0]) for result in results[2:5]] == [2.5, 0, 2.5]
    assert [float(result[1][0]) for result in results[2:5]] == [2.5, 0, 2.5]
    assert all("final_obs" not in result[4] for result in results)
    assert [result[4]["episode"]["l"].tolist() for result in results if "episode" in result[4]] == [
        [3, 3],
        [3, 3],
    ]


@pytest.mark.parametrize("backend", PARTS)
def test_masked_reset_after_a_lost_life_continues_the_game(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec("BreakoutNoFrameskip-v4", 2, backend=backend, autoreset="disabled", noop_max=0)
    vec.reset(seed=0)
    terminated = np.zeros(2, bool)
    while not terminated.any():
        _, _, terminated, _, info = vec.step([0, 0])
    _, info = vec.reset(options={"reset_mask": terminated})
    assert info["lives"].min() == 4


def test_options_that_mean_nothing_are_refused(open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend="ale")
    with pytest.raises(ValueError, match=r"takes no reset options, not \['mode'\]"):
        vec.reset(options={"mode": 1})
    vec.reset()  # a mistake in a call closes nothing
    vec = open_vec(GAME, 2, backend="sync")
    vec.reset(seed=0, options={"new_game": True})
    with pytest.raises(ValueError, match="no option 'reset_maks'; there are"):
        vec.reset(options={"reset_maks": np.array([True, False])})
    assert vec.step([0, 0])[4]["episode_length"].tolist() == [1, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_masks_that_name_no_env_are_refused(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 3, backend=backend)
    vec.reset(seed=0)
    masks = {ValueError: [[True], [False] * 3, [[True]] * 3], TypeError: [[1, 0, 1], "all"]}
    for error, bad in masks.items():
        for mask in bad:
            for call in ({"mask": mask}, {"options": {"reset_mask": mask}}):
                with pytest.raises(
                    error, match=r"a reset mask must be bool \[3\] with at least one"
                ):
                    vec.reset(**call)
    vec.step([0, 0, 0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_partial_reset_restarts_the_envs_named_and_no_other(
    backend: str, open_vec: OpenVec
) -> None:
    vec, twin = (open_vec(GAME, 3, backend=name, sticky_actions=0.25) for name in (backend, TWIN))
    for env in (vec, twin):
        trajectory(env, 5, steps=20)
    obs, info = vec.reset(seed=[77, None, 78], mask=np.array([True, False, True]))
    before = twin.step([0, 0, 0])
    assert info["episode_length"].tolist() == [0, 20, 0]
    first = twin.reset(seed=[77, 1, 78])[0]
    np.testing.assert_array_equal(obs[[0, 2]], first[[0, 2]])
    after = vec.step([0, 0, 0])
    np.testing.assert_array_equal(after[0][1], before[0][1])
    assert after[4]["episode_frames"][1] == before[4]["episode_frames"][1]
    assert after[4]["episode_length"].tolist() == [1, 21, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_reset_at_is_a_partial_reset_of_one(backend: str, open_vec: OpenVec) -> None:
    vec, twin = (open_vec(GAME, 3, backend=name) for name in (backend, TWIN))
    for env in (vec, twin):
        trajectory(env, 5, steps=20)
    obs, info = vec.reset_at(1, seed=9)
    whole, infos = twin.reset(seed=[None, 9, None], mask=np.array([False, True, False]))
    np.testing.assert_array_equal(obs, whole[1])
    assert info == {name: infos[name][1] for name in info}
    assert (info["lives"], info["episode_length"]) == (3, 0)
    bad = [(3, ValueError), (-1, ValueError)]
    bad += [(index, TypeError) for index in (0.5, "1", None, [0], True)]
    for index, error in bad:
        for call in (vec.reset_at, vec.render_at):
            with pytest.raises(error, match="index"):
                call(index)
    assert same(vec.step([0, 1, 2])[:4], twin.step([0, 1, 2])[:4])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_partial_reset_needs_a_whole_one_before(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    with pytest.raises(ResetNeededError, match="first reset must be of all"):
        vec.reset_at(0)


@pytest.mark.parametrize("backend", HOSTED)
def test_a_reset_of_some_envs_says_all_that_they_say(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Trouble-v0", 3, backend=backend)
    vec.reset(seed=0)
    vec.set_attr("at_reset", "raise", indices=1)
    mask = np.array([True, True, False])
    with pytest.raises(WorkerError, match="env 1 raised"):
        vec.reset(mask=mask, seed=[7, 8, None])
    vec.restart_workers()
    obs, info = vec.reset_wait()
    assert obs.shape == (3, 2)
    assert info["env_id"].tolist() == [0, 1, 2]
    assert info["worker_restarted"].tolist() == [False, True, False]
    assert info["_roll"].tolist() == [True, True, False]
    assert info["roll"][:2].tolist() == obs[:2, 1].tolist()


def test_each_env_gets_its_own_reset_options(open_vec: OpenVec, monkeypatch: Any) -> None:
    vec = open_vec("scripted:Dice-v0", 2, backend="sync")
    taken = []
    for env in vec.get_sub_environments():
        reset = env.reset

        def take(*, seed: Any, options: dict, reset: Any = reset) -> Any:
            taken.append(options.pop("level"))
            return reset(seed=seed, options=options)

        monkeypatch.setattr(env, "reset", take)
    vec.reset(options={"level": 3})
    assert taken == [3, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_options_and_masks_are_checked(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    vec.reset()
    mask = np.array([True, False])
    with pytest.raises(TypeError, match="options must be a dict, not 5"):
        vec.reset(options=5)
    with pytest.raises(ValueError, match="a mask is given twice"):
        vec.reset(mask=mask, options={"reset_mask": mask})


@pytest.mark.trainer
def test_a_mask_may_be_a_tensor(open_vec: OpenVec) -> None:
    import torch

    vec = open_vec(GAME, 2, backend="sync")
    vec.reset()
    vec.step([0, 0])
    info = vec.reset(mask=torch.tensor([True, False]))[1]
    assert info["episode_length"].tolist() == [0, 1]
