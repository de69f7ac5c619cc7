"""What a remote batch does beyond the tests that all backends pass (`tests/vector`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from waiting import wait_until

from atari_wrappers import UnsupportedError, VecEnv, WorkerError
from atari_wrappers.remote import BatchServer, RemoteVecEnv
from atari_wrappers.remote.batches_pb2 import Array, Dict, Space
from atari_wrappers.remote.values import (
    from_array,
    from_dict,
    from_space,
    to_array,
    to_dict,
    to_space,
)

Serve = Callable[..., BatchServer]
Connect = Callable[..., RemoteVecEnv]


def assert_same(one: object, other: object) -> None:
    """Compare nested dicts of arrays, their dtypes too."""
    if isinstance(one, dict):
        assert isinstance(other, dict)
        assert one.keys() == other.keys()
        for name in one:
            assert_same(one[name], other[name])
    else:
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


def marked(info: dict) -> dict:
    """Return an info whose last observations are those of the rows that have one."""
    info = dict(info)
    if "final_obs" in info:
        info["final_obs"] = info["final_obs"][info["_final_obs"]]
    return info


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "BreakoutNoFrameskip-v4"])
def test_results_are_those_of_a_batch_of_this_process(
    env_id: str, autoreset: str, serve: Serve, connect: Connect, open_vec: Callable[..., VecEnv]
) -> None:
    vec = connect(serve(env_id, 3, autoreset=autoreset, clip_actions=env_id == "Pendulum-v1"))
    twin = open_vec(env_id, 3, autoreset=autoreset)
    assert (vec.observation_space, vec.action_space) == (twin.observation_space, twin.action_space)
    assert vec.metadata == twin.metadata
    assert vec.recipe == twin.recipe
    twin.action_space.seed(0)
    assert_same(vec.reset(seed=3)[1], twin.reset(seed=3)[1])
    ends = 0
    for _ in range(60):
        actions = twin.action_space.sample()
        mine, other = vec.step(actions), twin.step(actions)
        for left, right in zip(mine[:4], other[:4], strict=True):
            assert_same(left, right)
        assert_same(marked(mine[4]), marked(other[4]))
        ends += "final_obs" in mine[4]
    assert (ends > 0) == (env_id != "Pendulum-v1" and autoreset == "same-step")


def test_a_client_may_take_fewer_envs(serve: Serve, connect: Connect) -> None:
    server = serve(num_envs=3)
    vec = connect(server, 2)
    assert vec.reset(seed=0)[0].shape == (2, 4, 84, 84)
    with pytest.raises(ValueError, match="num_envs must be at most 3 on this server, not 4"):
        connect(server, 4)


def test_a_client_says_how_games_are_played(
    serve: Serve, connect: Connect, open_vec: Callable[..., VecEnv]
) -> None:
    server = serve(num_envs=2, episodic_life=True, noop_max=0)
    asked = {"preset": "baselines", "frame_stack": 2, "episodic_life": False, "noop_max": 5}
    vec, twin = connect(server, **asked), open_vec("BreakoutNoFrameskip-v4", 2, **asked)
    assert vec.recipe == twin.recipe
    np.testing.assert_array_equal(vec.reset(seed=1)[0], twin.reset(seed=1)[0])
    assert connect(server).recipe.episodic_life
    with pytest.raises(UnsupportedError, match="video_dir: no setting that a server takes from it"):
        connect(server, video_dir="/tmp")
    with pytest.raises(ValueError, match="frame_stack"):
        connect(server, frame_stack=-1)


def test_what_is_no_plain_data_stays_on_the_server(serve: Serve, connect: Connect) -> None:
    vec = connect(serve("CartPole-v1"))
    vec.reset()
    with pytest.raises(UnsupportedError, match=r"save_state: the states of .* are pickles"):
        vec.save_state()
    with pytest.raises(UnsupportedError, match=r'call\("gravity"\): the envs are those of the se'):
        vec.get_attr("gravity")
    vec.step([0, 0])  # nothing is lost


def test_options_that_cannot_be_sent_change_nothing(serve: Serve, connect: Connect) -> None:
    vec = connect(serve("scripted:Dice-v0"))
    first = vec.reset(seed=3)[0]
    with pytest.raises(UnsupportedError, match=r"options cannot be sent .* x: a object is no"):
        vec.reset(options={"x": object()})
    with pytest.raises(UnsupportedError, match="reset options cannot be sent"):
        vec.reset(options={"x": {"y": 1 << 80}}, mask=[True, False])
    assert vec.step([0, 0])[4]["episode_length"].tolist() == [1, 1]
    np.testing.assert_array_equal(vec.reset(seed=3, options={"x": [1]})[0], first)


def test_settings_are_sent_in_plain_words(serve: Serve, connect: Connect) -> None:
    server = serve()
    vec = connect(server, autoreset=AutoresetMode.NEXT_STEP, screen_size=(20, 30))
    assert vec.settings.autoreset == "next-step"
    assert vec.single_observation_space.shape == (4, 20, 30)
    assert connect(server, autoreset="disabled").settings.autoreset == "disabled"


def test_the_rest_of_an_info_crosses_without_what_is_no_plain_data(
    serve: Serve, connect: Connect
) -> None:
    lines: list[str] = []
    server = serve("scripted:Hooks-v0", 3, backend="sync", limits={"log": lines.append})
    vec = connect(server)
    vec.reset()
    info, last = (vec.step([5, 5, 6])[4] for _ in range(2))
    for each in (info, last["final_info"]):
        assert each["some"].tolist() == [None, None, "plain"]
        assert each["_some"].all()
        assert not {"hook", "_hook"} & each.keys()
    assert last["_final_info"].all()
    assert last["final_info"]["episode_length"].tolist() == [2, 2, 2]
    told = [line.partition(" of infos is not sent")[0] for line in lines if "is not sent" in line]
    assert sorted(told) == ["`hook`", "`some`"]


def test_an_exception_of_an_env_says_what_it_was(serve: Serve, connect: Connect) -> None:
    vec = connect(serve("scripted:FailsByRaise-v0", backend="sync"))
    vec.reset()
    for _ in range(2):
        vec.step([5, 5])
    with pytest.raises(WorkerError, match="ArithmeticError: the script says so") as failed:
        vec.step([5, 5])
    assert failed.value.env_indices == [0]
    vec.restart_workers()
    with pytest.raises(WorkerError):  # the other one's turn
        vec.recv()
    assert vec.restart_workers() == [1]
    assert vec.recv()[4]["worker_restarted"].tolist() == [True, True]


def test_a_closed_batch_ends_at_the_server(serve: Serve, connect: Connect) -> None:
    server = serve()
    vec = connect(server)
    assert server.num_clients == 1
    vec.close()
    wait_until(lambda: server.num_clients == 0, seconds=60)


def test_values_cross_as_they_are() -> None:
    values = {
        "float": np.arange(6, dtype=np.float32).reshape(2, 3),
        "big-endian": np.arange(3, dtype=">i2"),
        "flag": np.array([True, False]),
        "none": np.zeros((0, 3), np.uint8),
        "number": np.float64(2.5),
        "objects": np.array([None, "a", {"b": [1, 2.5, b"c", True]}], object),
        "nested": {"text": "é", "int": -5},
    }
    back = from_dict(Dict.FromString(to_dict(values).SerializeToString()))
    assert list(back) == list(values)
    for name in ("float", "flag", "none", "number", "objects"):
        assert_same(back[name], values[name])
    np.testing.assert_array_equal(back["big-endian"], values["big-endian"])
    assert back["nested"] == values["nested"]
    assert back["float"].flags.writeable
    left: list[str] = []
    odd = to_dict({"a": 1, "b": object(), "c": 1 << 80}, lambda name, _: left.append(name))
    assert (from_dict(odd), left) == ({"a": 1}, ["b", "c"])
    rows = np.array([object(), {"e": 1, "f": print}, None], object)
    nested = {"d": {"x": 1, "y": print}, "g": rows, "_g": True, "h": rows[[0, 2]], "_h": True}
    left.clear()
    back = from_dict(to_dict(nested, lambda name, _: left.append(name)))
    assert back.pop("g").tolist() == [None, {"e": 1}, None]
    assert (back, left) == ({"d": {"x": 1}, "_g": True}, ["y", "f", "g", "h"])
    with pytest.raises(TypeError, match="b: a object is no plain data"):
        to_dict({"b": object()})


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        *[
            ("O", [1], 8),
            ("<f4", [3], 8),
            ("<f4", [1 << 40, 1 << 40], 0),
            ("V8", [1], 8),
            ("?!", [], 0),
        ],
        *[
            ("i4,i4", [1], 8),
            ("(2,)i4", [1], 8),
            ("", [2], 16),
            ("<f4", [1] * 40, 4),
            ("S0", [9], 0),
        ],
    ],
)
def test_arrays_that_are_none_are_refused(dtype: str, shape: list[int], size: int) -> None:
    if (dtype, size) == ("", 16):
        assert from_array(Array(dtype="<f8", shape=shape, data=bytes(size))).shape == (2,)
        return
    with pytest.raises(ValueError, match="array"):
        from_array(Array(dtype=dtype, shape=shape, data=bytes(size)))


def test_spaces_cross(open_vec: Callable[..., VecEnv]) -> None:
    from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
    from gymnasium.spaces import Dict as DictSpace

    spaces = [Discrete(3, start=5), Box(-1, 2, (2, 3), np.float64), MultiDiscrete([2, 3])]
    for space in [*spaces, MultiBinary(4), MultiBinary([2, 2]), Box(0, 255, (4,), np.uint8)]:
        assert from_space(Space.FromString(to_space(space).SerializeToString())) == space
    with pytest.raises(UnsupportedError, match="cannot be served"):
        to_space(DictSpace(a=Discrete(2)))
    assert to_array(np.int64(3)).shape == []
