"""`scripts/resume_sweep` in a short form: every game goes on from its state to the last pixel."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Those that were not proved equal to ale-py's are not played.
REFUSED = ["backgammon", "miniature_golf", "superman"]


def test_every_game_goes_on_as_it_would_have() -> None:
    short = ["--saves", "0", "40", "--steps", "20", "--frame-skips", "1", "2", "--jobs", "2"]
    command = [sys.executable, ROOT / "scripts" / "resume_sweep", *short]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if " refused: " in line] == REFUSED
    assert lines[-1] == "101 of 101 ROMs resumed exactly on native"
