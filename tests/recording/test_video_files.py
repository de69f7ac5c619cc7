"""Which games become files, those not played to their end among them, and how they are called."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from any_settings import any_settings
from videos import SHORT, assert_same_pictures, names, play_game, random_actions, read_video

from atari_wrappers import Settings, make_env, make_vec
from atari_wrappers.recording.video import VideoFile


def test_the_first_and_every_nth_game_is_recorded(tmp_path: Path) -> None:
    env = make_env("PongNoFrameskip-v4", Settings(**SHORT, video_dir=tmp_path, record_every=3))
    for game in range(6):
        play_game(env, random_actions(6, seed=game))
    env.reset()  # a seventh one, of which nothing is played
    env.close()
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game3.mp4"]


def test_an_unfinished_game_becomes_a_file_on_close(tmp_path: Path) -> None:
    env = make_env("PongNoFrameskip-v4", Settings(video_dir=tmp_path))
    env.reset(seed=1)
    for _ in range(5):
        *_, info = env.step(0)
    assert names(tmp_path) == ["env0-game0.mp4.part"]
    env.close()
    env.close()
    assert names(tmp_path) == ["env0-game0.mp4"]
    assert len(read_video(tmp_path / "env0-game0.mp4")[0]) == info["episode_frames"]


def test_a_file_that_nothing_refers_to_is_finished(tmp_path: Path) -> None:
    file = VideoFile(tmp_path / "a.mp4", Fraction(60), (8, 6))
    file.write(np.full((8, 6), 70, np.uint8))
    del file
    assert_same_pictures(read_video(tmp_path / "a.mp4")[0], [np.full((8, 6, 3), 70)])
    file = VideoFile(tmp_path / "b.mp4", Fraction(60), (8, 6), is_kept=False)
    file.write(np.full((8, 6), 70, np.uint8))
    del file
    assert names(tmp_path) == ["a.mp4"]


def test_a_file_that_cannot_be_opened_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    VideoFile(Path("game:1.mp4"), Fraction(60), (8, 6)).write(np.zeros((8, 6), np.uint8))
    assert names(tmp_path) == ["game:1.mp4"]  # a colon is no protocol
    with pytest.raises(Exception, match="Invalid"):
        VideoFile(Path("b.mp4"), Fraction(60), (0, 0))
    assert names(tmp_path) == ["game:1.mp4"]


def test_a_reset_in_mid_game_ends_the_video(tmp_path: Path) -> None:
    env = make_env("PongNoFrameskip-v4", any_settings(video_dir=tmp_path, noop_min=5, noop_max=5))
    env.reset(seed=1)
    env.step(0)
    env.reset(seed=2)
    env.reset(seed=3)  # a game of no step has no file
    env.step(0)
    env.step(0)
    env.close()
    counts = [len(read_video(tmp_path / name)[0]) for name in names(tmp_path)]
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game1.mp4"]
    *_, info = make_env("PongNoFrameskip-v4", any_settings(noop_min=5, noop_max=5)).reset(seed=1)
    assert counts == [info["episode_frames"] + 4, info["episode_frames"] + 8]


def test_numbers_go_on_behind_the_videos_that_are_there(tmp_path: Path) -> None:
    for run in range(3):
        env = make_env("PongNoFrameskip-v4", Settings(video_dir=tmp_path, record_every=2))
        env.reset(seed=run)
        env.step(0)
        if run == 1:
            (tmp_path / "env0-game4.mp4.part").touch()  # as a process leaves it that was killed
        env.close()
    expected = ["env0-game0.mp4", "env0-game2.mp4", "env0-game4.mp4.part", "env0-game6.mp4"]
    assert names(tmp_path) == expected


def test_another_record_every_replaces_no_game(tmp_path: Path) -> None:
    folder = {"video_dir": tmp_path}
    contents: dict[str, bytes] = {}
    for every, recorded in ((3, (0, 3)), (2, (4, 6)), (1, (7, 8, 9))):
        env = make_env("PongNoFrameskip-v4", Settings(**SHORT, **folder, record_every=every))
        for game in range(every * len(recorded)):
            play_game(env, random_actions(6, seed=game))
        env.close()
        for game in recorded:
            contents[f"env0-game{game}.mp4"] = (tmp_path / f"env0-game{game}.mp4").read_bytes()
    assert names(tmp_path) == sorted(contents)
    assert all((tmp_path / name).read_bytes() == was for name, was in contents.items())


def test_two_envs_of_one_number_replace_nothing(tmp_path: Path) -> None:
    settings = Settings(**SHORT, video_dir=tmp_path)
    envs = [make_env("PongNoFrameskip-v4", settings) for _ in range(2)]
    for game in range(2):
        for env in envs:
            play_game(env, random_actions(6, seed=game))
    for env in envs:
        env.close()
    assert names(tmp_path) == [f"env0-game{game}.mp4" for game in range(4)]


def test_a_game_that_was_given_up_leaves_nothing_if_so_set(tmp_path: Path) -> None:
    settings = Settings(**SHORT, video_dir=tmp_path, record_unfinished=False)
    env = make_env("PongNoFrameskip-v4", settings)
    for game in range(2):
        env.reset(seed=game)
        env.step(0)  # given up by the reset
        play_game(env, random_actions(6, seed=game), seed=game)
    env.reset()
    env.step(0)
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game1.mp4", "env0-game2.mp4.part"]
    env.close()
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game1.mp4"]


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_a_game_that_ends_within_a_reset_was_not_given_up(tmp_path: Path, backend: str) -> None:
    # This life is lost at frame 405, and the no-op after it reaches the limit.
    limit = {"max_episode_frames": 407}
    settings = {"preset": "baselines", "backend": backend, "record_unfinished": False, **limit}
    with make_vec("BreakoutNoFrameskip-v4", 1, video_dir=tmp_path, **settings) as vec:
        _, info = vec.reset(seed=1)
        while "_episode" not in info:
            *_, info = vec.step([2])
        assert info["final_info"]["lives"][0] == 4
        vec.step([2])
    assert names(tmp_path) == ["env0-game0.mp4"]
    [frames] = info["episode"]["frames"]
    assert len(read_video(tmp_path / "env0-game0.mp4")[0]) == frames
