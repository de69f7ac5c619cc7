"""Videos on `ale`, which shows only observations: one picture per agent step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from videos import assert_same_pictures, names, read_video

from atari_wrappers import Settings, make_vec
from atari_wrappers.recording.observations import ObservationRecorder

GAME = "PongNoFrameskip-v4"


def batch(*values: int, shape: tuple[int, ...] = (4, 21, 17)) -> np.ndarray:
    """Return a batch of observations whose newest frames are flat pictures of these values."""
    obs = np.full((len(values), *shape), 250, np.uint8)
    for row, value in enumerate(values):
        obs[row, -1] = value
    return obs


def values(path: Path) -> list[int]:
    """Return the values of flat pictures to the nearest ten: H.264 may be one off."""
    return [10 * round(float(picture.mean()) / 10) for picture in read_video(path)[0]]


def test_a_game_ends_with_its_last_observation(tmp_path: Path) -> None:
    recorder = ObservationRecorder(2, Settings(video_dir=tmp_path))
    recorder.after_reset([0, 1])
    recorder.after_step([0, 1], batch(10, 20), np.array([False, False]), None)
    recorder.after_step([0, 1], batch(90, 30), np.array([True, False]), batch(40, 0))
    recorder.after_step([1, 0], batch(50, 100), np.array([False, False]), None)
    recorder.close()
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game1.mp4", "env1-game0.mp4"]
    assert values(tmp_path / "env0-game0.mp4") == [10, 40]
    assert values(tmp_path / "env0-game1.mp4") == [100]
    assert values(tmp_path / "env1-game0.mp4") == [20, 30, 50]


def test_the_step_that_only_restarts_is_left_out(tmp_path: Path) -> None:
    recorder = ObservationRecorder(1, Settings(video_dir=tmp_path, autoreset="next-step"))
    recorder.after_reset([0])
    for value, over in [(10, False), (20, True), (30, False), (40, False)]:
        recorder.after_step([0], batch(value), np.array([over]))
    recorder.close()
    assert values(tmp_path / "env0-game0.mp4") == [10, 20]
    assert values(tmp_path / "env0-game1.mp4") == [40]


def test_a_reset_of_some_envs_ends_their_games(tmp_path: Path) -> None:
    recorder = ObservationRecorder(2, Settings(video_dir=tmp_path, record_every=2))
    recorder.after_reset([0, 1])
    for value in (10, 20, 30):
        recorder.after_step([0, 1], batch(value, value + 100), np.array([False, False]))
        recorder.after_reset([0])
    recorder.close()
    assert names(tmp_path) == ["env0-game0.mp4", "env0-game2.mp4", "env1-game0.mp4"]
    assert values(tmp_path / "env0-game2.mp4") == [30]
    assert values(tmp_path / "env1-game0.mp4") == [110, 120, 130]


def test_colours_are_kept(tmp_path: Path) -> None:
    recorder = ObservationRecorder(1, Settings(video_dir=tmp_path, grayscale=False))
    recorder.after_reset([0])
    obs = batch(0, shape=(2, 12, 10, 3))
    obs[0, -1] = (200, 30, 90)
    recorder.after_step([0], obs, np.array([False]))
    recorder.close()
    assert_same_pictures(read_video(tmp_path / "env0-game0.mp4")[0], [obs[0, -1]])


def test_games_that_are_given_up_are_dropped_if_so_set(tmp_path: Path) -> None:
    recorder = ObservationRecorder(2, Settings(video_dir=tmp_path, record_unfinished=False))
    recorder.after_reset([0, 1])
    recorder.after_step([0, 1], batch(10, 20), np.array([False, False]))
    recorder.after_reset([0])
    recorder.after_step([0, 1], batch(30, 40), np.array([True, False]))
    recorder.after_step([0, 1], batch(50, 60), np.array([False, False]))
    recorder.close()
    assert names(tmp_path) == ["env0-game0.mp4"]
    assert values(tmp_path / "env0-game0.mp4") == [30]


def test_a_video_that_cannot_be_finished_leaves_no_other_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = ObservationRecorder(3, Settings(video_dir=tmp_path))
    recorder.after_reset([0, 1, 2])
    recorder.after_step([0, 1, 2], batch(10, 20, 30), np.zeros(3, bool))
    (tmp_path / "env1-game0.mp4.part").unlink()
    recorder.close()
    [record] = caplog.records
    assert "env1-game0.mp4` is lost: FileNotFoundError" in record.getMessage()
    assert names(tmp_path) == ["env0-game0.mp4", "env2-game0.mp4"]


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_ale_records_what_it_observes(tmp_path: Path, autoreset: str) -> None:
    settings: dict[str, Any] = {"max_episode_frames": 80, "autoreset": autoreset}
    vec = make_vec(GAME, 2, preset="ale", backend="ale", video_dir=tmp_path, **settings)
    shown: list[list[list[np.ndarray]]] = [[[]], [[]]]
    restarting = np.zeros(2, bool)
    rng = np.random.default_rng(5)
    vec.reset(seed=3)
    for _ in range(50):
        obs, *_, info = vec.step(rng.integers(6, size=2))
        over = info["game_terminated"] | info["game_truncated"]
        for index in np.flatnonzero(~restarting):
            last = info["final_obs"] if over[index] and autoreset == "same-step" else obs
            shown[index][-1].append(last[index, -1])
            if over[index]:
                shown[index].append([])
        restarting = over & (autoreset == "next-step")
    vec.close()
    games = {
        f"env{index}-game{game}.mp4": pictures
        for index in range(2)
        for game, pictures in enumerate(shown[index])
        if pictures
    }
    assert len(games) >= 4
    assert names(tmp_path) == sorted(games)
    for name, pictures in games.items():
        video, rate = read_video(tmp_path / name)
        assert rate == 15
        assert_same_pictures(video, [np.stack([picture] * 3, axis=-1) for picture in pictures])
