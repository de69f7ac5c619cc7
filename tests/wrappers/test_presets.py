"""The Atari presets of the trainer: what their recipe and their own settings come to."""

import tomllib
from pathlib import Path

import pytest

from atari_wrappers.recipes import PRESETS

FOLDER = Path(__file__).parents[2] / "rust_trainer" / "src" / "settings" / "presets"
ATARI = sorted(FOLDER.glob("*-atari.toml"))
pytestmark = pytest.mark.usefixtures("sources")


def test_there_are_some() -> None:
    assert len(ATARI) >= 6


@pytest.mark.parametrize("path", ATARI, ids=lambda path: path.stem)
@pytest.mark.parametrize("part", ["episodic_life", "clip_reward"])
def test_lost_lives_end_and_rewards_are_clipped(path: Path, part: str) -> None:
    """As in all that was published on the 57 games since Mnih et al. 2015."""
    settings = tomllib.loads(path.read_text())
    while base := settings.pop("based_on", None):
        settings = tomllib.loads((FOLDER / f"{base}.toml").read_text()) | settings
    recipe = PRESETS[settings["recipe"]]
    assert settings.get(part, getattr(recipe, part)) is True
