"""One game for two players in PettingZoo's fork of ALE, in the terms of `emulator.Emulator`.

Which games there are, and which of their modes PettingZoo plays, is decided here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from types import ModuleType
from typing import Any

import numpy as np
from ale_py import Action, roms

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.game.ale_state import check_ale_state
from atari_wrappers.game.emulator import Emulator
from atari_wrappers.game.seeding import check_twister
from atari_wrappers.ids import EnvId
from atari_wrappers.plain_data import check_alike, check_range
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
# Those whose games follow from their actions alone; others from the numbers in RAM and timer at
# power on too, and from the games before.
_WITHOUT_CHANCE = {"pong", "space_invaders"}
# Those in which lives are counted in reserve, -1 when the last is lost.
_COUNTED_IN_RESERVE = {"mario_bros", "space_invaders", "wizard_of_wor"}
_SHARED_LIVES = {"space_invaders"}
_FIRST_SEED = 1  # 0 is the time


def import_multi_agent_ale() -> ModuleType:
    """Return the module `multi_agent_ale_py`, told not to greet on stderr.

    Raises:
        UnsupportedError: It is not installed.
    """
    try:
        import multi_agent_ale_py
    except ImportError as cause:
        raise UnsupportedError(
            "num_players=2 plays on PettingZoo's ALE, which is not installed:"
            f" pip install 'atari-wrappers[two-player]' ({cause})"
        ) from cause
    multi_agent_ale_py.ALEInterface.setLoggerMode("error")
    return multi_agent_ale_py


def obstacle_to_two_players() -> str | None:
    """Say what keeps this emulator from playing, if anything: the fork is not installed."""
    try:
        import_multi_agent_ale()
    except UnsupportedError as error:
        return str(error)
    return None


def _loaded(rom: str) -> Any:
    ale = import_multi_agent_ale().ALEInterface()
    ale.setFloat(b"repeat_action_probability", 0.0)
    ale.setInt(b"random_seed", _FIRST_SEED)
    ale.loadROM(str(roms.get_rom_path(rom)))
    return ale


@functools.cache
def available_variants(rom: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the modes of a game that are for two players, and its difficulties."""
    ale = _loaded(rom)
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
    default = {"mode": DEFAULT_MODES[env_id.rom], "difficulty": min(variants[1], default=0)}
    for name, valid in zip(default, variants, strict=True):
        value = getattr(recipe, name)
        if is_known and value is not None and value not in valid:
            raise UnsupportedError(
                f"{name} of {env_id.rom} for two players must be one of"
                f" {', '.join(map(str, valid))}, not {value}"
            )
        if value is not None:
            default[name] = value
    return replace(recipe, **default)


class TwoPlayerEmulator(Emulator):
    """The fork with one game in it, which takes a pair of actions and gives a pair of rewards.

    Sticky actions are drawn here, for each player and frame: the fork could draw them too, but its
    states lack the action last taken. Without them a game of Pong or SpaceInvaders follows from its
    actions alone, and another from its seed too.

    Args:
        env_id: Which game.
        recipe: Says sticky actions, mode, difficulty and the set of actions; as `recipe_for_two`
            returned it.
        on_frame: Called after each emulated frame.

    Attributes:
        ale: The fork's interface.
    """

    reward_shape = (NUM_PLAYERS,)

    @property
    def made_by(self) -> str:
        """The library that emulates, with its version."""
        return f"multi-agent-ale-py {metadata.version('multi-agent-ale-py')}"

    def __init__(
        self, env_id: EnvId, recipe: Recipe, on_frame: Callable[[], None] | None = None
    ) -> None:
        super().__init__(env_id, recipe, on_frame)
        self._set_variant()
        self.ale.reset_game()
        self.lives = self._lives
        self._pressed = np.zeros(NUM_PLAYERS, np.int32)

    def _set_variant(self) -> None:
        self.ale.setMode(self._mode)
        self.ale.setDifficulty(self._difficulty)

    @property
    def screen_size(self) -> tuple[int, int]:
        """Height and width of the screen."""
        width, height = self.ale.getScreenDims()
        return height, width

    def _make_interface(self) -> Any:
        return _loaded(self._rom)

    def _find_actions(self, *, all_of_them: bool) -> list[Action]:
        self._is_loaded = True
        ale = self._ale
        codes = ale.getLegalActionSet() if all_of_them else ale.getMinimalActionSet()
        return [Action(int(code)) for code in codes]

    def _follow(self) -> None:
        """Do nothing: the random numbers are drawn here."""

    def load(self, seed: int) -> None:
        """Begin the random numbers anew; where a game follows from them, load it anew."""
        self._twister = np.random.RandomState(seed & 0xFFFFFFFF)
        if self._rom not in _WITHOUT_CHANCE:
            self.ale.setInt(b"random_seed", seed & 0x7FFFFFFF or _FIRST_SEED)
            self.ale.loadROM(str(roms.get_rom_path(self._rom)))
            self._set_variant()

    def new_game(self) -> None:
        """Begin a game."""
        super().new_game()
        self.frames = 0  # as PettingZoo counts: those in which the mode is chosen are no part of it
        self._pressed[:] = 0

    def act(self, action: Action | np.ndarray, strength: float = 1.0) -> np.ndarray:
        """Emulate a frame.

        Args:
            action: One of `actions` for both players, or the codes of two: int32 `[2]`.
            strength: Not looked at.

        Returns:
            The players' rewards, int32 `[2]`.
        """
        codes = action.value if isinstance(action, Action) else action
        if self._sticky:
            sticks = self._twister.random_sample(NUM_PLAYERS) < self._sticky
            codes = np.where(sticks, self._pressed, codes)
        self._pressed[:] = codes
        rewards = self._act(self._pressed)
        self.frames += 1
        self._shown = None
        if self._on_frame is not None:
            self._on_frame()
        self.at_start = False
        return rewards

    def _lives(self) -> int:
        """Return the lives, that in play included: shared ones, or all of both; 0 where none."""
        if self._rom in _SHARED_LIVES:
            return int(self.ale.lives()) + 1
        in_play = NUM_PLAYERS if self._rom in _COUNTED_IN_RESERVE else 0
        return int(sum(self.ale.allLives())) + in_play

    def save(self) -> dict[str, Any]:
        """Return the whole state as plain data."""
        handle = self.ale.cloneSystemState()
        encoded = self.ale.encodeState(handle)
        self.ale.deleteState(handle)
        return {
            "ale": encoded,
            "frames": self.frames,
            "pressed": self._pressed.copy(),
            "twister": self._twister.get_state(legacy=False),
            "screen": self.screen(),
        }

    def check(self, state: Any) -> None:
        """Refuse what `restore` cannot take.

        Raises:
            ValueError: It is not what `save` returns.
        """
        own = self.save()
        check_alike("emulator", state, own | {"ale": ..., "twister": ...})
        encoded = np.atleast_1d(state["ale"])
        check_alike("emulator.ale", encoded[:0], own["ale"][:0])
        check_ale_state(encoded.tobytes(), own["ale"].tobytes())
        check_range("emulator.frames", state["frames"], 0)
        for code in state["pressed"]:
            check_range("emulator.pressed", code, 0, len(Action.__members__) - 1)
        check_twister("emulator.twister", state["twister"])

    def restore(self, state: dict[str, Any]) -> None:
        """Go to a state that `save` returned; another emulator of the same game can, too."""
        handle = self.ale.decodeState(state["ale"])
        self.ale.restoreSystemState(handle)
        self.ale.deleteState(handle)
        self._pressed[:] = state["pressed"]
        self.frames, self._shown = state["frames"], state["screen"]
        self._twister.set_state(state["twister"])
