"""`watch`: a run in a terminal, from its files alone."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import statistics
from pathlib import Path

import pytest
from processes import is_running
from program import PROGRAM, ROOT, Trainer
from run_files import column
from tmux import PROMPT, terminal
from waiting import wait_until

RESULTS = ROOT / "docs/results/space-invaders-ppo-10m-seed1"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of ten million steps, with a part of its updates."""
    run = shutil.copytree(RESULTS, tmp_path / "run")
    (run / "updates-every-20th.csv").rename(run / "updates.csv")
    return run


def mean_return(run: Path) -> str:
    """Return the mean of the last hundred games as it is shown."""
    returns = column(run / "episodes.csv", "raw_return")
    return f"mean of the last 100 games: {statistics.fmean(returns[-100:]):.1f}"


def test_a_run_is_shown_while_it_grows_and_the_terminal_given_back(run: Path) -> None:
    with terminal(run.parent) as screen:
        screen.start(*PROGRAM, "watch", "run")
        text = screen.wait(  # which comes in parts
            lambda text: (
                mean_return(run) in text
                and "policy loss" in text
                and sum("\u2801" <= sign <= "\u28ff" for sign in text) > 50
            )
        )
        assert "SpaceInvadersNoFrameskip-v4 with PPO, seed 1" in text
        assert "/10M steps  100 %" in text
        with (run / "episodes.csv").open("a") as games:
            games.write("9999999,3,4321.0,77,308,9999.5\n9999999,4,1234")
        assert "1234" not in screen.wait("4321")
        screen.resize(120, 40)
        screen.wait(lambda text: text.count("\n") == 40 and max(map(len, text.split("\n"))) > 100)
        screen.type("h")
        screen.wait("leave; the run goes on")
        screen.type("q")
        screen.wait(lambda text: "help" not in text and PROMPT in text)
        screen.start("sh", "-c", "stty -a | grep -q -e ' echo '; echo left $?")
        screen.wait("left 0")


def test_a_signal_ends_it_and_gives_the_terminal_back(run: Path) -> None:
    with terminal(run.parent) as screen:
        screen.start(*PROGRAM, "watch", "run")
        screen.wait(mean_return(run))
        os.kill(screen.child(), signal.SIGTERM)
        screen.wait(lambda text: "mean of" not in text and PROMPT in text)
        screen.type("echo ended $?", "Enter")
        screen.wait("ended 143")


def test_it_ends_with_its_terminal(run: Path) -> None:
    """Also where no signal tells it, as under `nohup`: looking for keys would never end."""
    with terminal(run.parent) as screen:
        screen.start("sh", "-c", f"trap '' HUP; exec {shlex.join(PROGRAM)} watch run")
        screen.wait(mean_return(run))
        watching = screen.child()
        screen.tmux("kill-server")
        wait_until(lambda: not is_running(watching), "it goes on without a terminal", seconds=20)


def test_on_a_terminal_it_prints_one_summary_if_asked_to(run: Path) -> None:
    with terminal(run.parent) as screen:
        screen.start(*PROGRAM, "watch", "run", "--once")
        text = screen.wait(lambda text: text.rstrip().endswith(f"\n{PROMPT}"))
        assert mean_return(run).replace(" games", "").replace("mean", "mean return", 1) in text


def test_where_there_is_no_terminal_it_prints_a_summary(trainer: Trainer, run: Path) -> None:
    out, err = trainer.run("watch", run)
    assert err == ""
    assert out.startswith("run: ")
    assert "SpaceInvadersNoFrameskip-v4 with PPO, seed 1" in out
    assert mean_return(run).replace(" games", "").replace("mean", "mean return", 1) in out
    with (run / "settings.toml").open("a") as settings:
        settings.write("of_another_program = 3\n")
    shown, _ = trainer.run("watch", run)
    assert out.split("mean return", 1)[1].split("\n")[0] in shown
    assert "of_another_program" in shown
    _, err = trainer.run("watch", "missing", status=1)
    assert err.startswith("error: `missing` is no folder")
