"""One game in ALE's emulator: loaded, played frame by frame, its screen read. No rules here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ale_py
import cv2
import numpy as np
from ale_py import Action, ALEInterface, roms

from atari_wrappers.ids import EnvId
from atari_wrappers.recipes import Recipe

SCREEN = (210, 160)
# ALE greets on stderr at each loaded ROM otherwise.
ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


class Emulator:
    """ALE with one game in it.

    Args:
        env_id: Which game.
        recipe: Says sticky actions, mode, difficulty and the set of actions; with their values.
        on_frame: Called after each emulated frame.

    Attributes:
        ale: The interface itself.
        actions: What the game's actions are called there, in order; empty before `load`.
        frames: Emulated frames since the game began.

    Raises:
        ValueError: The game has no such mode or difficulty.
    """

    def __init__(
        self, env_id: EnvId, recipe: Recipe, on_frame: Callable[[], None] | None = None
    ) -> None:
        self._sticky = float(np.float32(recipe.sticky_actions))  # what ALE compares with
        self._mode, self._difficulty = recipe.mode, recipe.difficulty
        self._rom = env_id.rom
        self._has_all_actions = recipe.full_action_space or recipe.continuous
        self._on_frame = on_frame
        self.ale = self._make_interface()
        self.actions: list[Action] = []
        self.frames = 0
        self._is_fresh = False
        self._held: tuple[Action, float] | None = None
        self._twister = np.random.RandomState(0)
        self._shown: np.ndarray | None = None
        # Bound once: looked up anew, they would cost a step as much as its bookkeeping.
        self._act, self.game_over, self.lives = self.ale.act, self.ale.game_over, self.ale.lives

    def _make_interface(self) -> ALEInterface:
        return ALEInterface()

    def load(self, seed: int) -> None:
        """Switch the console on anew, with ALE's random numbers from `seed`.

        A seed needs this: Assault and a dozen other games remember those before them. It takes
        85 ms, so that a console which has not been used, and draws no numbers, stays as it is.
        """
        ale = self.ale
        if self._is_fresh and not self._sticky:
            return
        ale.setInt("random_seed", seed)
        ale.setFloat("repeat_action_probability", self._sticky)
        ale.loadROM(roms.get_rom_path(self._rom))
        self._choose("mode", self._mode, ale.getAvailableModes(), ale.setMode)
        self._choose(
            "difficulty", self._difficulty, ale.getAvailableDifficulties(), ale.setDifficulty
        )
        self.actions = (
            ale.getLegalActionSet() if self._has_all_actions else ale.getMinimalActionSet()
        )
        self._twister = np.random.RandomState(seed & 0xFFFFFFFF)
        self._is_fresh = True

    def _choose(
        self, name: str, value: int | None, valid: list[int], choose: Callable[[int], None]
    ) -> None:
        if value is None:
            return
        if value not in valid:
            raise ValueError(f"{name} of {self._rom} must be one of {valid}, not {value}")
        choose(value)

    def new_game(self) -> None:
        """Begin a game."""
        self.ale.reset_game()
        self.frames = 0
        self._held = self._shown = None
        self._is_fresh = False

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
        """Copy the screen to `picture`: uint8 `[210, 160]` in gray or `[210, 160, 3]` in RGB."""
        if self._shown is not None:
            gray = picture.ndim == 2
            picture[:] = cv2.cvtColor(self._shown, cv2.COLOR_RGB2GRAY) if gray else self._shown
        elif picture.ndim == 2:
            self.ale.getScreenGrayscale(picture)
        else:
            self.ale.getScreenRGB(picture)

    def screen(self) -> np.ndarray:
        """Return the screen as a new array: uint8 RGB `[210, 160, 3]`."""
        picture = np.empty((*SCREEN, 3), np.uint8)
        self.grab(picture)
        return picture

    def save(self) -> dict[str, Any]:
        """Return the whole state, to pickle.

        ALE's own lacks the screen, and the action that a sticky one may repeat. Which that is, ALE
        tells nobody, so that `act` follows its random numbers: a Mersenne Twister of its seed, one
        double of 53 bits per frame.
        """
        return {
            "ale": self.ale.cloneState(include_rng=True),
            "frames": self.frames,
            "held": self._held and (self._held[0].value, self._held[1]),
            "twister": self._twister.get_state(),
            "screen": self.screen(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go to a state that `save` returned; another emulator of the same game can, too."""
        self.new_game()
        if state["held"] is not None:
            held = Action(state["held"][0]), state["held"][1]
            while self._held is None:
                self._act(*held)
                if self._twister.random_sample() >= self._sticky:
                    self._held = held
        self.ale.restoreState(state["ale"])
        self.frames, self._shown = state["frames"], state["screen"]
        self._twister.set_state(state["twister"])
