"""Dumps of frames: which files there are, what is in them, and which folders are refused."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from any_settings import any_settings
from backends import OPEN
from games import raw_game
from scripted import ScriptedGame
from videos import names, read_png

from atari_wrappers import Settings, UnsupportedError, make, make_env, make_vec
from atari_wrappers.recording.files import FrameFiles, prepare_folder
from atari_wrappers.wrappers import ImageSaver, MaxAndSkip


def screens(game: str, seed: int, actions: list[int]) -> list[np.ndarray]:
    """Return what gymnasium's env of the raw game shows after each frame."""
    env = raw_game(game, obs_type="rgb")
    env.reset(seed=seed)
    return [env.step(action)[0] for action in actions]


@pytest.mark.parametrize("backend", ["auto", "native"])
def test_an_env_dumps_every_emulated_frame(tmp_path: Path, backend: str) -> None:
    folder = tmp_path / "a" / "b"
    settings = Settings(preset="gymnasium", noop_max=0, img_dir=folder, backend=backend)
    env = make_env("BreakoutNoFrameskip-v4", settings, env_index=2)
    env.reset(seed=5)
    assert names(tmp_path / "a" / "b") == []
    agent_actions = [1, 2, 3, 3, 2, 1, 2, 2]
    for action in agent_actions:
        env.step(action)
    env.close()
    assert names(tmp_path / "a" / "b") == [f"out2-{frame:05d}.png" for frame in range(32)]
    expected = screens("Breakout", 5, [action for action in agent_actions for _ in range(4)])
    for frame, screen in enumerate(expected):
        np.testing.assert_array_equal(
            read_png(tmp_path / "a" / "b" / f"out2-{frame:05d}.png"), screen
        )


@pytest.mark.parametrize("backend", ["auto", "native"])
def test_frames_of_a_reset_are_dumped_too(tmp_path: Path, backend: str) -> None:
    # SB3's recipe: 3 no-ops, then FIRE and action 2 for a whole step each.
    settings = any_settings(preset="baselines", noop_min=3, noop_max=3, img_dir=tmp_path)
    env = make_env("BreakoutNoFrameskip-v4", settings, backend=backend)
    _, info = env.reset(seed=5)
    env.close()
    assert info["episode_frames"] == 11
    expected = screens("Breakout", 5, [0] * 3 + [1] * 4 + [2] * 4)
    assert len(names(tmp_path)) == 11
    for frame, screen in enumerate(expected):
        np.testing.assert_array_equal(read_png(tmp_path / f"out0-{frame:05d}.png"), screen)


@pytest.mark.parametrize("backend", OPEN)
def test_each_env_of_a_batch_dumps_its_own(tmp_path: Path, backend: str) -> None:
    settings = {"preset": "gymnasium", "noop_max": 0, "img_dir": tmp_path}
    workers = 2 if backend == "async" else 0
    vec = make_vec("PongNoFrameskip-v4", 3, backend=backend, num_workers=workers, **settings)
    vec.reset(seed=7)
    for _ in range(3):
        vec.step([1, 2, 3])
    vec.close()
    assert len(names(tmp_path)) == 36
    for index in range(3):
        expected = screens("Pong", 7 + index, [index + 1] * 12)
        for frame, screen in enumerate(expected):
            np.testing.assert_array_equal(
                read_png(tmp_path / f"out{index}-{frame:05d}.png"), screen
            )


def test_numbers_go_on_behind_the_files_that_are_there(tmp_path: Path) -> None:
    picture = np.zeros((2, 2, 3), np.uint8)
    for _ in range(2):
        files = FrameFiles(tmp_path, 1)
        files.write(picture)
        files.write(picture)
    FrameFiles(tmp_path, 0).write(picture)
    assert names(tmp_path) == ["out0-00000.png", *(f"out1-{frame:05d}.png" for frame in range(4))]


def test_a_gap_in_the_numbers_is_left(tmp_path: Path) -> None:
    for name in ("out1-00000.png", "out1-00004.png", "out1-100000.png", "out11-200000.png"):
        (tmp_path / name).write_text("kept")
    files = FrameFiles(tmp_path, 1)
    for _ in range(2):
        files.write(np.zeros((2, 2, 3), np.uint8))
    kept = [path.name for path in tmp_path.iterdir() if path.read_bytes() == b"kept"]
    assert len(kept) == 4
    assert set(names(tmp_path)) == {*kept, "out1-100001.png", "out1-100002.png"}


def test_two_writers_to_one_folder_replace_nothing(tmp_path: Path) -> None:
    writers = [FrameFiles(tmp_path, 0) for _ in range(2)]
    for value in range(4):
        writers[value % 2].write(np.full((2, 2, 3), value, np.uint8))
    assert {read_png(tmp_path / name).max() for name in names(tmp_path)} == {0, 1, 2, 3}


def test_the_wrapper_saves_each_step_of_any_env_of_pictures(tmp_path: Path) -> None:
    env = MaxAndSkip(ImageSaver(ScriptedGame(end=6), tmp_path / "new", env_index=2), skip=3)
    for _ in range(2):  # numbers go on through games
        env.reset()
        env.step(0)
        env.step(0)
    assert names(tmp_path / "new") == [f"out2-{frame:05d}.png" for frame in range(12)]
    values = [read_png(path).max() for path in sorted((tmp_path / "new").iterdir())]
    assert values == [*range(11, 17), *range(21, 27)]


def test_an_env_that_draws_is_dumped_step_by_step(tmp_path: Path) -> None:
    env = make_env("drawing:Drawing-v0", Settings(img_dir=tmp_path))
    env.reset(seed=1)
    env.step(0)
    env.step(0)
    env.close()
    assert [read_png(tmp_path / name).max() for name in names(tmp_path)] == [1, 2]


def test_an_env_that_draws_nothing_is_refused(tmp_path: Path) -> None:
    for setting, make_one in product(("img_dir", "video_dir"), (make_env, make_vec)):
        with pytest.raises(UnsupportedError, match=f"{setting}: .*Careless-v0. is no Atari game"):
            make_one("scripted:Careless-v0", **{setting: tmp_path})


def test_a_file_in_the_place_of_the_folder_is_refused_before_an_env_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ids = ("PongNoFrameskip-v4", lambda: pytest.fail("an env was made"))
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError, match=r"img_dir .* is not a directory"):
            prepare_folder("img_dir", path)
        with pytest.raises(NotADirectoryError, match=r"img_dir .* is not a directory"):
            make("PongNoFrameskip-v4", str(path), 1)
        for setting, env_id in product(("img_dir", "video_dir"), ids):
            with pytest.raises(NotADirectoryError, match=f"{setting} .* is not a directory"):
                make_vec(env_id, 1, **{setting: path})


def test_a_folder_that_cannot_be_written_to_is_refused() -> None:
    with pytest.raises(OSError, match="img_dir `/proc/self/frames` cannot be written to"):
        prepare_folder("img_dir", "/proc/self/frames")
