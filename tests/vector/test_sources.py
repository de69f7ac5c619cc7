"""What envs may be made of: ids with keywords and wrappers, callables, several in one batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from backends import OPEN
from gymnasium.wrappers import FrameStackObservation, TimeLimit, TransformReward
from scripted import CarelessEnv, DictEnv, TupleEnv

from atari_wrappers import UnsupportedError, VecEnv, WorkerError, make_env, make_vec
from atari_wrappers.settings import Settings

OpenVec = Callable[..., VecEnv]
PYTHON = pytest.mark.parametrize(
    "where", [{"backend": "sync"}, {"backend": "async", "num_workers": 1}], ids=["sync", "async"]
)
GAMES_TOO = pytest.mark.parametrize(
    "where",
    [{"backend": "native"}, {"backend": "sync"}, {"backend": "async", "num_workers": 1}],
    ids=OPEN,
)
gym.register("Limited-v0", partial(CarelessEnv, 10**6), max_episode_steps=9)
GAMES = ["PongNoFrameskip-v4", "BreakoutNoFrameskip-v4"]


@PYTHON
def test_keywords_go_to_gymnasium_make(where: dict[str, Any], open_vec: OpenVec) -> None:
    kwargs = {"map_name": "8x8", "is_slippery": False}
    vec = open_vec("FrozenLake-v1", 2, **where, env_kwargs=kwargs)
    assert vec.single_observation_space.n == 64
    assert vec.reset(seed=0)[0].tolist() == [0, 0]
    assert vec.step([1, 2])[0].tolist() == [8, 1]


@pytest.mark.parametrize(("limit", "steps"), [(3, 3), (None, 9), (0, 12)])
def test_a_limit_of_steps_is_served_on_any_id(
    limit: int | None, steps: int, open_vec: OpenVec
) -> None:
    vec = open_vec("Limited-v0", 1, backend="sync", max_episode_steps=limit)
    vec.reset()
    ends = [bool(vec.step([5])[3][0]) for _ in range(12)]
    assert ends.count(True) == (0 if limit == 0 else 12 // steps)
    assert limit == 0 or ends.index(True) == steps - 1


@PYTHON
def test_a_callable_makes_envs(where: dict[str, Any], open_vec: OpenVec) -> None:
    def make(length: int = 3) -> gym.Env:
        return CarelessEnv(length)

    for source, settings in ((make, {}), (lambda length: make(length), {"length": 2})):
        vec = open_vec(source, 2, **where, env_kwargs=settings)
        vec.reset()
        ends = [vec.step([5, 6])[3].tolist() for _ in range(3)]
        assert ends.index([True, True]) == (1 if settings else 2)
        assert vec.spec is None
    vec = open_vec(make, 1, **where, max_episode_steps=1)
    vec.reset()
    *_, truncated, info = vec.step([5])
    assert truncated.all()
    assert info["game_truncated"].all()


def test_what_a_callable_makes_must_be_an_env(open_vec: OpenVec) -> None:
    with pytest.raises(TypeError, match=r"dict` must return a gymnasium.Env, not \{\}"):
        make_vec(dict, 1)
    with pytest.raises(TypeError, match=r"env_id must be a string, or a callable .* not 5"):
        make_vec(5, 1)
    with pytest.raises(UnsupportedError, match='"ale" cannot serve `CarelessEnv`: it is no Atari'):
        make_vec(CarelessEnv, 1, backend="ale")


@PYTHON
@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        (lambda: 5, {}, r"<lambda>` must return a gymnasium.Env, not 5$"),
        ("CartPole-v1", {"wrappers": [print]}, r"wrappers: .* must return a gymnasium.Env, not"),
        ("CartPole-v1", {"env_kwargs": {"no": 1}}, r"^env_kwargs={'no': 1}: `CartPole-v1` .*'no'$"),
        (CarelessEnv, {"env_kwargs": {"no": 1}}, r"^env_kwargs={'no': 1}: `CarelessEnv` .*'no'$"),
    ],
)
def test_what_makes_no_env_is_told_in_a_line(
    where: dict[str, Any], source: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message) as refusal:
        make_vec(source, 1, **where, **settings)
    assert "\n" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_async_says_what_cannot_be_pickled() -> None:
    lock = gym.make("CartPole-v1").unwrapped, (each for each in ())
    with pytest.raises(UnsupportedError, match=r'it cannot be pickled .*; use backend="sync"'):
        make_vec(lambda: lock, 1, backend="async")


def test_pictures_of_what_shows_none_are_refused_with_a_way_out(tmp_path: Path) -> None:
    for source, way_out in (
        (lambda: gym.make("CartPole-v1"), "make it with that one, or leave them out"),
        ("scripted:Careless-v0", "leave img_dir out"),
    ):
        with pytest.raises(UnsupportedError, match=way_out):
            make_vec(source, 1, backend="sync", img_dir=tmp_path)


@PYTHON
def test_wrappers_go_around_other_envs_and_are_in_the_record(
    where: dict[str, Any], open_vec: OpenVec
) -> None:
    wrappers = [
        partial(TransformReward, func=lambda reward: 2 * reward),
        lambda env: FrameStackObservation(env, 3, padding_type="zero"),
        partial(TimeLimit, max_episode_steps=2),
    ]
    vec = open_vec("scripted:Careless-v0", 1, **where, wrappers=wrappers)
    obs, _ = vec.reset()
    assert obs.shape == (1, 3, 2)
    obs, reward, _, truncated, info = vec.step([5])
    assert obs[0, :, 0].tolist() == [0, 0, 1]
    assert (reward[0], truncated[0]) == (5.0, False)
    *_, truncated, info = vec.step([5])
    assert truncated[0]
    assert info["episode"]["r"][0] == 10.0


@PYTHON
def test_wrappers_go_around_preprocessed_games(where: dict[str, Any], open_vec: OpenVec) -> None:
    wrappers = [partial(TransformReward, func=lambda reward: reward / 2)]
    vec = open_vec(GAMES[0], 1, **where, wrappers=wrappers, preset="ale", obs_buffers=2)
    plain = open_vec(GAMES[0], 1, backend="sync", preset="ale")
    np.testing.assert_array_equal(vec.reset(seed=1)[0], plain.reset(seed=1)[0])
    rewards = []
    for _ in range(120):
        obs, reward, *_, info = vec.step([2])
        expected = plain.step([2])
        np.testing.assert_array_equal(obs, expected[0])
        np.testing.assert_array_equal(reward, expected[1] / 2)
        np.testing.assert_array_equal(info["raw_reward"], expected[4]["raw_reward"])
        rewards.append(reward[0])
    assert -0.5 in rewards
    assert vec.render()[0].shape == (210, 160, 3)
    with pytest.raises(UnsupportedError, match="what `wrappers` remember is in no state"):
        vec.save_state()


def test_a_wrapper_makes_arrays_of_what_is_none(open_vec: OpenVec) -> None:
    vec = open_vec(DictEnv, 1, wrappers=[gym.wrappers.FlattenObservation])
    assert vec.single_observation_space.shape == (2,)


@PYTHON
@pytest.mark.parametrize(
    ("env", "message"),
    [
        (DictEnv, r"DictEnv` observes Dict.*, which is no array; wrappers=.*FlattenObservation"),
        (TupleEnv, r"TupleEnv` takes Tuple.*, which is no array; wrappers=.*TransformAction"),
    ],
)
def test_what_is_no_array_is_refused(
    where: dict[str, Any], env: type[gym.Env], message: str, open_vec: OpenVec
) -> None:
    with pytest.raises(UnsupportedError, match=message):
        open_vec(env, 2, **where)


class Misfit(gym.Env):
    """An env whose step observes something else than its space has."""

    observation_space = gym.spaces.Box(0, 9, (3,), np.uint8)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, shown: Any) -> None:
        self._shown = shown

    def reset(self, **_kwargs: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return np.zeros(3, np.uint8), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._shown if action else np.ones(3, bool), 0.0, False, False, {}


@PYTHON
@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (np.zeros(1, np.uint8), r"has the shape \[1\], the space \[3\]"),
        (None, r"has the shape \[\], the space \[3\]"),
        (np.array([300, -1, 0]), "is of int64, the space of uint8"),
        ([1.5, 0.0, 0.0], "is of float64, the space of uint8"),
    ],
)
def test_what_is_no_observation_of_the_space_is_refused(
    where: dict[str, Any], shown: Any, why: str, open_vec: OpenVec
) -> None:
    vec = open_vec(Misfit, 2, **where, env_kwargs={"shown": shown})
    vec.reset()
    vec.step([0, 0])
    with pytest.raises(WorkerError, match=f"env 1 raised ValueError.*{why}.* in step 2 of its"):
        vec.step([0, 1])


def test_settings_keep_no_list_or_dict_of_the_callers() -> None:
    wrappers, kwargs = [gym.Wrapper], {"a": 1}
    settings = Settings(wrappers=wrappers, env_kwargs=kwargs)
    wrappers.clear()
    kwargs.clear()
    assert (settings.wrappers, settings.env_kwargs) == ((gym.Wrapper,), {"a": 1})


def test_wrappers_are_checked() -> None:
    for wrappers in (5, [5], gym.Wrapper):
        with pytest.raises(TypeError, match="wrappers must be a list of callables, not"):
            Settings(wrappers=wrappers)
    with pytest.raises(TypeError, match=r"wrappers: .* must return a gymnasium.Env, not None"):
        make_env("CartPole-v1", Settings(wrappers=[lambda env: None]))
    with pytest.raises(TypeError, match="env_kwargs must be a dict, not 5"):
        Settings(env_kwargs=5)
    with pytest.raises(UnsupportedError, match=r'"ale" cannot serve .* wrappers: its envs are no'):
        make_vec(GAMES[0], 1, backend="ale", wrappers=[gym.Wrapper])


@GAMES_TOO
def test_several_games_share_a_batch(where: dict[str, Any], open_vec: OpenVec) -> None:
    settings = {"full_action_space": True, "preset": "baselines"}
    vec = open_vec([*GAMES, GAMES[0]], **where, **settings)
    singles = [open_vec(game, 1, backend="sync", **settings) for game in (*GAMES, GAMES[0])]
    obs = vec.reset(seed=3)[0]
    starts = [single.reset(seed=3 + index)[0][0] for index, single in enumerate(singles)]
    np.testing.assert_array_equal(obs, np.stack(starts))
    rng = np.random.default_rng(0)
    for _ in range(20):
        actions = rng.integers(18, size=3)
        obs, _, _, _, info = vec.step(actions)
        pairs = zip(singles, actions, strict=True)
        np.testing.assert_array_equal(obs, [single.step([a])[0][0] for single, a in pairs])
    assert info["lives"].tolist() == [0, 5, 0]


@PYTHON
def test_spaces_of_a_batch_must_be_the_same(where: dict[str, Any]) -> None:
    message = (
        r"env 1, `BreakoutNoFrameskip-v4`, takes Discrete\(4\), and env 0, `PongNoFrameskip-v4`,"
        r" Discrete\(6\): .*; full_action_space=True makes"
    )
    for backend in (where, {"backend": "native"}):
        with pytest.raises(UnsupportedError, match=message):
            make_vec(GAMES, **backend)
    with pytest.raises(UnsupportedError, match="env 2, `CartPole-v1`, observes Box"):
        make_vec(["Acrobot-v1", "Acrobot-v1", "CartPole-v1"], **where)
    with pytest.raises(UnsupportedError, match="several games: it has one"):
        make_vec(GAMES, backend="ale", full_action_space=True)


@GAMES_TOO
@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        ({"obs_type": "ram"}, (128,)),
        ({"channels_last": True, "screen_size": (40, 20)}, (40, 20, 4)),
    ],
)
def test_other_observations(
    where: dict[str, Any], settings: dict[str, Any], shape: tuple[int, ...], open_vec: OpenVec
) -> None:
    vec = open_vec(GAMES[1], 2, **where, **settings)
    single = make_env(GAMES[1], Settings(**settings))
    assert vec.single_observation_space == single.observation_space
    assert vec.single_observation_space == gym.spaces.Box(0, 255, shape, np.uint8)
    np.testing.assert_array_equal(vec.reset(seed=4)[0][0], single.reset(seed=4)[0])
    for action in (1, 2, 3, 3, 2):
        obs = vec.step([action, 0])[0]
        np.testing.assert_array_equal(obs[0], single.step(action)[0])
    for setting in settings.keys() - {"screen_size"}:
        with pytest.raises(UnsupportedError, match=f"{setting}=.*: it has .* only"):
            make_vec(GAMES[1], 2, backend="ale", **settings)
