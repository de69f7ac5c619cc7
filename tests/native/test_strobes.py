"""`scripts/strobe_sweep` in a short form: where strobes after HMOVE put objects, beside ale-py."""

from collections.abc import Callable

import pytest

pytest.importorskip("ale_py")


# HMOVEs before a line's end, whose clocks go on in the next one, and those in its blank.
def test_strobes_after_hmove_are_ales(run_script: Callable) -> None:
    hmoves = (*range(12), *range(56, 76, 2))
    done = run_script("strobe_sweep", "--hmoves", *map(str, hmoves))
    assert done.returncode == 0, done.stdout + done.stderr


# One HMOVE's strobes end at every cycle of this line and of the next, its first one too.
def test_strobes_at_every_cycle_of_a_line_are_ales(run_script: Callable) -> None:
    done = run_script("strobe_sweep", "--hmoves", "21", "--after", "3", "130")
    assert done.returncode == 0, done.stdout + done.stderr
