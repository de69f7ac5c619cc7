"""`scripts/atari_sweep` in a short form: the native core against both ALEs, frame by frame."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ale_py")

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


@pytest.fixture
def check_exact(run_script: Callable) -> Callable[..., list[str]]:
    """Sweep the games in one process; return its line of each, all of which are exact."""

    def check(games: list[str], *arguments: str) -> list[str]:
        done = run_script("atari_sweep", *games, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        *lines, last = done.stdout.splitlines()
        assert last.startswith(f"{len(games)} of {len(games)} ROMs exact")
        assert [line.split()[0] for line in lines] == games
        return lines

    return check


def test_every_frame_is_ales(check_exact: Callable) -> None:
    check_exact(GAMES, "--seeds", "1", "--frames", "500")


# Backgammon looks at its paddle after some frames in which it computes; how its points are won is
# not known.
def test_every_frame_but_its_lives_is_ales(check_exact: Callable) -> None:
    fields = "ram,picture,gray,reward,over,frame,episode_frame"
    check_exact(["backgammon"], "--seeds", "1", "--frames", "500", "--fields", fields)


# Modes by many presses of SELECT, a menu, a start that waits for the player, lives by difficulty.
def test_every_mode_and_difficulty_is_ales(check_exact: Callable) -> None:
    games = ["breakout", "double_dunk", "berzerk", "up_n_down"]
    for line in check_exact(games, "--seeds", "1", "--frames", "50", "--modes", "50"):
        assert "modes 0" in line or "modes 1" in line


# They reach into a menu, into frames before a mode is chosen, and into how long SELECT is pressed.
def test_sticky_actions_reach_into_starts_as_in_ale(check_exact: Callable) -> None:
    games = ["double_dunk", "berzerk", "adventure"]
    arguments = ["--seeds", "1", "--frames", "500", "--modes", "50", "--sticky", "0.4"]
    assert "refused" not in "".join(check_exact(games, *arguments))


# Paddles and who waits to serve, points of both, starts of both, ports the other way round, a menu
# of another byte, PAL.
FOR_TWO = [
    "double_dunk",
    "maze_craze",
    "warlords",
    "pong",
    "space_invaders",
    "mario_bros",
    "surround",
    "combat",
]


def test_every_frame_of_a_game_for_two_is_pettingzoos_ales(check_exact: Callable) -> None:
    pytest.importorskip("multi_agent_ale_py")
    short = ["--players", "2", "--seeds", "1", "--frames", "500"]
    check_exact(FOR_TWO, *short)
    check_exact(["entombed", "flag_capture"], *short, "--modes", "50")


def test_what_cannot_be_compared_is_refused_in_a_line(
    sources: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(sources / "scripts/atari_sweep"))["main"]
    for arguments, reason in [
        (["pong", "--seeds", "0"], "0 is not a number of 1 or more"),
        (["pongg"], "no ROM 'pongg'"),
        (["combat"], "no ROM 'combat' for 1"),
        (["seaquest", "--players", "2"], "no ROM 'seaquest' for 2"),
        (["pong", "--fields", "rams"], "no field 'rams'"),
    ]:
        monkeypatch.setattr(sys, "argv", ["atari_sweep", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2, arguments
        assert reason in capsys.readouterr().err.splitlines()[-1], arguments
