"""Videos of games: that every frame is in them, and what ends them early."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backends import OPEN
from drawing import DrawingEnv
from games import raw_game
from videos import SHORT, assert_same_pictures, names, play_game, random_actions, read_video

from atari_wrappers import Settings, UnsupportedError, make_env, make_vec
from atari_wrappers.game.env import AtariGame
from atari_wrappers.recording.recorder import make_recorder
from atari_wrappers.request import request_env


def watched(env_id: str, settings: Settings) -> tuple[AtariGame, list[np.ndarray]]:
    """Return a bare game, and a list that receives what it shows after each emulated frame."""
    shown: list[np.ndarray] = []
    request = request_env(env_id, settings)
    game = AtariGame(request.env_id, request.recipe, on_frame=lambda: shown.append(game.render()))
    return game, shown


def play_batch(vec: Any, steps: int) -> list[list[int]]:
    """Play seeded random actions; return, by env, the frames of each game, the open one too."""
    rng = np.random.default_rng(1)
    frames: list[list[int]] = [[] for _ in range(vec.num_envs)]
    _, info = vec.reset(seed=11)
    for _ in range(steps):
        *_, info = vec.step(rng.integers(vec.single_action_space.n, size=vec.num_envs))
        for index in np.flatnonzero(info.get("_episode", [])):
            frames[index].append(int(info["episode"]["frames"][index]))
    has_begun = (info["episode_length"] > 0) & ~info["game_terminated"] & ~info["game_truncated"]
    for index in np.flatnonzero(has_begun):
        frames[index].append(int(info["episode_frames"][index]))
    return frames


def test_a_video_shows_each_frame_of_a_whole_game(tmp_path: Path) -> None:
    # Nothing but the actions decides this game: gymnasium's raw env shows what was to be seen.
    settings = Settings(preset="gymnasium", noop_max=0, video_dir=tmp_path / "new" / "folder")
    env = make_env("BreakoutNoFrameskip-v4", settings, env_index=3)
    played: list[int] = []

    def actions() -> Iterator[int]:
        for action in random_actions(4):
            played.append(action)
            yield action

    info = play_game(env, actions(), seed=2)
    assert names(tmp_path / "new" / "folder") == ["env3-game0.mp4"]
    twin = raw_game("Breakout", obs_type="rgb")
    twin.reset(seed=2)
    shown, over = [], False
    for action in played:
        for _ in range(4):
            if not over:
                screen, _, over, *_ = twin.step(action)
                shown.append(screen)
    assert over
    assert len(shown) == info["episode_frames"]
    video, rate = read_video(tmp_path / "new" / "folder" / "env3-game0.mp4")
    assert rate == 60
    assert_same_pictures(video, shown)
    env.close()


def test_a_lost_life_does_not_cut_the_video(tmp_path: Path) -> None:
    settings = Settings(preset="baselines", video_dir=tmp_path)
    env = make_env("BreakoutNoFrameskip-v4", settings)
    twin, shown = watched("BreakoutNoFrameskip-v4", settings)
    infos = [play_game(each, random_actions(4), seed=1) for each in (env, twin)]
    assert infos[0] == infos[1]
    assert infos[0]["episodes"] == 5
    assert infos[0]["episode_frames"] == len(shown)
    assert_same_pictures(read_video(tmp_path / "env0-game0.mp4")[0], shown)
    assert names(tmp_path) == ["env0-game0.mp4"]
    env.close()


@pytest.mark.parametrize("backend", OPEN)
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_each_env_of_a_batch_is_recorded(tmp_path: Path, backend: str, autoreset: str) -> None:
    settings = {**SHORT, "autoreset": autoreset, "video_dir": tmp_path}
    settings["num_workers"] = 2 if backend == "async" else 0
    vec = make_vec("SpaceInvadersNoFrameskip-v4", 3, backend=backend, record_every=2, **settings)
    frames = play_batch(vec, 40)
    vec.close()
    expected = {
        f"env{index}-game{game}.mp4": count
        for index, games in enumerate(frames)
        for game, count in enumerate(games)
        if game % 2 == 0
    }
    assert len(expected) >= 6
    assert names(tmp_path) == sorted(expected)
    for name, count in expected.items():
        assert len(read_video(tmp_path / name)[0]) == count, name


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_envs_of_a_batch_do_not_mix_their_pictures(tmp_path: Path, backend: str) -> None:
    settings = Settings(preset="baselines", sticky_actions=0.25, video_dir=tmp_path)
    vec = make_vec("SpaceInvadersNoFrameskip-v4", 2, settings, backend=backend)
    vec.reset(seed=[4, 9])
    for _ in range(8):
        vec.step([2, 3])
    vec.close()
    for index, (seed, action) in enumerate([(4, 2), (9, 3)]):
        twin, shown = watched("SpaceInvadersNoFrameskip-v4", settings)
        twin.reset(seed=seed)
        for _ in range(8):
            twin.step(action)
        assert_same_pictures(read_video(tmp_path / f"env{index}-game0.mp4")[0], shown)


def test_a_restored_state_goes_on_in_the_same_video(tmp_path: Path) -> None:
    env = make_env("PongNoFrameskip-v4", Settings(preset="gymnasium", video_dir=tmp_path))
    *_, info = env.reset(seed=1)
    env.step(2)
    state = env.get_wrapper_attr("save_state")()
    env.step(3)
    env.get_wrapper_attr("restore_state")(state)
    env.step(2)
    env.close()
    [name] = names(tmp_path)
    assert len(read_video(tmp_path / name)[0]) == info["episode_frames"] + 12


def test_a_game_that_ends_within_a_reset_is_told_from_the_next(tmp_path: Path) -> None:
    recorder = make_recorder(Settings(video_dir=tmp_path), env_index=0)
    assert recorder is not None
    game = DrawingEnv()
    game.ended_in_reset = False
    game.reset()
    recorder.watch(game)

    def emulate(*numbers: int) -> None:
        for number in numbers:
            game.is_first_frame = number == 1
            recorder.on_frame()

    emulate(1, 2)
    recorder.after_step(game_over=False)
    # The reset after a lost life: a no-op ends the game, no-ops end another, a third one begins.
    emulate(3, 1, 2, 3, 1)
    recorder.after_step(game_over=False)
    recorder.close()
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game1.mp4"]
    lengths = [len(read_video(tmp_path / name)[0]) for name in names(tmp_path)]
    assert lengths == [3, 1]


def test_a_recording_that_cannot_be_ended_leaves_no_env_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    env = make_env("drawing:Drawing-v0", Settings(video_dir=tmp_path))
    closed: list[bool] = []
    monkeypatch.setattr(env.unwrapped, "close", lambda: closed.append(True))
    env.reset()
    env.step(0)
    shutil.rmtree(tmp_path)
    env.close()
    assert closed == [True]
    [record] = caplog.records
    assert "env0-game0.mp4` is lost: FileNotFoundError" in record.getMessage()
    env.close()


LEAVE = """
import os, signal, sys
from atari_wrappers import make_vec
from atari_wrappers.backends.workers import group
if __name__ == "__main__":
    group.GIVE_UP_SECONDS = 120.0
    folder, backend, way = sys.argv[1:]
    vec = make_vec("PongNoFrameskip-v4", 2, preset="ale", backend=backend, video_dir=folder)
    vec.reset(seed=1)
    for _ in range(5):
        *_, info = vec.step([0, 0])
    print(info["episode_frames"][1])
    if way == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("backend", "way"),
    [("native", "exit"), ("sync", "exit"), ("async", "exit"), ("sync", "kill")],
)
def test_a_process_that_ends_without_close(tmp_path: Path, backend: str, way: str) -> None:
    script = tmp_path / "leave.py"
    script.write_text(LEAVE)
    folder = tmp_path / "videos"
    command = [sys.executable, os.fspath(script), os.fspath(folder), backend, way]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if way == "kill":
        assert ended.returncode == -signal.SIGKILL
        assert names(folder) == ["env0-game0.mp4.part", "env1-game0.mp4.part"]
    else:
        assert (ended.returncode, ended.stderr) == (0, "")
        assert names(folder) == ["env0-game0.mp4", "env1-game0.mp4"]
        assert len(read_video(folder / "env1-game0.mp4")[0]) == int(ended.stdout)


def test_a_game_for_two_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("multi_agent_ale_py")
    limit = {"preset": "gymnasium", "max_episode_frames": 60}
    vec = make_vec("PongNoFrameskip-v4", 1, num_players=2, video_dir=tmp_path, **limit)
    vec.reset(seed=1)
    lengths = []
    for _ in range(20):
        *_, info = vec.step([[2, 3]])
        if "episode" in info:
            lengths.append(int(info["episode"]["frames"][0]))
    shown = vec.render_at(0)
    vec.close()
    assert len(lengths) >= 1
    videos = [read_video(tmp_path / name)[0] for name in names(tmp_path)]
    assert [len(video) for video in videos[: len(lengths)]] == lengths
    assert_same_pictures(videos[-1][-1:], [shown])


def test_an_env_that_draws_is_recorded_step_by_step(tmp_path: Path) -> None:
    vec = make_vec("drawing:Drawing-v0", 1, video_dir=tmp_path, img_dir=tmp_path / "frames")
    vec.reset(seed=0)
    for _ in range(4):
        vec.step([0])
    vec.close()
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game1.mp4", "frames"]
    for game, values in enumerate([[1, 2, 3], [11]]):
        video, rate = read_video(tmp_path / f"env0-game{game}.mp4")
        assert rate == 30
        assert_same_pictures(video, [np.full((21, 17, 3), value) for value in values])


def test_without_pyav_the_remedy_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    for make in (make_vec, make_env):
        settings = Settings(video_dir=tmp_path)
        with pytest.raises(UnsupportedError, match=r'pip install "atari-wrappers\[video\]"'):
            make("PongNoFrameskip-v4", settings=settings)


def test_what_records_nothing_costs_nothing() -> None:
    assert type(make_env("PongNoFrameskip-v4")) is AtariGame
