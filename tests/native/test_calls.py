"""Any calls in any order: a batch on `native` answers each as its twin on `sync` does."""

from __future__ import annotations

from typing import Any

import pytest
from twins import OpenVec, Twins

SHORT = {"max_episode_frames": 60}
# Between them: every preset and autoreset mode, every kind of observation and of action, and games
# that end by themselves, by a lost life and by a limit.
CASES: list[tuple[str | list[str], dict[str, Any]]] = [
    ("Breakout", {}),
    ("Breakout", {"preset": "baselines", "autoreset": "next-step", "sticky_actions": 0.25}),
    ("Breakout", {"preset": "envpool", "autoreset": "disabled", "episodic_life": True}),
    ("Seaquest", SHORT | {"preset": "gymnasium", "grayscale": False, "screen_size": (50, 70)}),
    ("Seaquest", SHORT | {"preset": "ale", "episodic_life": True, "autoreset": "disabled"}),
    ("MsPacman", SHORT | {"obs_type": "ram", "autoreset": "disabled", "sticky_actions": 0.25}),
    ("Pong", SHORT | {"obs_type": "ram", "autoreset": "next-step", "mode": 1, "difficulty": 1}),
    ("Assault", SHORT | {"continuous": True, "sticky_actions": 0.25, "frame_skip": 3}),
    (
        ["Skiing", "Pong", "Assault"],
        SHORT | {"preset": "baselines", "continuous": True, "noop_max": 3},
    ),
    ("Frostbite", SHORT | {"channels_last": True, "grayscale": False, "frame_stack": 2}),
    (
        ["Pong", "Breakout", "Seaquest"],
        {"max_episode_frames": 12, "full_action_space": True, "frame_skip": 1},
    ),
    (["Pong", "Tennis", "Freeway"], SHORT | {"full_action_space": True, "autoreset": "disabled"}),
]


def ids_of(games: str | list[str]) -> str | list[str]:
    if isinstance(games, str):
        return f"{games}NoFrameskip-v4"
    return [f"{game}NoFrameskip-v4" for game in games]


@pytest.mark.parametrize(("games", "settings"), CASES)
def test_native_answers_as_sync_does(
    games: str | list[str], settings: dict[str, Any], open_vec: OpenVec
) -> None:
    twins = Twins(open_vec, ids_of(games), **settings)
    kinds = [twins.step, twins.step_some, twins.step_in_two, twins.reset_some, twins.reset_all]
    kinds += [twins.save, twins.restore, twins.look]
    for kind in twins.rng.choice(len(kinds), 120, p=[0.5, 0.2, 0.1, 0.04, 0.02, 0.04, 0.06, 0.04]):
        kinds[kind]()
    assert twins.ends.total() >= 1
