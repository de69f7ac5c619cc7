"""`scripts/resume_sweep` in a short form: every game goes on from its state to the last pixel."""

from collections.abc import Callable

# Those that were not proved equal to ale-py's are not played.
REFUSED = ["backgammon", "miniature_golf", "superman"]


def test_every_game_goes_on_as_it_would_have(run_script: Callable) -> None:
    short = ["--saves", "0", "40", "--steps", "20", "--frame-skips", "1", "2", "--jobs", "2"]
    done = run_script("resume_sweep", *short)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if " refused: " in line] == REFUSED
    assert lines[-1] == "101 of 101 ROMs resumed exactly on native"
