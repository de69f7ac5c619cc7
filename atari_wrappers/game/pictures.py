"""From screens to observations: a step's last two frames pooled, made small, and stacked."""

from __future__ import annotations

import cv2
import numpy as np

from atari_wrappers.game.emulator import SCREEN, Emulator
from atari_wrappers.recipes import Recipe


class Pool:
    """The last two frames of a step, and their pixel-wise maximum.

    Where a game ends within a skip, older frames stay in their places. What is made of those is
    `Recipe.last_frame`, and what the subclasses differ in.

    Args:
        emulator: Whose screen is read.
        gray: Pool gray pictures; otherwise RGB ones.
    """

    def __init__(self, emulator: Emulator, gray: bool) -> None:
        shape = SCREEN if gray else (*SCREEN, 3)
        self._emulator = emulator
        self._older = np.zeros(shape, np.uint8)
        self._newer = np.zeros(shape, np.uint8)

    @property
    def buffers(self) -> tuple[np.ndarray, np.ndarray]:
        """What is remembered from step to step; for saving and restoring in place."""
        return self._older, self._newer

    def keep(self, left: int, is_end: bool) -> None:
        """Take the screen in, with `left` (1 or 0) frames of the skip to come."""
        self._emulator.grab(self._older if left else self._newer)

    def restarted(self) -> np.ndarray:
        """Return the screen, with which an episode begins."""
        raise NotImplementedError

    def pooled(self, is_full: bool) -> np.ndarray:
        """Return the maximum; `is_full` says whether the skip ran to its end."""
        raise NotImplementedError


class SeparatePool(Pool):
    """As stable-baselines3: a place that the step left empty has the last full step's frame."""

    def __init__(self, emulator: Emulator, gray: bool) -> None:
        super().__init__(emulator, gray)
        self._pooled = np.empty_like(self._older)

    def restarted(self) -> np.ndarray:
        """Return the screen, with which an episode begins; the pool does not take it in."""
        screen = np.empty_like(self._older)
        self._emulator.grab(screen)
        return screen

    def pooled(self, is_full: bool) -> np.ndarray:
        """Return the maximum; `is_full` says whether the skip ran to its end."""
        return np.maximum(self._older, self._newer, out=self._pooled)


class InPlacePool(Pool):
    """As gymnasium and ALE: the frame of an end is dropped; the maximum replaces the newer one."""

    def keep(self, left: int, is_end: bool) -> None:
        """Take the screen in, with `left` (1 or 0) frames of the skip to come."""
        if not is_end:
            super().keep(left, is_end)

    def restarted(self) -> np.ndarray:
        """Return the screen, with which an episode begins."""
        self._emulator.grab(self._newer)
        self._older.fill(0)
        return self._newer

    def pooled(self, is_full: bool) -> np.ndarray:
        """Return the maximum; `is_full` says whether the skip ran to its end."""
        return np.maximum(self._newer, self._older, out=self._newer)


class FullSkipPool(Pool):
    """As EnvPool: pooled if the skip is full, and the maximum replaces the older frame."""

    def restarted(self) -> np.ndarray:
        """Return the screen, with which an episode begins."""
        self._emulator.grab(self._older)
        return self._older

    def pooled(self, is_full: bool) -> np.ndarray:
        """Return the maximum; `is_full` says whether the skip ran to its end."""
        if is_full:
            np.maximum(self._older, self._newer, out=self._older)
        return self._older


def make_pool(emulator: Emulator, recipe: Recipe) -> Pool:
    """Return the pool that `recipe` asks for."""
    pools = {"pooled": SeparatePool, "dropped": InPlacePool, "alone": FullSkipPool}
    pool = pools[recipe.last_frame]
    if recipe.frame_skip == 1 and pool is FullSkipPool:
        pool = SeparatePool  # whose older frame stays black, so that the newer is seen as it is
    return pool(emulator, recipe.pooling == "gray" and recipe.grayscale)


class Stack:
    """The frames of an observation: uint8 `[frame_stack, height, width]`, or with 3 colours last.

    Attributes:
        frames: The array, oldest frame first.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._size = recipe.screen_size
        self._pads = recipe.padding == "reset"
        colours = () if recipe.grayscale else (3,)
        self._gray = recipe.grayscale
        self.frames = np.zeros((recipe.frame_stack, *self._size, *colours), np.uint8)

    def push(self, picture: np.ndarray) -> None:
        """Put a picture, uint8 `[210, 160]` or `[210, 160, 3]`, behind the others."""
        self.frames[:-1] = self.frames[1:]
        if self._gray and picture.ndim == 3:
            picture = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        height, width = self._size
        cv2.resize(picture, (width, height), dst=self.frames[-1], interpolation=cv2.INTER_AREA)

    def restart(self, picture: np.ndarray) -> None:
        """Begin with a picture, and nothing or the same one before it."""
        self.push(picture)
        self.frames[:-1] = self.frames[-1] if self._pads else 0
