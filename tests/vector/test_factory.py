"""`make`, `make_vec`, the settings, and which backend serves what."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_type_hints

import keyword_docs
import numpy as np
import pytest
from backends import BACKENDS
from gymnasium import registry

import atari_wrappers
from atari_wrappers import Settings, UnknownEnvError, VecEnv, make, make_tch, make_vec
from atari_wrappers.keywords import SettingKeywords

GAME = "SpaceInvadersNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]


@pytest.mark.parametrize("call", [make, make_tch])
def test_make_is_the_tch_rs_examples(call: Callable[..., VecEnv]) -> None:
    assert str(inspect.signature(call)).startswith("(env_name: ")
    vec = call(GAME, None, 2)
    assert (vec.backend, vec.num_envs) == ("native", 2)
    assert vec.reset(seed=0)[0].shape == (2, 4, 84, 84)
    vec.close()
    assert call(GAME).num_envs == 1


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        (("gym",), {"num_envs": 8}, "for num_envs: envpool.make, of `from atari_wrappers import"),
        ((), {"env_type": "gym", "num_envs": 8}, "for env_type, num_envs: envpool.make"),
        ((), {"num_envs": 8}, r"for num_envs: make_vec\(env_id, num_envs, ...\), or make_env"),
        ((), {"render_mode": "rgb_array"}, "for render_mode: make_vec"),
        ((8,), {}, "for 8: make_vec"),
    ],
)
def test_calls_of_other_libraries_are_told_where_to_go(
    args: tuple[Any, ...], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        make(GAME, *args, **keywords)


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*, but the preset in use")
@pytest.mark.parametrize("backend", ["ale", "native", "sync"])
def test_settings_decide_whatever_the_id_says(backend: str, open_vec: OpenVec) -> None:
    runs = []
    for env_id in (GAME, "ALE/SpaceInvaders-v5", "SpaceInvaders-v0"):
        vec = open_vec(env_id, 2, backend=backend)
        rng = np.random.default_rng(0)
        vec.reset(seed=0)
        runs.append([vec.step(rng.integers(6, size=2))[0] for _ in range(100)])
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_follow_the_settings(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec(
        GAME,
        2,
        backend=backend,
        screen_size=42,
        frame_stack=2,
        full_action_space=True,
        frame_skip=3,
    )
    assert vec.reset(seed=0)[0].shape == (2, 2, 42, 42)
    assert vec.step([17, 0])[0] in vec.observation_space
    with pytest.raises(ValueError, match="0 to 17"):
        vec.step([18, 0])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"backend": "envpol"},
            ValueError,
            "backend must be one of auto, native, ale, sync",
        ),
        ({"autoreset": "later"}, ValueError, "same-step, next-step, disabled, not 'later'"),
        ({"autoreset": []}, ValueError, r"same-step, next-step, disabled, not \[\]"),
        ({"context": "fork"}, ValueError, "spawn, forkserver, not 'fork'"),
        ({"noop_max": -1}, ValueError, "noop_max must be at least 0, not -1"),
        ({"frame_skip": 0}, ValueError, "frame_skip must be at least 1"),
        ({"frame_stack": 2.0}, TypeError, "frame_stack must be an integer, not 2.0"),
        ({"screen_size": True}, TypeError, "screen_size must be an integer, not True"),
        ({"sticky_actions": 1.5}, ValueError, r"sticky_actions must lie in \[0.0, 1.0\], not 1.5"),
        ({"sticky_actions": float("nan")}, ValueError, "not nan"),
        ({"sticky_actions": "0"}, TypeError, "must be a number"),
        ({"clip_reward": 1}, TypeError, "clip_reward must be True or False, not 1"),
        (
            {"fire_reset": "always"},
            ValueError,
            "fire_reset must be one of off, steps, before-noops",
        ),
        ({"preset": "dopamine"}, ValueError, "preset must be one of default, baselines"),
        ({"screen_size": (84, 84, 1)}, ValueError, r"a side or \(height, width\)"),
        ({"screen_size": (84, 0)}, ValueError, "screen_size must be at least 1"),
        ({"noop_min": 31}, TypeError, r"no setting noop_min: .* recipe=dataclasses.replace\("),
        ({"obs_buffers": 1}, ValueError, "at least 2, not 1"),
        ({"num_players": 3}, ValueError, "num_players must be 1 or 2, not 3"),
        ({"batch_size": 2}, ValueError, r"batch_size must be at most num_envs \(1\), not 2"),
        ({"worker_timeout": 0}, ValueError, "worker_timeout must lie in"),
        ({"start_timeout": 0}, ValueError, "start_timeout must lie in"),
        ({"record_every": 0}, ValueError, "record_every must be at least 1"),
        ({"frameskip": 4}, TypeError, r"no setting frameskip \(did you mean frame_skip\?\)"),
        ({"img_dir": 5}, TypeError, "img_dir must be a path, not 5"),
        ({"video_dir": ""}, ValueError, "video_dir must name a folder, not ''"),
        ({"settings": "ale"}, TypeError, "settings must be a Settings, not 'ale'"),
    ],
)
def test_bad_settings_are_named(settings: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_vec(GAME, 1, **settings)


def test_numbers_may_be_numpys() -> None:
    settings = Settings(sticky_actions=np.float32(0.25), worker_timeout=np.int64(60))
    assert repr((settings.sticky_actions, settings.worker_timeout)) == "(0.25, 60.0)"


@pytest.mark.parametrize(
    ("num_envs", "error"), [(0, ValueError), (-3, ValueError), (1.5, TypeError), ("2", TypeError)]
)
def test_bad_num_envs_is_refused(num_envs: Any, error: type[Exception]) -> None:
    for env_id in (GAME, "CartPole-v1"):
        with pytest.raises(error, match=r"num_envs must be (at least 1|an integer), not"):
            make_vec(env_id, num_envs)


def test_unknown_id_keeps_the_suggestion() -> None:
    with pytest.raises(UnknownEnvError, match="Did you mean `SpaceInvadersNoFrameskip-v4`"):
        make("SpaceInvader-v4")


@pytest.mark.parametrize(
    ("env_id", "hint"),
    [
        ("PongDeterministic-v4", "Did you mean `PongNoFrameskip-v4`"),
        ("Pong-v5", "Did you mean `ALE/Pong-v5`"),
        ("TicTacToe3DNoFrameskip-v4", r"Did you mean `ALE/TicTacToe3D-v5`\?$"),
        ("CartPole-v9", "Did you mean `CartPole-v1`"),
    ],
)
def test_hints_name_ids_that_exist(env_id: str, hint: str) -> None:
    with pytest.raises(UnknownEnvError, match=hint) as refusal:
        make(env_id)
    assert set(re.findall("`([^`]*)`", str(refusal.value).partition("Did you")[2])) <= {*registry}


def test_an_id_of_bytes_is_no_list() -> None:
    with pytest.raises(TypeError, match=r"env_id must be a string, .*, not b'Pong-v4'"):
        make_vec(b"Pong-v4")


def test_overrides_go_over_given_settings(open_vec: OpenVec) -> None:
    vec = open_vec(GAME, 1, Settings(screen_size=21, frame_stack=3), frame_stack=1)
    assert vec.single_observation_space.shape == (1, 21, 21)


def test_signature_and_settings_cannot_drift_apart() -> None:
    parameters = inspect.signature(make_vec).parameters
    defaults = Settings()
    assert list(parameters)[3:5] == ["output", "device"]
    assert list(parameters)[5:] == list(Settings.names())
    assert all(parameters[name].default == getattr(defaults, name) for name in Settings.names())
    assert get_type_hints(SettingKeywords) == get_type_hints(Settings)


def test_editors_show_what_each_setting_does() -> None:
    assert keyword_docs.FILE.read_text() == keyword_docs.source(), "run keyword_docs.py"
    told = pydoc.render_doc(make_vec, renderer=pydoc.plaintext)
    for field in fields(Settings):
        assert re.search(rf"\n +{field.name} \(.*: \S", told), field.name
    assert re.search(r"frame_skip \(int \| None, 4\): Emulator frames per agent step", told)


def test_public_names_exist() -> None:
    assert all(hasattr(atari_wrappers, name) for name in atari_wrappers.__all__)
