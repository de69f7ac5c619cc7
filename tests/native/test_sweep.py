"""`scripts/atari_sweep` in a short form: the native core against both ALEs, frame by frame."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ale_py")
ROOT = Path(__file__).resolve().parents[2]

# One of each bank switching and controller, a game that SELECT begins, and two for PAL consoles, of
# which the second loses its colours.
GAMES = [
    "breakout",
    "asteroids",
    "solaris",
    "tutankham",
    "robotank",
    "pitfall2",
    "berzerk",
    "mr_do",
    "air_raid",
    "elevator_action",
]


def sweep(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / "atari_sweep", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("game", GAMES)
def test_every_frame_is_ales(game: str) -> None:
    done = sweep(game, "--seeds", "1", "--frames", "500")
    assert done.returncode == 0, done.stdout + done.stderr


# Backgammon looks at its paddle after some frames in which it computes; how its points are won is
# not known.
def test_every_frame_but_its_lives_is_ales() -> None:
    fields = "ram,picture,gray,reward,over,frame,episode_frame"
    done = sweep("backgammon", "--seeds", "1", "--frames", "500", "--fields", fields)
    assert done.returncode == 0, done.stdout + done.stderr


# Modes by many presses of SELECT, a menu, a start that waits for the player, lives by difficulty.
@pytest.mark.parametrize("game", ["breakout", "double_dunk", "berzerk", "up_n_down"])
def test_every_mode_and_difficulty_is_ales(game: str) -> None:
    done = sweep(game, "--seeds", "1", "--frames", "50", "--modes", "50")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "modes 0" in done.stdout or "modes 1" in done.stdout


# They reach into a menu, into frames before a mode is chosen, and into how long SELECT is pressed.
@pytest.mark.parametrize("game", ["double_dunk", "berzerk", "adventure"])
def test_sticky_actions_reach_into_starts_as_in_ale(game: str) -> None:
    arguments = ["--seeds", "1", "--frames", "500", "--modes", "50", "--sticky", "0.4"]
    done = sweep(game, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "refused" not in done.stdout


# Paddles and who waits to serve, points of both, starts of both, ports the other way round, a menu
# of another byte, PAL.
FOR_TWO = [
    "double_dunk",
    "maze_craze",
    "warlords",
    "pong",
    "space_invaders",
    "flag_capture",
    "mario_bros",
    "surround",
    "entombed",
    "combat",
]


@pytest.mark.parametrize("game", FOR_TWO)
def test_every_frame_of_a_game_for_two_is_pettingzoos_ales(game: str) -> None:
    pytest.importorskip("multi_agent_ale_py")
    modes = ["--modes", "50"] if game in ("entombed", "flag_capture") else []
    done = sweep(game, "--players", "2", "--seeds", "1", "--frames", "500", *modes)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_cannot_be_compared_is_refused_in_a_line() -> None:
    for arguments, reason in [
        (["pong", "--seeds", "0"], "0 is not a number of 1 or more"),
        (["pongg"], "no ROM 'pongg'"),
        (["combat"], "no ROM 'combat' for 1"),
        (["seaquest", "--players", "2"], "no ROM 'seaquest' for 2"),
        (["pong", "--fields", "rams"], "no field 'rams'"),
    ]:
        done = sweep(*arguments)
        assert done.returncode == 2, arguments
        assert reason in done.stderr.splitlines()[-1], done.stderr
