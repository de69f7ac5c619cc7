"""Looking into the envs of a batch: pictures, attributes, saved states."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from backends import BACKENDS, HOSTED, OPEN, PARTS, TWIN

from atari_wrappers import (
    ClosedError,
    PendingStepError,
    ResetNeededError,
    UnsupportedError,
    VecEnv,
)
from atari_wrappers.plain_data import pack, unpack

GAME = "SpaceInvadersNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]


def play(vec: VecEnv, steps: int, seed: int = 0) -> list[tuple]:
    rng = np.random.default_rng(seed)
    return [vec.step(rng.integers(6, size=vec.num_envs)) for _ in range(steps)]


def assert_same(left: list[tuple], right: list[tuple]) -> None:
    for mine, other in zip(left, right, strict=True):
        for one, two in zip(mine[:4], other[:4], strict=True):
            np.testing.assert_array_equal(one, two)
        assert mine[4].keys() == other[4].keys()
        for name in ("raw_reward", "lives", "episode_return", "episode_length", "episode_frames"):
            np.testing.assert_array_equal(mine[4][name], other[4][name], name)


@pytest.mark.parametrize("backend", OPEN)
def test_render_is_the_emulators_screen(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 3, backend=backend)
    vec.reset(seed=0)
    play(vec, 10)
    frames = vec.render()
    assert [(frame.shape, frame.dtype) for frame in frames] == [((210, 160, 3), np.uint8)] * 3
    for index in range(3):
        np.testing.assert_array_equal(vec.render_at(index), frames[index])
        if backend != "async":  # whose interface is in another process
            screen = vec.get_attr("ale")[index].getScreenRGB()
            np.testing.assert_array_equal(frames[index], screen)
    tiles = vec.render_tiles()
    assert tiles.dtype == np.uint8
    np.testing.assert_array_equal(tiles[:210, :160], frames[0])


def test_ale_renders_the_newest_observed_frame(open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend="ale")
    obs, _ = vec.reset(seed=0)
    np.testing.assert_array_equal(vec.render_at(1), np.stack([obs[1, -1]] * 3, axis=-1))
    obs = vec.step([0, 0])[0]
    frames = vec.render()
    np.testing.assert_array_equal(frames[0], np.stack([obs[0, -1]] * 3, axis=-1))
    assert vec.render_tiles().shape[2] == 3


@pytest.mark.parametrize("backend", HOSTED)
def test_envs_that_draw_nothing_say_so(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Careless-v0", 2, backend=backend)
    vec.reset()
    for call in (vec.render, vec.render_tiles, lambda: vec.render_at(0)):
        with pytest.raises(UnsupportedError, match="have no render mode rgb_array"):
            call()


@pytest.mark.parametrize("backend", OPEN)
def test_attributes_are_read_called_and_set(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 3, backend=backend)
    vec.reset(seed=0)
    meanings = vec.call("get_action_meanings")
    assert meanings == (["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"],) * 3
    assert vec.get_attr("action_space") == (gym.spaces.Discrete(6),) * 3
    vec.set_attr("colour", ["red", "green", "blue"])
    assert vec.get_attr("colour") == ("red", "green", "blue")
    vec.set_attr("colour", "grey", indices=[0, 2])
    assert vec.get_attr("colour", indices=1) == ("green",)
    assert vec.get_attr("colour", indices=[2, 1]) == ("grey", "green")
    with pytest.raises(AttributeError, match="no_such_thing"):
        vec.get_attr("no_such_thing")
    with pytest.raises(ValueError, match="2 values of colour for 3 envs"):
        vec.set_attr("colour", ["red", "green"])
    assert vec.get_attr("colour", indices=1) == ("green",), "a mistake closes nothing"


@pytest.mark.parametrize("backend", OPEN)
def test_sub_environments_can_be_asked_alone(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    vec.reset(seed=0)
    first, second = vec.get_sub_environments()
    np.testing.assert_array_equal(second.render(), vec.render_at(1))
    assert first.get_action_meanings()[1] == "FIRE"
    assert first.action_space == vec.single_action_space


@pytest.mark.parametrize("backend", PARTS)
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_restored_envs_replay_identically(backend: str, autoreset: str, open_vec: OpenVec) -> None:
    settings = {
        "backend": backend,
        "autoreset": autoreset,
        "sticky_actions": 0.25,
        "max_episode_frames": 400,
    }
    vec = open_vec(GAME, 3, **settings)
    vec.reset(seed=0)
    play(vec, 57)
    states = vec.save_state()
    played = play(vec, 70, seed=1)
    assert any("episode" in result[4] for result in played)
    obs, info = vec.restore_state(states)
    assert info["episode_length"].max() > 0
    assert_same(played, play(vec, 70, seed=1))
    other = open_vec(GAME, 3, **settings)
    other.reset()
    np.testing.assert_array_equal(other.restore_state(states)[0], obs)
    assert_same(played, play(other, 70, seed=1))


@pytest.mark.parametrize("backend", PARTS)
def test_one_env_is_restored_while_the_others_go_on(backend: str, open_vec: OpenVec) -> None:
    vec, twin = (open_vec(GAME, 3, backend=name) for name in (backend, TWIN))
    vec.reset(seed=0)
    twin.reset(seed=0)
    before = vec.step([1, 1, 1])
    twin.step([1, 1, 1])
    [state] = vec.save_state(1)
    assert_same([vec.step([2, 3, 4])], [twin.step([2, 3, 4])])
    obs, info = vec.restore_state([state], indices=1)
    np.testing.assert_array_equal(obs[1], before[0][1])
    assert info["episode_length"].tolist() == [2, 1, 2]
    mine, other = vec.step([0, 0, 0]), twin.step([0, 0, 0])
    np.testing.assert_array_equal(mine[0][[0, 2]], other[0][[0, 2]])
    for wrong in ([], [state, state]):
        with pytest.raises(ValueError, match="states for 1 envs"):
            vec.restore_state(wrong, indices=1)


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_states_of_something_else_are_refused(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 1, backend=backend)
    vec.reset()
    others = [
        ("PongNoFrameskip-v4", {}, "game='space_invaders' instead of 'pong'$"),
        (GAME, {"frame_stack": 2}, "game: frame_stack=4 instead of 2$"),
        ("CartPole-v1", {"backend": "sync"}, "not the state of a"),
    ]
    if backend == "sync":
        others += [(GAME, {"num_players": 2}, "game: num_players=1 instead of 2, mode=")]
    others += [
        (GAME, {"backend": other}, 'not the state of .*"native"')
        for other in ("native", "sync")
        if other != backend
    ]
    [state] = vec.save_state()
    for env_id, settings, message in others:
        other = open_vec(env_id, 1, **{"backend": backend} | settings)
        other.reset()
        with pytest.raises(ValueError, match=message):
            other.restore_state(state)


@pytest.mark.parametrize("backend", HOSTED)
def test_what_is_no_state_is_refused(backend: str, open_vec: OpenVec) -> None:
    with pytest.raises(ResetNeededError, match="save_state: call reset first"):
        open_vec("CartPole-v1", 1, backend=backend).save_state()
    vec = open_vec("CartPole-v1", 2, backend=backend)
    with pytest.raises(ResetNeededError, match="restore_state: call reset first"):
        vec.restore_state([b"", b""])
    vec.reset(seed=0)
    for bad in (b"", b"nothing", None):
        with pytest.raises(ValueError, match="this is not what save_state returned"):
            vec.restore_state([bad], indices=1)
    vec.step([0, 0])


@pytest.mark.parametrize(
    ("backend", "env_id"),
    [*((name, GAME) for name in OPEN), *((name, "CartPole-v1") for name in HOSTED)],
)
def test_all_envs_are_restored_or_none(backend: str, env_id: str, open_vec: OpenVec) -> None:
    vec = open_vec(env_id, 2, backend=backend)
    vec.reset(seed=0)
    good = vec.save_state()
    other = open_vec("Acrobot-v1", 1, backend="sync")
    other.reset(seed=0)
    [foreign] = other.save_state()
    damaged = good[1][:-200] + bytes(200)
    newer = pack("env", 2, {})
    before = vec.step([1, 1])
    bad = {
        foreign: r"not the state of a .*(instead of|another)",
        damaged: "not what save_state returned",
    }
    bad[newer] = "version=2 instead of 1"
    for state, message in bad.items():
        with pytest.raises(ValueError, match=message):
            vec.restore_state([good[0], state])
    obs, info = vec.restore_state(vec.save_state())
    np.testing.assert_array_equal(obs, before[0])
    assert info["episode_length"].tolist() == [1, 1]
    assert vec.restore_state(good)[1]["episode_length"].tolist() == [0, 0]


@pytest.mark.parametrize("backend", HOSTED)
def test_a_state_that_is_refused_is_named_with_its_env(backend: str, open_vec: OpenVec) -> None:
    vec, other = (open_vec(name, 2, backend=backend) for name in ("CartPole-v1", "Acrobot-v1"))
    vec.reset()
    other.reset()
    good = vec.save_state()
    bad = {
        3: "this is no state of an env, but an int",
        other.save_state()[1]: r"not the state of a CartPole-v1: env='Acrobot-v1' instead of \S+$",
    }
    for state, message in bad.items():
        with pytest.raises(ValueError, match=f"^env 1: .*{message}"):
            vec.restore_state([good[0], state])
        with pytest.raises(ValueError, match=f"^env 0: .*{message}"):
            vec.restore_state([state, good[1]])
    for states in (None, "ab", 7):
        with pytest.raises(TypeError, match=f"states must be a list of bytes, .* not {states!r}"):
            vec.restore_state(states)


@pytest.mark.parametrize("settings", [{"max_episode_steps": 9}, {"clip_reward": True}])
def test_a_state_says_how_its_env_was_made(settings: dict, open_vec: OpenVec) -> None:
    vec, other = (open_vec("CartPole-v1", 1, backend="sync", **more) for more in ({}, settings))
    vec.reset(seed=0)
    other.reset(seed=0)
    with pytest.raises(ValueError, match=r"not the state of a .*: \w+="):
        other.restore_state(vec.save_state())


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_an_ended_env_is_none_of_same_step_mode(backend: str, open_vec: OpenVec) -> None:
    limit = {"backend": backend, "max_episode_frames": 8}
    vec = open_vec(GAME, 1, autoreset="disabled", **limit)
    vec.reset()
    while not vec.step([0])[3][0]:
        pass
    same_step = open_vec(GAME, 1, **limit)
    same_step.reset()
    with pytest.raises(ValueError, match=r"an ended (env|episode), which same-step mode has not"):
        same_step.restore_state(vec.save_state())


@pytest.mark.parametrize("backend", HOSTED)
def test_other_ids_are_saved_too(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec("CartPole-v1", 2, backend=backend)
    vec.reset(seed=0)
    vec.step([0, 1])
    states = vec.save_state()
    played = [vec.step([1, 1]) for _ in range(30)]
    vec.restore_state(states)
    assert_same(played, [vec.step([1, 1]) for _ in range(30)])


@pytest.mark.parametrize("env_id", [GAME, "CartPole-v1"])
def test_states_move_between_this_process_and_others(env_id: str, open_vec: OpenVec) -> None:
    batches = [open_vec(env_id, 2, backend=backend) for backend in HOSTED]
    for seed, (vec, other) in enumerate((batches, batches[::-1])):
        vec.reset(seed=seed)
        other.reset(seed=9)
        seen = [vec.step([seed, 1]) for _ in range(5)]
        obs, _ = other.restore_state(vec.save_state())
        np.testing.assert_array_equal(obs, seen[-1][0])
        assert_same(*([batch.step([0, 1]) for _ in range(30)] for batch in (vec, other)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_may_be_looked_for(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    has_generators = backend in HOSTED
    assert hasattr(vec, "np_random") == has_generators
    assert not hasattr(vec, "no_such")
    if backend in OPEN:
        env = vec.get_sub_environments()[0]
        assert hasattr(env, "np_random") == has_generators
        assert vec.call("has_wrapper_attr", "np_random") == (has_generators,) * 2


@pytest.mark.parametrize("backend", PARTS)
def test_nothing_is_asked_while_a_step_is_pending(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME if backend == "native" else "CartPole-v1", 2, backend=backend)
    vec.reset()
    calls = (vec.render, lambda: vec.get_attr("spec"), vec.save_state, vec.get_sub_environments)
    vec.send([0, 0])
    for call in calls:
        with pytest.raises(PendingStepError, match="a step is pending"):
            call()
    vec.recv()
    vec.close()
    for call in calls:
        with pytest.raises(ClosedError):
            call()


def test_no_state_of_a_game_runs_code(open_vec: OpenVec, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple:
            return (tmp_path / "sprung").mkdir, ()

    vec = open_vec(GAME, 1, backend="sync")
    vec.reset(seed=0)
    values = unpack("env", 1, vec.save_state()[0]) | {"env": pickle.dumps(Trap())}
    for is_pickle in (True, False):
        with pytest.raises(ValueError, match=r"it is a pickle|no state of a game"):
            vec.restore_state(pack("env", 1, values | {"is_pickle": is_pickle}))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("backend", OPEN)
def test_plain_states_are_those_of_games_alone(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 2, backend=backend)
    vec.reset(seed=0)
    obs, _ = vec.restore_state(vec.save_state(plain=True), plain=True)
    assert obs.shape == (2, 4, 84, 84)
    if backend == "native":
        return
    vec = open_vec("CartPole-v1", 2, backend=backend)
    vec.reset(seed=0)
    states = vec.save_state()
    for call in (lambda: vec.save_state(plain=True), lambda: vec.restore_state(states, plain=True)):
        with pytest.raises(UnsupportedError, match="are pickles"):
            call()
    vec.restore_state(states)


def test_an_env_of_another_process_has_no_copies(open_vec: Callable[..., VecEnv]) -> None:
    vec = open_vec("CartPole-v1", 1, backend="async")
    [env] = vec.get_sub_environments()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"RemoteEnv\(0\) cannot be copied or pickled"):
            copied(env)
