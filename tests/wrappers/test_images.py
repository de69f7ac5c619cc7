"""The image saver: which frames it writes, what is in them, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from games import raw_game
from PIL import Image
from scripted import ScriptedGame

from atari_wrappers.wrappers import ImageSaver, MaxAndSkip, prepare_img_dir


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_stepped_frame_is_a_numbered_file(tmp_path: Path) -> None:
    env = ImageSaver(ScriptedGame(end=3), tmp_path / "a" / "b", env_index=2)
    for _ in range(2):  # numbers go on through games
        env.reset()
        for _ in range(3):
            env.step(0)
    assert names(tmp_path / "a" / "b") == [f"out2-{frame:05d}.png" for frame in range(6)]
    values = [np.array(Image.open(path)).max() for path in sorted((tmp_path / "a/b").iterdir())]
    assert values == [11, 12, 13, 21, 22, 23]


def test_files_hold_the_real_games_pixels(tmp_path: Path) -> None:
    env = MaxAndSkip(ImageSaver(raw_game("Breakout"), tmp_path), skip=4)
    twin = raw_game("Breakout")
    env.reset(seed=1)
    twin.reset(seed=1)
    for _ in range(3):
        env.step(3)
    assert len(names(tmp_path)) == 12
    for frame in range(12):
        saved = np.array(Image.open(tmp_path / f"out0-{frame:05d}.png"))
        assert saved.shape == (210, 160, 3)
        np.testing.assert_array_equal(saved, twin.step(3)[0])


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError, match="is not a directory"):
            prepare_img_dir(path)


def test_a_folder_that_cannot_be_written_to_is_refused() -> None:
    with pytest.raises(OSError, match="img_dir `/proc/self/frames` cannot be written to"):
        prepare_img_dir("/proc/self/frames")
