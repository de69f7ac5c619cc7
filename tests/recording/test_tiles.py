"""Many pictures as one: where each lies, what is black, and what is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from backends import OPEN
from PIL import Image

from atari_wrappers import make_vec
from atari_wrappers.recording.tiles import tile


def flat(value: int, height: int = 210, width: int = 160) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


@pytest.mark.parametrize(
    ("count", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (4, 2, 2), (6, 2, 3), (16, 3, 6)]
)
def test_pictures_of_atari_fill_a_screen(count: int, rows: int, columns: int) -> None:
    picture = tile([flat(100 + index) for index in range(count)])
    assert picture.shape == (rows * 210, columns * 160, 3)
    assert picture.dtype == np.uint8
    corners = picture[::210, ::160, 0].ravel()
    blacks = [0] * (rows * columns - count)
    assert corners.tolist() == [*range(100, 100 + count), *blacks]


def test_every_pixel_keeps_its_place() -> None:
    rng = np.random.default_rng(0)
    frames = [rng.integers(1, 256, (3, 2, 3), np.uint8) for _ in range(5)]
    picture = tile(frames)
    columns = picture.shape[1] // 2
    for index, frame in enumerate(frames):
        top, left = 3 * (index // columns), 2 * (index % columns)
        np.testing.assert_array_equal(picture[top : top + 3, left : left + 2], frame)
    assert np.count_nonzero(picture) == 5 * 3 * 2 * 3


def test_wide_pictures_are_stacked() -> None:
    assert tile([flat(1, 10, 40)] * 3).shape == (30, 40, 3)


def test_smaller_pictures_are_black_beside_and_below() -> None:
    sizes = [(210, 160), (250, 160), (84, 84), (210, 84)]
    picture = tile([flat(index + 1, *size) for index, size in enumerate(sizes)])
    assert picture.shape == (250, 4 * 160, 3)
    for index, (height, width) in enumerate(sizes):
        cell = picture[:, 160 * index : 160 * (index + 1)]
        assert (cell[:height, :width] == index + 1).all()
        assert np.count_nonzero(cell) == 3 * height * width


@pytest.mark.parametrize("backend", OPEN)
def test_games_of_different_height_are_tiled(backend: str) -> None:
    games = ["AirRaidNoFrameskip-v4", "PongNoFrameskip-v4"]
    options = {"context": "forkserver"} if backend == "async" else {}
    with make_vec(games, 2, backend=backend, **options) as vec:
        vec.reset(seed=1)
        tall, usual = vec.render()
        assert (tall.shape, usual.shape) == ((250, 160, 3), (210, 160, 3))
        tiles = vec.render_tiles()
    assert tiles.shape == (250, 320, 3)
    np.testing.assert_array_equal(tiles[:, :160], tall)
    np.testing.assert_array_equal(tiles[:210, 160:], usual)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="no pictures"):
        tile([])
    with pytest.raises(ValueError, match=r"picture 1 is uint8 \[84, 84\], not uint8 \[height, w"):
        tile([flat(0), flat(0)[:84, :84, 0]])
    with pytest.raises(ValueError, match="picture 0 is float64"):
        tile([np.zeros((4, 4, 3))])


def test_a_notebook_shows_the_picture() -> None:
    picture = tile([flat(7), flat(9)])
    shown = Image.open(io.BytesIO(picture._repr_png_()))
    np.testing.assert_array_equal(np.asarray(shown), picture)
    assert picture[0]._repr_png_() is None
    assert (picture / 2)._repr_png_() is None
