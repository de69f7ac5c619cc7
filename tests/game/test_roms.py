"""Where ROMs are found, and what is said where they are not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ale_py import roms
from backends import LOCAL

from atari_wrappers import VecEnv, make_vec
from atari_wrappers.errors import MissingRomError
from atari_wrappers.ids import rom_path


@pytest.mark.parametrize("backend", LOCAL)
def test_a_folder_of_roms_takes_the_place_of_those_of_ale_py(
    backend: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    open_vec: Callable[..., VecEnv],
) -> None:
    make_vec("TennisNoFrameskip-v4", 1, backend="sync").close()  # this process knows the game
    shutil.copy(roms.get_rom_path("pong"), tmp_path)
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    assert rom_path("pong") == str(tmp_path / "pong.bin")
    # A fork server would hand the folder on to the workers of other tests.
    start = {"context": "spawn"} if backend == "async" else {}
    open_vec("PongNoFrameskip-v4", 1, backend=backend, **start).reset()
    with pytest.raises(
        MissingRomError, match=rf"no ROM of tennis: .*{tmp_path}/tennis.bin; .*unset"
    ):
        make_vec("TennisNoFrameskip-v4", 1, backend=backend, **start)


def test_without_any_roms_it_says_where_to_put_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALE_ROMS_DIR", "")
    monkeypatch.setattr(roms, "get_rom_path", lambda _: None)
    with pytest.raises(
        MissingRomError, match=r"no ROM of pong: ale-py ships no pong.bin; set ALE_ROMS"
    ):
        rom_path("pong")
