"""A console of `atari_core` under the names that `ale_py.ALEInterface` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ale_py
import numpy as np
from ale_py import roms

if TYPE_CHECKING:
    from atari_core import AtariVecEnv


class NativeConsole:
    """A console of `atari_core` under the names that `ale_py.ALEInterface` has.

    What it returns is a copy. States are the env's: `save_state` and `restore_state`.
    """

    def __init__(self, core: AtariVecEnv, index: int, rom: str) -> None:
        self._core, self._index, self._rom = core, index, rom

    def getRAM(self) -> np.ndarray:  # noqa: N802 - ALE's name
        """Return the console's memory: uint8 `[128]`."""
        return self._core.ram(self._index)

    def getRAMSize(self) -> int:  # noqa: N802 - ALE's name
        """Return its bytes."""
        return 128

    def setRAM(self, address: int, value: int) -> None:  # noqa: N802 - ALE's name
        """Write one byte of it, 0 to 255, at 0 to 127."""
        self._core.set_ram(self._index, address, value)

    def getScreen(self) -> np.ndarray:  # noqa: N802 - ALE's name
        """Return the palette entries of the screen: uint8 `[210, 160]`."""
        return self._core.screen(self._index)

    def getScreenRGB(self) -> np.ndarray:  # noqa: N802 - ALE's name
        """Return it in colours: uint8 `[210, 160, 3]`."""
        return self._core.rgb(self._index)

    def getScreenGrayscale(self) -> np.ndarray:  # noqa: N802 - ALE's name
        """Return it in ALE's gray: uint8 `[210, 160]`."""
        return self._core.gray_palette(self._index)[self.getScreen()]

    def getScreenDims(self) -> tuple[int, int]:  # noqa: N802 - ALE's name
        """Return its height and width."""
        height, width = self.getScreen().shape
        return height, width

    def lives(self) -> int:
        """Return the lives left; 0 where the game has none."""
        return self._core.lives(self._index)

    def game_over(self) -> bool:
        """Return whether the game has ended by itself."""
        return self._core.game_over(self._index)

    def getEpisodeFrameNumber(self) -> int:  # noqa: N802 - ALE's name
        """Return the frames emulated since the game began."""
        return self._core.frame_number(self._index)

    def getMinimalActionSet(self) -> list[ale_py.Action]:  # noqa: N802 - ALE's name
        """Return the actions that the game answers to."""
        from atari_core import actions

        return [ale_py.Action(number) for number in actions(str(roms.get_rom_path(self._rom)))]

    def getLegalActionSet(self) -> list[ale_py.Action]:  # noqa: N802 - ALE's name
        """Return all actions of the console."""
        return list(ale_py.Action.__members__.values())
