"""Who plays the games for two."""

from __future__ import annotations

import pettingzoo_games
import pytest
from ale_py import roms

from atari_core import obstacle


@pytest.fixture(params=["sync", "native"])
def each_emulator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `pettingzoo_games.make_game` play on this one, where the game is proved there."""
    case = getattr(request.node, "callspec", None)
    env_id = case.params.get("env_id", "") if case else ""
    if request.param == "native" and env_id in pettingzoo_games.OTHERS:
        rom = pettingzoo_games.OTHERS[env_id].removeprefix("atari/").rpartition("-")[0]
        rom = rom.removesuffix("_competitive")
        problem = obstacle(roms.get_rom_path(rom), {}, 2)
        if problem is not None:
            pytest.skip(problem)
    monkeypatch.setattr(pettingzoo_games, "emulator", request.param)
