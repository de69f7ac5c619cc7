"""`video_envs`: which envs of a batch have videos."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backends import BACKENDS
from videos import names

from atari_wrappers import Settings, VecEnv, make_env

OpenVec = Callable[..., VecEnv]
GAME = "BreakoutNoFrameskip-v4"


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_these_envs_are_recorded(backend: str, tmp_path: Path, open_vec: OpenVec) -> None:
    vec = open_vec(
        GAME, 3, backend=backend, video_dir=tmp_path, video_envs=[2, 0], max_episode_frames=60
    )
    vec.reset(seed=0)
    for _ in range(35):
        vec.step([0, 0, 0])
    vec.close()
    assert {name[:4] for name in names(tmp_path)} == {"env0", "env2"}
    assert {"env0-game0.mp4", "env2-game0.mp4", "env2-game1.mp4"} <= set(names(tmp_path))


def test_frames_are_saved_of_all_envs_beside(tmp_path: Path, open_vec: OpenVec) -> None:
    vec = open_vec(
        GAME, 2, img_dir=tmp_path / "f", video_dir=tmp_path / "v", video_envs=[1], noop_max=0
    )
    vec.reset(seed=0)
    vec.step([0, 0])
    vec.close()
    assert {path.name[:4] for path in (tmp_path / "f").glob("*.png")} == {"out0", "out1"}
    assert names(tmp_path / "v") == ["env1-game0.mp4"]


def test_an_env_alone_is_recorded_by_its_place(tmp_path: Path) -> None:
    for index in range(2):
        env = make_env("CartPole-v1", env_index=index, video_dir=tmp_path, video_envs=[1])
        env.reset()
        env.step(0)
        env.close()
    assert names(tmp_path) == ["env1-game0.mp4"]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([], ValueError, r"video_envs must name at least one env, and none twice, not \[\]"),
        ([1, 1], ValueError, "none twice"),
        ([-1], ValueError, "video_envs must be at least 0, not -1"),
        ([0.5], TypeError, "video_envs must be an integer, not 0.5"),
        (0, TypeError, r"video_envs must be a list of envs, such as \[0\], not 0"),
        ([2], ValueError, "video_envs: no env 2 among 0 to 1"),
    ],
)
def test_other_values_are_refused(
    value: Any, error: type[Exception], message: str, tmp_path: Path, open_vec: OpenVec
) -> None:
    with pytest.raises(error, match=message):
        open_vec(GAME, 2, video_dir=tmp_path, video_envs=value)


def test_without_a_folder_a_warning_says_that_it_has_no_effect(open_vec: OpenVec) -> None:
    with pytest.warns(UserWarning, match="video_envs=.0,. has no effect: there is no video_dir"):
        open_vec(GAME, 1, video_envs=[0])
    assert Settings(video_envs=range(2)).video_envs == (0, 1)
