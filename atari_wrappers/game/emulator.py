"""One game in ALE's emulator: loaded, played frame by frame, its screen read. No rules here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ale_py
import cv2
import numpy as np
from ale_py import Action, ALEInterface, ALEState, roms

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.ids import EnvId
from atari_wrappers.recipes import Recipe

RAM_BYTES = 128
# ALE greets on stderr at each loaded ROM otherwise.
ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


class _Cartridge(NamedTuple):
    """What is known of a game once it was loaded in this process."""

    all_actions: list[Action]
    own_actions: list[Action]
    modes: list[int]
    difficulties: list[int]
    screen_size: tuple[int, int]


_CARTRIDGES: dict[str, _Cartridge] = {}


class Emulator:
    """ALE with one game in it.

    Loading takes 85 ms: it waits for the first game, when its seed is known, unless nothing is
    known yet of the cartridge.

    Args:
        env_id: Which game.
        recipe: Says sticky actions, mode, difficulty and the set of actions; with their values.
        on_frame: Called after each emulated frame.

    Attributes:
        actions: What the game's actions are called there, in order.
        frames: Emulated frames since the game began.

    Raises:
        UnsupportedError: The game has no such mode or difficulty.
    """

    def __init__(
        self, env_id: EnvId, recipe: Recipe, on_frame: Callable[[], None] | None = None
    ) -> None:
        self._sticky = float(np.float32(recipe.sticky_actions))  # what ALE compares with
        self._rom, self._mode, self._difficulty = env_id.rom, recipe.mode, recipe.difficulty
        self._on_frame = on_frame
        self._ale = ale = self._make_interface()
        self.frames = 0
        self._seed = 0
        self._is_loaded = self._is_fresh = False
        self._held: tuple[Action, float] | None = None
        self._twister = np.random.RandomState(0)
        self._shown: np.ndarray | None = None
        # Bound once: looked up anew, they would cost a step as much as its bookkeeping.
        self._act, self.game_over, self.lives = ale.act, ale.game_over, ale.lives
        self.actions = self._find_actions(all_of_them=recipe.full_action_space or recipe.continuous)

    def _make_interface(self) -> ALEInterface:
        return ALEInterface()

    def _find_actions(self, *, all_of_them: bool) -> list[Action]:
        """Return the game's actions, after a check of its mode and difficulty."""
        if self._rom not in _CARTRIDGES:
            self._load()
        cartridge = _CARTRIDGES[self._rom]
        for name, valid in (("mode", cartridge.modes), ("difficulty", cartridge.difficulties)):
            value = getattr(self, f"_{name}")
            if value is not None and value not in valid:
                raise UnsupportedError(f"{name} of {self._rom} must be one of {valid}, not {value}")
        return cartridge.all_actions if all_of_them else cartridge.own_actions

    @property
    def screen_size(self) -> tuple[int, int]:
        """Height and width of the screen: 210 by 160, or a few lines more."""
        return _CARTRIDGES[self._rom].screen_size

    @property
    def ale(self) -> ALEInterface:
        """The interface itself."""
        if not self._is_loaded:
            self._load()
        return self._ale

    def load(self, seed: int) -> None:
        """Have the console switched on anew for the next game, with random numbers from `seed`.

        A seed needs this: Assault and a dozen other games remember those before them. A console
        which has not been used, and draws no numbers (sticky actions do, and the choice of a mode
        of Adventure's), stays as it is.
        """
        self._seed = seed
        if self._sticky or self._mode or not self._is_fresh:
            self._is_loaded = False

    def _load(self) -> None:
        ale = self._ale
        ale.setInt("random_seed", self._seed)
        ale.setFloat("repeat_action_probability", self._sticky)
        ale.loadROM(roms.get_rom_path(self._rom))
        self._is_loaded = self._is_fresh = True
        cartridge = _CARTRIDGES.setdefault(
            self._rom,
            _Cartridge(
                ale.getLegalActionSet(),
                ale.getMinimalActionSet(),
                ale.getAvailableModes(),
                ale.getAvailableDifficulties(),
                ale.getScreenDims(),
            ),
        )
        if self._mode in cartridge.modes:
            ale.setMode(self._mode)
        if self._difficulty in cartridge.difficulties:
            ale.setDifficulty(self._difficulty)

    def new_game(self) -> None:
        """Begin a game."""
        self.ale.reset_game()
        # Not always 0: frames in which the start of a game chooses its mode are the game's for ALE.
        self.frames = self._ale.getEpisodeFrameNumber()
        self._held = self._shown = None
        self._is_fresh = False
        self._follow()

    def _follow(self) -> None:
        """Go to where ALE's random numbers are, with which a few games start already.

        They are what ends its states: the words of a Mersenne Twister and the place among them.
        """
        if self._sticky:
            state = self._ale.cloneState(include_rng=True).serialize()
            *words, place = map(int, state[:-8].rpartition(b"\0")[2].split())
            self._twister.set_state(("MT19937", np.array(words, np.uint32), place))

    def act(self, action: Action, strength: float = 1.0) -> int:
        """Emulate a frame and return its reward; `strength`, 0 to 1, is how far a paddle turns."""
        reward = self._act(action, strength)
        self.frames += 1
        self._shown = None
        if self._sticky and self._twister.random_sample() >= self._sticky:
            self._held = action, strength
        if self._on_frame is not None:
            self._on_frame()
        return reward

    def grab(self, picture: np.ndarray) -> None:
        """Copy the screen to `picture`: uint8 `[height, width]` in gray or `[…, 3]` in RGB."""
        if self._shown is not None:
            gray = picture.ndim == 2
            picture[:] = cv2.cvtColor(self._shown, cv2.COLOR_RGB2GRAY) if gray else self._shown
        elif picture.ndim == 2:
            self.ale.getScreenGrayscale(picture)
        else:
            self.ale.getScreenRGB(picture)

    def screen(self) -> np.ndarray:
        """Return the screen as a new array: uint8 RGB `[height, width, 3]`."""
        picture = np.empty((*self.screen_size, 3), np.uint8)
        self.grab(picture)
        return picture

    def save(self) -> dict[str, Any]:
        """Return the whole state as plain data.

        ALE's own lacks the screen, and the action that a sticky one may repeat. Which that is, ALE
        tells nobody, so that `act` follows its random numbers: one double of 53 bits per frame.
        Nor can the screen be put back where ALE draws: rows that the next frames leave out, as
        those of Q*bert and now and then of Yars' Revenge do, show what ALE drew there last.
        """
        return {
            "ale": self.ale.cloneState(include_rng=True).serialize(),
            "frames": self.frames,
            "held": self._held and [self._held[0].value, self._held[1]],
            "screen": self.screen(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go to a state that `save` returned; another emulator of the same game can, too."""
        ale_state = ALEState(state["ale"])
        self.new_game()
        if state["held"] is not None:
            held = Action(state["held"][0]), state["held"][1]
            while self._held is None:
                self._act(*held)
                if self._twister.random_sample() >= self._sticky:
                    self._held = held
        self.ale.restoreState(ale_state)
        self._follow()
        self.frames, self._shown = state["frames"], state["screen"]
