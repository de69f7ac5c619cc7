"""Games for two: which there are, and in which of their modes they are played.

PettingZoo's fork of ALE, which is optional, plays them (`game.two_player`), or `atari_core`.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from types import ModuleType
from typing import Any

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.ids import EnvId, rom_path
from atari_wrappers.recipes import Recipe

NUM_PLAYERS = 2
# By ROM, the mode that PettingZoo plays unless asked: of Pong the classic one, of SpaceInvaders
# that with moving shields, of Entombed the competitive one. Backgammon and FishingDerby, which it
# has not, have no other. Combat, Joust, MazeCraze and Warlords have no id in ale-py.
DEFAULT_MODES = {
    "backgammon": 4,
    "boxing": 2,
    "double_dunk": 16,
    "entombed": 2,
    "fishing_derby": 2,
    "flag_capture": 1,
    "ice_hockey": 1,
    "mario_bros": 2,
    "othello": 4,
    "pong": 4,
    "space_invaders": 34,
    "space_war": 1,
    "surround": 1,
    "tennis": 2,
    "video_checkers": 10,
    "wizard_of_wor": 1,
}
FIRST_SEED = 1  # 0 is the time


def import_multi_agent_ale() -> ModuleType:
    """Return the module `multi_agent_ale_py`, told not to greet on stderr."""
    try:
        import multi_agent_ale_py
    except ImportError as cause:
        raise UnsupportedError(
            "num_players=2 plays on PettingZoo's ALE, which is not installed:"
            f" pip install 'atari-wrappers[two-player]' ({cause})"
        ) from cause
    module: ModuleType = multi_agent_ale_py
    module.ALEInterface.setLoggerMode("error")
    return module


def obstacle_to_two_players() -> str | None:
    """Say what keeps the fork from playing, if anything: it is not installed."""
    try:
        import_multi_agent_ale()
    except UnsupportedError as error:
        return str(error)
    return None


def loaded(rom: str) -> Any:
    """Return the fork's interface with a game in it, of which no action is sticky."""
    ale = import_multi_agent_ale().ALEInterface()
    ale.setFloat(b"repeat_action_probability", 0.0)
    ale.setInt(b"random_seed", FIRST_SEED)
    ale.loadROM(rom_path(rom))
    return ale


@functools.cache
def available_variants(rom: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the modes of a game that are for two players, and its difficulties."""
    ale = loaded(rom)
    modes, difficulties = ale.getAvailableModes(NUM_PLAYERS), ale.getAvailableDifficulties()
    return tuple(map(int, modes)), tuple(map(int, difficulties))


def recipe_for_two(env_id: EnvId, recipe: Recipe) -> Recipe:
    """Return a recipe with the mode and the difficulty in which two play.

    Where the fork is not installed, whoever plays the game instead knows its modes.

    Raises:
        UnsupportedError: The game is none of them, or the recipe asks for polar actions, a mode or
            a difficulty that it has not got.
    """
    if env_id.rom not in DEFAULT_MODES:
        raise UnsupportedError(
            f"num_players=2: `{env_id.name}` is no game for two; {', '.join(DEFAULT_MODES)} are"
        )
    if recipe.continuous:
        raise UnsupportedError("num_players=2 goes with button actions, not with continuous=True")
    is_known = obstacle_to_two_players() is None
    variants = available_variants(env_id.rom) if is_known else ((), ())
    # 0, but for Backgammon, which has 3 alone.
    chosen = {"mode": DEFAULT_MODES[env_id.rom], "difficulty": min(variants[1], default=0)}
    for name, valid in zip(chosen, variants, strict=True):
        value = getattr(recipe, name)
        if is_known and value is not None and value not in valid:
            raise UnsupportedError(
                f"{name} of {env_id.rom} for two players must be one of"
                f" {', '.join(map(str, valid))}, not {value}"
            )
        if value is not None:
            chosen[name] = value
    return replace(recipe, mode=chosen["mode"], difficulty=chosen["difficulty"])
