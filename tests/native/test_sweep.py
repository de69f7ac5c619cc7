"""`scripts/atari_sweep` in a short form: the native core against ale-py, frame by frame."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ale_py")
ROOT = Path(__file__).resolve().parents[2]

# One of each bank switching and controller that the Atari-57 have, and a game that SELECT begins.
GAMES = ["breakout", "asteroids", "solaris", "tutankham", "robotank", "wizard_of_wor", "berzerk"]


@pytest.mark.parametrize("game", GAMES)
def test_every_frame_is_ales(game: str) -> None:
    command = [sys.executable, ROOT / "scripts" / "atari_sweep", game, "--seeds", "1"]
    done = subprocess.run(
        [*command, "--frames", "500"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
