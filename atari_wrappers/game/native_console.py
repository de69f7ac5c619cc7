"""What one looks into a game of `atari_core` by."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import ale_py
import numpy as np

from atari_wrappers.ids import rom_path
from atari_wrappers.recipes import RAM_BYTES

if TYPE_CHECKING:
    from atari_core import AtariVecEnv


class NativeConsole:
    """A console of `atari_core` under the names that `ale_py.ALEInterface` has.

    What it returns is a copy. States are the env's: `save_state` and `restore_state`.
    """

    getRAM: Callable[[], np.ndarray]  # uint8 [128]
    setRAM: Callable[[int, int], None]  # a byte, 0 to 255, at 0 to 127
    getScreen: Callable[[], np.ndarray]  # entries of the palette: uint8 [210, 160]
    getScreenRGB: Callable[[], np.ndarray]  # uint8 [210, 160, 3]
    getScreenGrayscale: Callable[[], np.ndarray]  # uint8 [210, 160]
    getScreenDims: Callable[[], tuple[int, ...]]
    getRAMSize: Callable[[], int]
    lives: Callable[[], int]
    game_over: Callable[[], bool]
    getEpisodeFrameNumber: Callable[[], int]
    getLegalActionSet: Callable[[], list[ale_py.Action]]

    def __init__(self, core: AtariVecEnv, index: int, rom: str, num_players: int) -> None:
        self._rom, self._num_players = rom, num_players
        self.getRAM = partial(core.ram, index)
        self.setRAM = partial(core.set_ram, index)
        self.getScreen = partial(core.screen, index)
        self.getScreenRGB = partial(core.rgb, index)
        self.getScreenGrayscale = lambda: core.gray_palette(index)[core.screen(index)]
        self.getScreenDims = lambda: core.screen(index).shape
        self.getRAMSize = lambda: RAM_BYTES
        self.lives = partial(core.lives, index)
        self.game_over = partial(core.game_over, index)
        self.getEpisodeFrameNumber = partial(core.frame_number, index)
        self.getLegalActionSet = partial(self._actions, full=True)

    def getMinimalActionSet(self) -> list[ale_py.Action]:  # noqa: N802 - ALE's name
        """Return the actions that the game answers to."""
        return self._actions(full=False)

    def _actions(self, *, full: bool) -> list[ale_py.Action]:
        from atari_core import actions

        numbers = actions(rom_path(self._rom), self._num_players, full=full)
        return [ale_py.Action(number) for number in numbers]
