"""Recordings while something happens around them: forks, other folders to work in, lost ones."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backends import LOCAL, OPEN, TWIN
from videos import names, read_video

from atari_wrappers import ClosedError, Settings, VecEnv, make_env
from atari_wrappers.recording.video import VideoFile

GAME = "PongNoFrameskip-v4"
OpenVec = Callable[..., VecEnv]


def short(backend: str) -> dict[str, Any]:
    """Return settings of games of 6 steps, or 24 frames."""
    preset = "ale" if backend == "ale" else "gymnasium"
    return {"backend": backend, "preset": preset, "noop_max": 0, "max_episode_frames": 24}


FORK = """
import os, sys
from atari_wrappers import make_vec
from atari_wrappers.backends.workers import dispatcher

if __name__ == "__main__":
    dispatcher.CLOSE_SECONDS = 120.0
    folder, backend = sys.argv[1:]
    images = {} if backend == "ale" else {"img_dir": os.path.join(folder, "images")}
    preset = "ale" if backend == "ale" else "gymnasium"
    vec = make_vec("PongNoFrameskip-v4", 2, preset=preset, noop_max=0, backend=backend,
                   video_dir=os.path.join(folder, "videos"), **images)
    vec.reset(seed=1)
    for _ in range(5):
        vec.step([0, 0])
    child = os.fork()
    if child == 0:
        if backend == "sync":  # whose games go on in the child
            vec.step([0, 0])
            vec.reset()
            vec.step([0, 0])
        sys.exit()
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    vec.step([0, 0])
    vec.close()
"""


@pytest.mark.parametrize("backend", LOCAL)
def test_a_forked_child_leaves_recordings_to_its_parent(tmp_path: Path, backend: str) -> None:
    script = tmp_path / "fork.py"
    script.write_text(FORK)
    command = [sys.executable, "-W", "ignore", os.fspath(script), os.fspath(tmp_path), backend]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    assert names(tmp_path / "videos") == ["env0-game0.mp4", "env1-game0.mp4"]
    pictures = 6 if backend == "ale" else 24
    for env in range(2):
        assert len(read_video(tmp_path / "videos" / f"env{env}-game0.mp4")[0]) == pictures
    if backend != "ale":
        assert len(names(tmp_path / "images")) == 48


@pytest.mark.parametrize("backend", LOCAL)
def test_folders_stay_where_they_were_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, open_vec: OpenVec
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(here)
    folders = {"video_dir": "videos"} | ({} if backend == "ale" else {"img_dir": "images"})
    settings = Settings(**short(backend), **folders)
    monkeypatch.chdir(elsewhere)
    vec = open_vec(GAME, 1, settings)
    vec.reset(seed=1)
    for _ in range(7):
        vec.step([0])
    vec.close()
    assert names(elsewhere) == []
    assert names(here / "videos") == ["env0-game0.mp4", "env0-game1.mp4"]
    if backend != "ale":
        assert len(names(here / "images")) == 28


def play(vec: VecEnv, steps: int) -> list[np.ndarray]:
    """Take seeded random steps, and return what was observed."""
    rng = np.random.default_rng(steps)
    return [vec.step(rng.integers(6, size=vec.num_envs))[0].copy() for _ in range(steps)]


@pytest.mark.parametrize("backend", LOCAL)
@pytest.mark.parametrize("way", ["removed", "a file"])
def test_a_folder_that_is_lost_stops_no_env(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, backend: str, way: str, open_vec: OpenVec
) -> None:
    folders = {"video_dir": tmp_path / "videos"}
    if backend != "ale":
        folders["img_dir"] = tmp_path / "images"
    vec = open_vec(GAME, 2, **short(backend), **folders)
    twin = open_vec(GAME, 2, **short(backend) | {"backend": TWIN})
    for each in (vec, twin):
        each.reset(seed=1)
    np.testing.assert_array_equal(play(vec, 3), play(twin, 3))
    for folder in folders.values():
        shutil.rmtree(folder)
        if way == "a file":
            folder.touch()
    # This game's video is lost, those of the next two have a folder again.
    np.testing.assert_array_equal(play(vec, 10), play(twin, 10))
    vec.close()
    if way == "a file":
        assert all(folder.is_file() for folder in folders.values())
    else:
        games = [f"env{env}-game{game}.mp4" for env in range(2) for game in (1, 2)]
        assert names(tmp_path / "videos") == games
        pictures = 1 if backend == "ale" else 4
        lengths = [len(read_video(tmp_path / "videos" / game)[0]) for game in games]
        assert lengths == [6 * pictures, pictures, 6 * pictures, pictures]
        if backend != "ale":
            frames = [f"out{env}-{frame:05d}.png" for env in range(2) for frame in range(12, 52)]
            assert names(tmp_path / "images") == frames
    if backend != "async":  # whose workers have the log
        assert {record.levelno for record in caplog.records} == {logging.WARNING}
        lost = [record.getMessage() for record in caplog.records]
        assert sum("env0-game0.mp4` is lost: " in text for text in lost) == 1, lost
        of_images = 2 * (way == "a file" and backend != "ale")
        of_videos = 6 if way == "a file" else 2
        assert len(lost) == of_images + of_videos, lost


def test_a_disk_that_is_full_costs_one_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from av import FFmpegError

    written = 0
    write = VideoFile.write

    def fail_once(file: VideoFile, picture: np.ndarray) -> None:
        nonlocal written
        written += 1
        if written == 10:
            raise FFmpegError(28, "No space left on device")
        write(file, picture)

    monkeypatch.setattr(VideoFile, "write", fail_once)
    env = make_env(GAME, Settings(**short("sync"), video_dir=tmp_path))
    for _ in range(2):
        env.reset(seed=1)
        for _ in range(6):
            env.step(0)
    env.close()
    assert names(tmp_path) == ["env0-game1.mp4"]
    [record] = caplog.records
    assert "env0-game0.mp4` is lost: FFmpegError: [Errno 28] No space" in record.getMessage()


class Spy:
    """Passes calls on to the core of a native batch, and counts the pictures that it filmed."""

    def __init__(self, core: Any) -> None:
        self._core, self.pictures = core, 0

    def take_film(self, index: int) -> Any:
        events, pictures = self._core.take_film(index)
        self.pictures += len(pictures)
        return events, pictures

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)


@pytest.mark.parametrize("unfinished", [True, False])
@pytest.mark.parametrize("backend", ["ale", "native", "sync"])
def test_frames_of_games_that_are_not_recorded_are_not_taken(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    unfinished: bool,
    open_vec: OpenVec,
) -> None:
    settings = {"record_every": 2, "record_unfinished": unfinished, "video_dir": tmp_path}
    vec = open_vec(GAME, 1, **short(backend), **settings)
    written = 0
    write = VideoFile.write

    def count(file: VideoFile, picture: np.ndarray) -> None:
        nonlocal written
        written += 1
        write(file, picture)

    monkeypatch.setattr(VideoFile, "write", count)
    taken = 0
    if backend == "native":
        [view] = vec._backend._views
        view._core = spy = Spy(view._core)
    elif backend == "sync":
        [env] = vec.get_sub_environments()
        render = env.unwrapped.render

        def count_render() -> np.ndarray:
            nonlocal taken
            taken += 1
            return render()

        monkeypatch.setattr(env.unwrapped, "render", count_render)
    vec.reset(seed=1)
    play(vec, 8)  # game 0, and two steps of game 1
    vec.reset()  # which is given up, and is no game if `record_unfinished` is off
    play(vec, 40)
    vec.close()
    # After it come six games of 6 steps, and 4 steps of one more: game 8, or game 7.
    games = [0, 2, 4, 6, 8] if unfinished else [0, 2, 4, 6]
    assert names(tmp_path) == [f"env0-game{game}.mp4" for game in games]
    pictures = sum(len(read_video(path)[0]) for path in tmp_path.iterdir())
    assert pictures == (28 if unfinished else 24) * (1 if backend == "ale" else 4)
    assert written == pictures
    if backend != "ale":
        assert (spy.pictures if backend == "native" else taken) == pictures


@pytest.mark.parametrize("backend", OPEN)
def test_games_of_a_mode_that_takes_frames_to_choose_are_told_apart(
    tmp_path: Path, backend: str, open_vec: OpenVec
) -> None:
    """ALE counts those frames: the first that is shown of such a game is its thirtieth."""
    settings = {"preset": "gymnasium", "noop_max": 0, "mode": 15, "video_dir": tmp_path}
    vec = open_vec("SpaceInvadersNoFrameskip-v4", 1, backend=backend, **settings)
    for _ in range(2):
        *_, info = vec.reset(seed=1)
        assert info["episode_frames"][0] > 1
        play(vec, 3)
    vec.close()
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game1.mp4"]
    for name in names(tmp_path):
        assert len(read_video(tmp_path / name)[0]) == 12


@pytest.mark.parametrize(
    ("picture", "problem"),
    [
        (None, "returned no array, but None"),
        (np.zeros((4, 6, 3)), r"returned float64 \[4, 6, 3\], not uint8"),
        (np.zeros((4, 6, 4), np.uint8), r"returned uint8 \[4, 6, 4\], not uint8"),
    ],
)
def test_pictures_that_are_none_stop_no_env(
    picture: Any, problem: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = make_env("peer_envs:Box-v0", img_dir=tmp_path / "f", video_dir=tmp_path / "v")
    env.unwrapped.render = lambda: picture
    with caplog.at_level(logging.WARNING):
        env.reset(seed=0)
        for _ in range(3):
            env.step(env.action_space.sample())
        env.close()
    [line] = [record.getMessage() for record in caplog.records]
    assert re.search(f"the recording .* is lost: TypeError: render.. {problem}", line), line
    assert not list((tmp_path / "f").iterdir()) + list((tmp_path / "v").iterdir())


def test_a_recorded_game_has_what_a_game_has(tmp_path: Path) -> None:
    with make_env(GAME, video_dir=tmp_path) as env:
        env.reset(seed=1)
        state = env.save_state()
        ram = env.ale.getRAM()
        env.step(0)
        env.restore_state(state)
        np.testing.assert_array_equal(env.ale.getRAM(), ram)
        assert env.get_action_meanings()[0] == "NOOP"
        assert not hasattr(env, "nothing")


def test_a_game_that_was_closed_plays_and_records_no_more(tmp_path: Path) -> None:
    env = make_env(GAME, video_dir=tmp_path, backend="sync")
    env.reset(seed=1)
    env.step(0)
    env.close()
    for call in (lambda: env.step(0), env.reset):
        with pytest.raises(ClosedError, match="it was closed"):
            call()
    assert names(tmp_path) == ["env0-game0.mp4"]
