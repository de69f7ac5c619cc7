"""`scripts/strobe_sweep` in a short form: where strobes after HMOVE put objects, beside ale-py."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ale_py")
ROOT = Path(__file__).resolve().parents[2]


def sweep(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / "strobe_sweep", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# HMOVEs before a line's end, whose clocks go on in the next one, and those in its blank.
@pytest.mark.parametrize("hmoves", [range(12), range(56, 76, 2)])
def test_strobes_after_hmove_are_ales(hmoves: range) -> None:
    done = sweep("--hmoves", *map(str, hmoves))
    assert done.returncode == 0, done.stdout + done.stderr


# One HMOVE's strobes end at every cycle of this line and of the next, its first one too.
def test_strobes_at_every_cycle_of_a_line_are_ales() -> None:
    done = sweep("--hmoves", "21", "--after", "3", "130")
    assert done.returncode == 0, done.stdout + done.stderr
