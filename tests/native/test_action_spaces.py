"""The actions of every game, its own and all that it takes, on `native` and in ale-py's env."""

from __future__ import annotations

import ale_py
import gymnasium as gym
import pytest

from atari_core import actions, obstacle
from atari_wrappers import make_env

gym.register_envs(ale_py)
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
GAMES = sorted(name for name in gym.registry if name.startswith("ALE/") and "-ram" not in name)


def test_there_are_104() -> None:
    assert len(GAMES) == 104


@pytest.mark.parametrize("full", [False, True])
def test_every_game_has_ale_pys_actions(full: bool) -> None:
    numbers_of_actions = set()
    for name in GAMES:
        with gym.make(name, full_action_space=full) as theirs:
            meanings = theirs.unwrapped.get_action_meanings()
        rom = ale_py.roms.get_rom_path(gym.spec(name).kwargs["game"])
        numbers = actions(str(rom), full=full)
        assert [ale_py.Action(number).name for number in numbers] == meanings, name
        if obstacle(str(rom), {}) is None:
            settings = {"full_action_space": full, "sticky_actions": 0.0}
            with make_env(name, backend="native", **settings) as ours:
                assert ours.action_space == theirs.action_space, name
                assert ours.get_action_meanings() == meanings, name
        numbers_of_actions.add(len(meanings))
    if full:  # Skiing and Lost Luggage have no button
        assert numbers_of_actions == {9, 18}
