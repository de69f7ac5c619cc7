"""One game in ALE's emulator: loaded, played frame by frame, its screen read. No rules here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ale_py
import numpy as np
from ale_py import Action, ALEInterface, ALEState

from atari_wrappers.checks import check_number
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.game.ale_state import (
    END_FRAME,
    STAY_IN_FRAME,
    check_ale_state,
    is_within_frame,
    twister_in,
    with_program,
)
from atari_wrappers.ids import EnvId, rom_path
from atari_wrappers.opencv import to_gray
from atari_wrappers.plain_data import check_alike
from atari_wrappers.recipes import Recipe

OnFrame = Callable[[], None] | None
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

    The recipe says sticky actions, mode, difficulty and the set of actions; `on_frame` is called
    after each emulated frame.

    Attributes:
        reward_shape: `()`; with two players `(2,)`.
        actions: What the game's actions are called there, in order.
        frames: Emulated frames since the game began.
        at_start: Whether none was emulated in this game before the one that is shown.

    Raises:
        UnsupportedError: The game has no such mode or difficulty.
    """

    reward_shape: tuple[int, ...] = ()
    game_over: Callable[[], bool]
    lives: Callable[[], int]

    def __init__(self, env_id: EnvId, recipe: Recipe, on_frame: OnFrame = None) -> None:
        self._sticky = float(np.float32(recipe.sticky_actions))  # what ALE compares with
        self._rom, self._mode, self._difficulty = env_id.game, recipe.mode, recipe.difficulty
        rom_path(self._rom)  # whose error tells what to do, also if the cartridge is known
        self._on_frame = on_frame
        self._ale = ale = self._make_interface()
        self.frames: int = 0
        self.at_start: bool = False
        self._seed = 0
        self._is_loaded = self._is_fresh = False
        self._held: tuple[Action, float] | None = None
        self._twister = np.random.RandomState(0)
        self._shown: np.ndarray | None = None
        # Bound once: looked up at each step, they would cost a step as much as its bookkeeping.
        self._act, self.game_over, self.lives = ale.act, ale.game_over, ale.lives
        self.actions: list[Action] = self._find_actions(
            all_of_them=recipe.full_action_space or recipe.continuous
        )

    @property
    def made_by(self) -> str:
        """The library that emulates, with its version: its states are for no other."""
        return f"ale-py {ale_py.__version__}"

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
        """Have the console switched on again for the next game, with random numbers from `seed`.

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
        ale.loadROM(rom_path(self._rom))
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
        self._is_fresh, self.at_start = False, True
        self._follow()

    def _follow(self) -> None:
        """Go to where ALE's random numbers are, with which a few games start already.

        They are what ends its states: the words of a Mersenne Twister and the place among them.
        """
        if self._sticky:
            words, place = twister_in(self._ale_state())
            self._twister.set_state(("MT19937", words, place, 0, 0.0))

    def act(self, action: Any, strength: float = 1.0) -> Any:
        """Emulate a frame and return its reward, an integer, or with two players int32 `[2]`.

        `strength`, 0 to 1, is how far a paddle turns.
        """
        reward = self._act(action, strength)
        if self._sticky and self._twister.random_sample() >= self._sticky:
            self._held = action, strength
        self._note_frame()
        return reward

    def _note_frame(self) -> None:
        self.frames += 1
        self._shown = None
        if self._on_frame is not None:
            self._on_frame()
        self.at_start = False

    def grab(self, picture: np.ndarray) -> None:
        """Copy the screen to `picture`: uint8 `[height, width]` in gray or `[…, 3]` in RGB."""
        if self._shown is not None:
            gray = picture.ndim == 2
            picture[:] = to_gray(self._shown) if gray else self._shown
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
        Nor can the screen be put back where ALE draws: what the next frames leave out shows what
        ALE drew there last.
        """
        return {
            "ale": self._ale_state(),
            "frames": self.frames,
            "held": self._held and [self._held[0].value, self._held[1]],
            "screen": self.screen(),
        }

    def _ale_state(self) -> bytes:
        return self.ale.cloneState(include_rng=True).serialize()

    def check(self, state: Any) -> None:
        """Refuse, by a `ValueError`, what is not as `save` returns it."""
        own = self.save()
        check_alike("emulator", state, own | {"held": ...})
        check_ale_state(state["ale"], own["ale"])
        check_number("emulator.frames", state["frames"], 0)
        if state["held"] is not None:
            check_alike("emulator.held", state["held"], [0, 1.0])
            code, strength = state["held"]
            check_number("emulator.held", code, 0, len(Action.__members__) - 1)
            check_number("emulator.held", strength, 0, 1)
            if not 0 < self._sticky < 1:
                raise ValueError("emulator.held is an action, and none of this game's is repeated")

    def restore(self, state: dict[str, Any]) -> None:
        """Go to a state that `save` returned; another emulator of the same game can, too."""
        held = state["held"] and (Action(state["held"][0]), state["held"][1])
        if self.ale.game_over() or (self._sticky and held is None):
            self._ale.reset_game()  # in a game that is over no frame is emulated
        self._follow()
        if held is not None:
            self._hold(held)
        self._enter(is_within_frame(state["ale"]), held or (Action.NOOP, 1.0))
        self._ale.restoreState(ALEState(state["ale"]))
        self._follow()
        self._is_fresh = False
        self.frames, self._held, self._shown = state["frames"], held, state["screen"]

    def _hold(self, action: tuple[Action, float]) -> None:
        """Let an action be the last that ALE took, which a sticky one may repeat."""
        is_held = False
        while not is_held:
            if self._ale.game_over():
                self._ale.reset_game()
                self._follow()
            self._act(*action)
            is_held = self._twister.random_sample() >= self._sticky

    def _enter(self, within_frame: bool, action: tuple[Action, float]) -> None:
        """Bring ALE to the end of a frame, or into one, which no restored state does."""
        if self._ale.game_over():
            self._ale.reset_game()
        own = self._ale_state()
        programs = [END_FRAME] * is_within_frame(own) + [STAY_IN_FRAME] * within_frame
        for program in programs:
            self._ale.restoreState(ALEState(with_program(own, program)))
            self._act(*action)
        if programs and is_within_frame(self._ale_state()) != within_frame:
            raise RuntimeError(f"ale-py {ale_py.__version__} ends frames in a way of its own")
