"""What settings and ids become: recipes with a value in each part, refusals and warnings."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest

from atari_wrappers import Settings, UnsupportedError, make_env, make_vec
from atari_wrappers.recipes import PRESETS, Recipe
from atari_wrappers.request import request_batch, request_env

GAME = "SpaceInvadersNoFrameskip-v4"
STICKY = "ALE/Pong-v5"
ATARI = "ale_py.env:AtariEnv"
RAM = {"game": "pong", "obs_type": "ram", "repeat_action_probability": 0.0}
gym.register("RamPong-v0", ATARI, kwargs=RAM)
gym.register("LimitedPong-v0", ATARI, kwargs={"game": "pong"}, max_episode_steps=1000)
gym.register("ShortPong-v0", ATARI, kwargs={"game": "pong", "max_num_frames_per_episode": 500})
THREE = {"game": "pong", "frameskip": 3, "repeat_action_probability": 0.0}
gym.register("ThreePong-v0", ATARI, kwargs=THREE)
gym.register("PolarPong-v0", ATARI, kwargs={"game": "pong", "continuous": True, "mode": 1})
gym.register("LoudPong-v0", ATARI, kwargs={"game": "pong", "sound_obs": True})


def recipe(env_id: str = GAME, **settings: Any) -> Recipe:
    decided = request_env(env_id, Settings(**settings)).recipe
    assert decided is not None
    return decided


# The first row alone was another game where the preset came later.
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"noop_max": 0}, {"noop_min": 0, "noop_max": 0}),
        ({"fire_reset": True}, {"fire_reset": "steps"}),
        ({"fire_reset": False}, {"fire_reset": "off"}),
    ],
)
def test_a_preset_given_later_is_the_same_as_at_once(
    parts: dict[str, Any], expected: dict[str, Any]
) -> None:
    later = replace(Settings(**parts), preset="baselines")
    decided = request_env(GAME, later).recipe
    assert decided == recipe(preset="baselines", **parts)
    assert decided == replace(PRESETS["baselines"], **expected)


@pytest.mark.parametrize(
    ("preset", "way"),
    [("default", "before-noops"), ("gymnasium", "steps"), ("envpool", "after-noops")],
)
def test_fire_is_pressed_as_the_recipe_does_or_in_steps(preset: str, way: str) -> None:
    assert recipe(preset=preset, fire_reset=True).fire_reset == way


def test_a_recipe_stands_for_a_preset_and_parts_change_it() -> None:
    own = replace(PRESETS["ale"], pooling="rgb", frame_stack=2)
    assert recipe(recipe=own) == own
    assert recipe(recipe=own, frame_stack=3) == replace(own, frame_stack=3)
    with pytest.raises(ValueError, match="preset='ale' and a recipe: give one of them"):
        Settings(preset="ale", recipe=own)
    with pytest.raises(TypeError, match="recipe must be a Recipe, not 'ale'; or name a preset"):
        Settings(recipe="ale")


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"noop_min": 31}, ValueError, r"noop_min must be at most noop_max \(29\), not 31"),
        ({"pooling": "grey"}, ValueError, "pooling must be one of rgb, gray, not 'grey'"),
        ({"episodic_life": 1}, TypeError, "episodic_life must be True or False, not 1"),
        ({"frame_stack": 0}, ValueError, "frame_stack must be at least 1, not 0"),
        ({"noop_max": None}, TypeError, "noop_max must be an integer, not None"),
        ({"sticky_actions": 2}, ValueError, "sticky_actions must lie in"),
    ],
)
def test_recipes_are_checked(parts: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        replace(PRESETS["default"], **parts)
    assert replace(PRESETS["default"], screen_size=21).screen_size == (21, 21)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_part_has_its_value(preset: str) -> None:
    decided = recipe(GAME, preset=preset)
    assert decided == replace(PRESETS[preset], sticky_actions=0.0)


def test_what_the_id_says() -> None:
    assert recipe(STICKY, preset="gymnasium").sticky_actions == 0.25
    assert recipe(STICKY, preset="gymnasium", sticky_actions=0.0).sticky_actions == 0.0
    polar = recipe("PolarPong-v0", sticky_actions=0.0)
    assert (polar.continuous, polar.mode, polar.difficulty) == (True, 1, None)
    assert recipe("PolarPong-v0", sticky_actions=0.0, mode=0).mode == 0
    ram = recipe("RamPong-v0")
    assert (ram.obs_type, ram.frame_stack) == ("ram", 1)
    assert recipe("RamPong-v0", obs_type="screen").obs_type == "screen"
    assert recipe("LimitedPong-v0", sticky_actions=0.0, max_episode_steps=9).max_episode_steps == 9


@pytest.mark.parametrize(
    ("env_id", "settings", "message"),
    [
        (STICKY, {}, "ALE/Pong-v5` has sticky_actions=0.25, but the preset in use 0.0"),
        (STICKY, {"preset": "baselines"}, "sticky_actions=0.25"),
        ("ShortPong-v0", {"sticky_actions": 0.0}, "has max_episode_frames=500, .* 108000"),
        ("ShortPong-v0", {"preset": "gymnasium"}, "has max_episode_frames=500, .* 108000"),
        ("Pong-v4", {}, "Pong-v4` takes a random 2 to 4 frames per step, but the preset in use 4"),
        ("ThreePong-v0", {}, "takes 3 frames per step, but the preset in use 4, .* frame_skip=4"),
    ],
)
def test_what_the_id_says_in_vain_is_told(
    env_id: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.warns(UserWarning, match=message) as caught:
        make_vec(env_id, 1, **settings).close()
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    ("env_id", "settings"),
    [
        (GAME, {}),
        (STICKY, {"preset": "gymnasium"}),
        (STICKY, {"sticky_actions": 0.0}),
        ("Pong-v4", {"frame_skip": 4}),
        ("ShortPong-v0", {"sticky_actions": 0.0, "max_episode_frames": 108_000}),
        ("CartPole-v1", {"preset": "default"}),
    ],
)
def test_nothing_is_told_where_nothing_is_ignored(env_id: str, settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        request_env(env_id, Settings(**settings))


@pytest.mark.parametrize(
    ("env_id", "settings", "message"),
    [
        ("LimitedPong-v0", {}, "has max_episode_steps=1000, .* say max_episode_steps"),
        ("LoudPong-v0", {}, "sets sound_obs, which no setting says"),
        (GAME, {"env_kwargs": {"mode": 1}}, "env_kwargs: .* is an Atari game, .* not mode"),
        (GAME, {"obs_type": "ram", "frame_stack": 4}, 'obs_type="ram": .* frame_stack'),
        (GAME, {"obs_type": "ram", "screen_size": 42}, 'obs_type="ram": .* screen_size'),
        (
            "RamPong-v0",
            {"sticky_actions": 0.0, "channels_last": True},
            'obs_type="ram": .* channels_last',
        ),
        ("CartPole-v1", {"frame_stack": 4}, "frame_stack=4 .*; `CartPole-v1` is none"),
        ("CartPole-v1", {"frame_skip": 4}, "frame_skip=4 .*`wrappers` changes"),
        ("CartPole-v1", {"episodic_life": True}, "episodic_life=True"),
        ("CartPole-v1", {"mode": 0}, "mode=0"),
        ("CartPole-v1", {"obs_type": "ram"}, "obs_type='ram'"),
        ("CartPole-v1", {"max_episode_frames": 9}, "max_episode_frames=9"),
        ("CartPole-v1", {"fire_reset": True}, "fire_reset=True"),
        ("CartPole-v1", {"recipe": PRESETS["ale"]}, "recipe: `CartPole-v1` is no Atari game"),
    ],
)
def test_what_an_env_would_ignore_is_refused(
    env_id: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnsupportedError, match=message):
        request_env(env_id, Settings(**settings))


@pytest.mark.parametrize(
    ("env_id", "setting", "reason"),
    [
        (GAME, {"record_every": 2}, "record_every=2 has no effect: there is no video_dir"),
        (GAME, {"record_unfinished": False}, "record_unfinished=False has no effect: there is no"),
        ("CartPole-v1", {"preset": "ale"}, "preset='ale' has no effect: `CartPole-v1` is no Atari"),
        (
            GAME,
            {"continuous_action_threshold": 0.3},
            "continuous_action_threshold=0.3 has no effect: continuous is False",
        ),
    ],
)
def test_what_has_no_effect_is_told(env_id: str, setting: dict[str, Any], reason: str) -> None:
    with pytest.warns(UserWarning, match=reason):
        request_env(env_id, Settings(**setting))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        request_env(GAME, Settings(**setting, video_dir="unused", continuous=True))
        request_env(env_id, Settings(preset="default"))


def test_what_asks_for_nothing_may_be_said_of_any_env() -> None:
    nothing = {
        "clip_reward": False,
        "episodic_life": False,
        "fire_reset": False,
        "frame_skip": 1,
        "frame_stack": 1,
        "full_action_space": False,
        "max_episode_frames": 0,
        "noop_max": 0,
        "sticky_actions": 0.0,
    }
    assert request_env("CartPole-v1", Settings(**nothing)).recipe is None


def test_hints_name_what_there_is() -> None:
    with pytest.raises(TypeError, match=r"no setting seed: .* reset\(seed=...\)"):
        make_vec(GAME, 1, seed=0)
    with pytest.raises(TypeError, match=r"\(did you mean sticky_actions, backend\?\)"):
        make_vec(GAME, 1, repeat_action_probability=0.25, vectorization_mode="async")
    with pytest.raises(TypeError, match=r"no setting num_env \(did you mean num_envs\?\)"):
        make_vec(GAME, num_env=2)
    with pytest.raises(TypeError, match="no setting colour; there are preset, recipe, backend"):
        make_env(GAME, colour="red")
    with pytest.raises(TypeError, match=r"render\(\) asks"):
        make_vec(GAME, 1, render_mode="human")
    with pytest.raises(TypeError, match="no setting num_envs: one env is made; make_vec and"):
        make_env(GAME, num_envs=8)
    with pytest.raises(TypeError, match=r"\(did you mean screen_size, clip_reward\?\)"):
        make_vec(GAME, 1, img_width=84, reward_clip=True)
    assert make_env(GAME, Settings(frame_stack=2), frame_skip=2).unwrapped.recipe.frame_skip == 2
    message = r"recipe=dataclasses.replace\(atari_wrappers.recipes.PRESETS\[...\], pooling=...\)"
    with pytest.raises(TypeError, match=message):
        make_vec(GAME, 1, pooling="rgb")


def test_a_batch_has_one_request_for_all_or_one_for_each() -> None:
    same = request_batch([GAME] * 3, None, Settings())
    assert (len(same.envs), same.num_envs) == (1, 3)
    several = request_batch([GAME, "CartPole-v1"], 2, Settings())
    assert [several.of(index).env_id.name for index in range(2)] == [GAME, "CartPole-v1"]
    with pytest.raises(ValueError, match=r"num_envs must be that of the listed ids \(2\), not 3"):
        request_batch([GAME, "CartPole-v1"], 3, Settings())
    with pytest.raises(ValueError, match="the number of listed ids must be at least 1"):
        request_batch([], None, Settings())


def test_a_request_means_the_same_in_another_process() -> None:
    for env_id, preset in ((GAME, "envpool"), ("CartPole-v1", None)):
        request = request_batch(env_id, 2, Settings(preset=preset))
        assert pickle.loads(pickle.dumps(request)) == request
