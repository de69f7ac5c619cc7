"""The actions of every game, its own and all that it takes, on `native` and in ale-py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ale_py
import gymnasium as gym
import pytest

from atari_core import actions, obstacle
from atari_wrappers import make_env

pytestmark = pytest.mark.xdist_group("every_game_on_ale")

gym.register_envs(ale_py)
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
GAMES = sorted(name for name in gym.registry if name.startswith("ALE/") and "-ram" not in name)


def test_there_are_104() -> None:
    assert len(GAMES) == 104


def test_every_game_has_ale_pys_actions(on_ale: Callable[[str], Any]) -> None:
    numbers_of_actions = set()
    for name in GAMES:
        game = gym.spec(name).kwargs["game"]
        rom, theirs = str(ale_py.roms.get_rom_path(game)), on_ale(game)
        meanings = {False: theirs.minimal, True: theirs.legal}
        for full, expected in meanings.items():
            numbers = actions(rom, full=full)
            assert [ale_py.Action(number).name for number in numbers] == expected, name
            if obstacle(rom, {}) is None:
                settings = {"full_action_space": full, "sticky_actions": 0.0}
                with make_env(name, backend="native", **settings) as ours:
                    assert ours.action_space == gym.spaces.Discrete(len(expected)), name
                    assert ours.get_action_meanings() == expected, name
        numbers_of_actions.add(len(theirs.legal))
    assert numbers_of_actions == {9, 18}, "Skiing and Lost Luggage have no button"
