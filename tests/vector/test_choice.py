"""Which backend serves which settings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import gymnasium as gym
import pytest
from any_settings import any_settings

from atari_wrappers import UnsupportedError, VecEnv, make_env, make_vec
from atari_wrappers.backends import choose, choose_backend
from atari_wrappers.backends.choose import BACKENDS
from atari_wrappers.recipes import PRESETS
from atari_wrappers.request import request_batch
from atari_wrappers.settings import BackendName
from atari_wrappers.wrappers import ClipReward

GAME = "SpaceInvadersNoFrameskip-v4"

gym.register(
    "ModePong-v0",
    "ale_py.env:AtariEnv",
    kwargs={"game": "pong", "mode": 1, "difficulty": 1, "repeat_action_probability": 0.0},
)


def chosen(env_id: str = GAME, num_envs: int = 2, **settings: Any) -> str:
    return choose_backend(request_batch(env_id, num_envs, any_settings(**settings))).name


@pytest.fixture
def without_native(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the module `atari_core` not be installed."""
    monkeypatch.setitem(sys.modules, "atari_core", None)
    warnings.filterwarnings("ignore", 'backend "sync" runs the envs')  # a test looks at this one


# What `ale` has, each a departure from the defaults.
ALE_HAS = [
    {},
    {"preset": "ale"},
    {"preset": "ale", "episodic_life": True},
    {"preset": "ale", "autoreset": "next-step", "episodic_life": True},
    {"autoreset": "next-step", "episodic_life": False},
    {"episodic_life": False, "life_loss": "any-drop", "after_life_loss": "noops"},
    {"clip_reward": False, "sticky_actions": 0.25, "full_action_space": True},
    {"noop_max": 0, "fire_reset": False, "max_episode_frames": 0},
    {"max_episode_frames": 0, "end_precedence": "both", "count_reset_frames": True},
    {
        "noop_max": 0,
        "fire_reset": False,
        "count_reset_frames": True,
        "count_reset_rewards": True,
    },
    {"frame_skip": 1, "frame_stack": 1, "padding": "reset", "screen_size": (60, 100)},
    {"grayscale": False, "continuous": True, "continuous_action_threshold": 0.2},
    {"batch_size": 2, "obs_buffers": 4, "num_threads": 1},
]


@pytest.mark.parametrize("settings", ALE_HAS)
@pytest.mark.usefixtures("without_native")
def test_ale_serves_what_it_has(settings: dict) -> None:
    assert chosen(**settings) == "ale"
    assert chosen(backend="ale", **settings) == "ale"


# What it has not, and what its refusal says of it.
ALE_LACKS = [
    ({"autoreset": "disabled"}, ['autoreset="disabled": it always restarts']),
    ({"autoreset": "next-step"}, ['autoreset="next-step" with episodic_life=True']),
    ({"img_dir": "unused"}, ["img_dir: it shows no raw frames"]),
    ({"num_players": 2}, ["num_players=2: it has one"]),
    ({"batch_size": 1}, ["batch_size=1", "not for all 2 after a reset"]),
    ({"pooling": "rgb"}, ["pooling='rgb': it has 'gray' only"]),
    (
        {"pooling": "rgb", "resizing": "rgb"},
        ["pooling='rgb'", "resizing='rgb': it has 'gray' only"],
    ),
    ({"last_frame": "pooled"}, ["last_frame='pooled': it has 'dropped' only"]),
    ({"padding": "reset"}, ["padding='reset': it has 'zero' only"]),
    ({"noop_min": 3}, ["noop_min=3: it has 0 only"]),
    ({"fire_reset": "steps"}, ["fire_reset='steps': it has 'off' and 'before-noops' only"]),
    ({"life_loss": "in-skip"}, ["life_loss='in-skip' with after_life_loss='go-on'"]),
    ({"after_life_loss": "noops"}, ["life_loss='after-skip' with after_life_loss='noops'"]),
    ({"count_reset_frames": True}, ["count_reset_frames=True: it has False only"]),
    ({"count_reset_rewards": True}, ["count_reset_rewards=True: it has False only"]),
    ({"max_episode_steps": 9}, ["max_episode_steps=9: it has 0 only"]),
    ({"end_precedence": "both"}, ["end_precedence='both': it has 'terminated' only"]),
    ({"mode": 1}, ["mode=1: it has None only"]),
    ({"difficulty": 1}, ["difficulty=1: it has None only"]),
    ({"seeding": "hashed"}, ["seeding='hashed': it has 'raw' only"]),
    ({"preset": "baselines"}, ["pooling", "last_frame", "noop_min", "fire_reset", "life_loss"]),
    ({"preset": "gymnasium"}, ["padding", "count_reset_frames", "end_precedence", "seeding"]),
    ({"preset": "envpool"}, ["last_frame", "padding", "fire_reset", "max_episode_steps"]),
]


@pytest.mark.parametrize(("settings", "parts"), ALE_LACKS)
@pytest.mark.usefixtures("without_native")
def test_ale_refuses_what_it_lacks_and_auto_goes_elsewhere(settings: dict, parts: list) -> None:
    assert chosen(**settings) == "sync"
    with pytest.raises(UnsupportedError) as refusal:
        chosen(backend="ale", **settings)
    message = str(refusal.value)
    assert message.startswith(f'backend "ale" cannot serve `{GAME}`: ')
    assert message.endswith('; use backend="sync" or "async"')
    assert all(part in message for part in parts)
    assert message.count("; ") == max(1, message.count(" only")), "one obstacle each, no more"


NATIVE_LACKS = [
    ({"wrappers": (ClipReward,)}, "wrappers: its envs are stepped in Rust"),
]


@pytest.mark.parametrize(
    "settings", [*ALE_HAS, *(settings for settings, _ in ALE_LACKS), {"video_dir": "unused"}]
)
def test_native_comes_first_wherever_it_is_proved(settings: dict) -> None:
    assert chosen(**settings) == "native"


@pytest.mark.parametrize(("settings", "reason"), NATIVE_LACKS)
def test_native_refuses_what_it_lacks_and_auto_goes_elsewhere(settings: dict, reason: str) -> None:
    assert chosen(**settings) == "sync"
    with pytest.raises(UnsupportedError, match=f'^backend "native" cannot serve .*: {reason};'):
        chosen(backend="native", **settings)


def test_native_refuses_games_that_are_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen("ALE/Superman-v5", sticky_actions=0.0) == "ale"
    with pytest.raises(UnsupportedError, match=r"cannot serve `ALE/Sup.*; use backend=\"ale\" or"):
        chosen("ALE/Superman-v5", backend="native", sticky_actions=0.0)
    with pytest.raises(UnsupportedError, match="it is no Atari game"):
        chosen("CartPole-v1", backend="native")


def test_native_has_one_recipe_for_all_games() -> None:
    games = [GAME, "ALE/Pong-v5"]
    settings = any_settings(recipe=replace(PRESETS["gymnasium"], full_action_space=True))
    assert choose_backend(request_batch(games, 2, settings)).name == "sync"
    settings = replace(settings, sticky_actions=0.1)
    assert choose_backend(request_batch(games, 2, settings)).name == "native"


@pytest.mark.usefixtures("without_native")
def test_without_its_module_native_says_how_to_install_it() -> None:
    remedy = r"atari_core is not installed \(pip install atari-core==.*\); use backend=\"ale\""
    with pytest.raises(UnsupportedError, match=remedy):
        chosen(backend="native")
    with pytest.raises(UnsupportedError, match=r"pip install atari-core==.*\); use backend="):
        make_env(GAME, backend="native")


@pytest.mark.usefixtures("without_native")
def test_a_missing_module_is_told_where_the_slow_one_serves() -> None:
    with pytest.warns(UserWarning, match='"sync" runs .* atari_core is not installed .*="sync"'):
        assert chosen(preset="baselines") == "sync"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chosen() == "ale"
        assert chosen(preset="baselines", backend="sync") == "sync"
        assert chosen("CartPole-v1") == "sync"


def broken_by_its_import(folder: Path) -> str:
    (folder / "atari_core.py").write_text("import no_library_of_that_name")
    return "No module named 'no_library_of_that_name'"


def broken_by_its_library(folder: Path) -> str:
    (folder / "atari_core.py").write_text("raise ImportError('wrong ELF class')")
    return "wrong ELF class"


def without_a_function(folder: Path) -> str:
    (folder / "atari_core.py").write_text("AtariVecEnv = actions = None")
    return "it has no obstacle"


@pytest.mark.parametrize("spoil", [broken_by_its_import, broken_by_its_library, without_a_function])
def test_a_broken_module_is_not_a_missing_one(
    spoil: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = f"installed and cannot be used .{spoil(tmp_path)}"
    monkeypatch.delitem(sys.modules, "atari_core", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(UserWarning, match=f'"ale" runs the envs, .* {reason}'):
        assert chosen() == "ale"
    with pytest.raises(UnsupportedError, match=reason):
        chosen(backend="native")
    assert chosen(backend="sync", preset="baselines") == "sync"


def test_a_folder_of_its_name_is_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "atari_core").mkdir()
    monkeypatch.delitem(sys.modules, "atari_core", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(UnsupportedError, match="atari_core is not installed"):
        chosen(backend="native")


# As one that is older than a part.
def test_a_part_that_the_module_does_not_know_keeps_only_native_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = pytest.importorskip("atari_core")

    def obstacle(rom: str, parts: dict[str, Any], num_players: int) -> str | None:
        if "resizing" in parts:
            raise ValueError(f"resizing={parts['resizing']} is no part of a recipe of atari_core")
        return core_obstacle(rom, parts, num_players)

    core_obstacle = core.obstacle
    monkeypatch.setattr(core, "obstacle", obstacle)
    assert chosen(preset="baselines") == "native"
    assert chosen(preset="cleanrl") == "sync"
    assert chosen(preset="cleanrl", backend="sync") == "sync"
    with pytest.raises(
        UnsupportedError, match=r'"native" cannot serve .*: resizing=rgb is no part'
    ):
        chosen(preset="cleanrl", backend="native")


def test_a_batch_says_why_auto_passed_faster_ones_over(
    open_vec: Callable[..., VecEnv], tmp_path: Path
) -> None:
    assert open_vec(GAME, 1).passed_over == {}
    assert open_vec("ALE/Superman-v5", 1, backend="sync", sticky_actions=0.0).passed_over == {}
    vec = open_vec("ALE/Superman-v5", 1, sticky_actions=0.0, video_dir=tmp_path)
    assert list(vec.passed_over) == ["native", "ale"]
    assert vec.passed_over["native"].startswith("superman is not proved")
    assert vec.passed_over["ale"] == "video_dir: it shows no raw frames"


def test_every_obstacle_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"img_dir: .*; batch_size=1.*; padding.*; noop_min"):
        chosen(backend="ale", img_dir="unused", batch_size=1, padding="reset", noop_min=1)
    assert not Path("unused").exists()


@pytest.mark.filterwarnings("ignore:preset='baselines' has no effect")
@pytest.mark.parametrize("settings", [{}, {"preset": "baselines"}, {"autoreset": "disabled"}])
@pytest.mark.parametrize("backend", ["sync", "async"])
def test_the_others_serve_everything(backend: str, settings: dict) -> None:
    for env_id in (GAME, "ModePong-v0", "CartPole-v1"):
        assert chosen(env_id, backend=backend, **settings) == backend


@pytest.mark.filterwarnings("ignore:preset='baselines' has no effect")
@pytest.mark.usefixtures("without_native")
def test_ids_that_ale_cannot_serve() -> None:
    assert chosen("SkiingNoFrameskip-v4", continuous=True) == "sync"
    assert chosen("SkiingNoFrameskip-v4") == chosen(GAME, continuous=True) == "ale"
    assert chosen("CartPole-v1") == chosen("ModePong-v0") == "sync"
    with pytest.raises(UnsupportedError, match="it is no Atari game; use"):
        chosen("CartPole-v1", backend="ale", preset="baselines")
    with pytest.raises(
        UnsupportedError, match="mode=1: it has None only; difficulty=1: it has None only"
    ):
        chosen("ModePong-v0", backend="ale")


@pytest.mark.usefixtures("without_native")
def test_videos_are_of_raw_frames_unless_ale_is_asked_for() -> None:
    assert chosen(video_dir="unused") == "sync"
    assert chosen(video_dir="unused", backend="ale") == "ale"


@pytest.mark.parametrize("backend", get_args(BackendName))
def test_no_backend_serves_what_the_id_has_not(backend: str) -> None:
    with pytest.raises(UnsupportedError, match="num_players=2: `BreakoutNoFrameskip-v4`"):
        chosen("BreakoutNoFrameskip-v4", backend=backend, num_players=2)


def test_the_refusal_comes_before_any_env() -> None:
    with pytest.raises(UnsupportedError, match="padding"):
        make_vec(GAME, 10**9, any_settings(backend="ale", padding="reset"))


def test_every_backend_of_the_settings_is_one() -> None:
    assert ("auto", *(backend.name for backend in BACKENDS)) == get_args(BackendName)


def test_auto_asks_only_backends_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "BACKENDS", tuple(reversed(BACKENDS)))
    assert chosen() == "sync"


def test_who_makes_failed_envs_anew_is_told() -> None:
    with pytest.warns(UserWarning, match='=restart has no effect: .* only backend="sync" or "as'):
        chosen(backend="ale", on_worker_failure="restart")


@pytest.mark.parametrize(
    ("backend", "name", "reader"),
    [
        ("ale", "num_workers", "async"),
        ("sync", "num_threads", 'native" or "ale'),
        ("async", "num_threads", 'native" or "ale'),
        ("auto", "num_workers", "async"),
        ("sync", "worker_timeout", "async"),
        ("native", "start_timeout", "async"),
    ],
)
def test_a_setting_that_only_another_backend_reads_is_told(
    backend: str, name: str, reader: str
) -> None:
    with pytest.warns(UserWarning, match=f'{name}=2 has no effect: .*backend="{reader}"') as told:
        chosen(backend=backend, **{name: 2})
    assert [str(Path(one.filename).name) for one in told] == [Path(__file__).name]
