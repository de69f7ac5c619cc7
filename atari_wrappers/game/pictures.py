"""What is observed of a game: pictures pooled, made small and stacked, or the console's RAM.

`rules` says which frame was kept and with which an episode begins; nothing is decided here.
"""

from __future__ import annotations

from typing import Any, Protocol

import cv2
import numpy as np

from atari_wrappers.game.emulator import RAM_BYTES, SCREEN, Emulator
from atari_wrappers.recipes import Recipe


class Observations(Protocol):
    """What the rules tell of frames, and what is asked for then.

    Attributes:
        shape: Of an observation, uint8.
        picture: What the last step, or start of an episode, shows. `push` and `begin` take it.
    """

    shape: tuple[int, ...]
    picture: np.ndarray

    def kept(self, left: int, is_end: bool) -> None:
        """Take a frame in, with `left` (1 or 0) of the step to come; `is_end` stops it there."""

    def step_done(self, is_full: bool) -> None:
        """Let `picture` be what the step shows; `is_full` says whether it ran to its end."""

    def restarted(self) -> None:
        """Let `picture` be the screen, with which an episode begins."""

    def push(self) -> None:
        """Add the picture to what is observed."""

    def begin(self) -> None:
        """Let an episode begin with the picture."""

    def write_to(self, out: np.ndarray) -> np.ndarray:
        """Write the observation to `out`, and return that."""

    def state(self) -> dict[str, Any]:
        """Return all that is remembered from step to step, as plain data."""

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to where a `state` was taken."""


def make_observations(emulator: Emulator, recipe: Recipe) -> Observations:
    """Return what observes a game as the recipe says."""
    return Pictures(emulator, recipe) if recipe.obs_type == "screen" else Ram(emulator)


class Pool:
    """The last two frames of a step, and their pixel-wise maximum.

    Where a game ends within a skip, older frames stay in their places. What is made of those is
    `Recipe.last_frame`, and what the subclasses differ in.
    """

    def __init__(self, emulator: Emulator, shape: tuple[int, ...]) -> None:
        self._emulator = emulator
        self.older = np.zeros(shape, np.uint8)
        self.newer = np.zeros(shape, np.uint8)

    def keep(self, left: int, is_end: bool) -> None:
        """Take the screen in."""
        self._emulator.grab(self.older if left else self.newer)

    def restarted(self) -> np.ndarray:
        """Return the screen, with which an episode begins."""
        raise NotImplementedError

    def pooled(self, is_full: bool) -> np.ndarray:
        """Return the maximum."""
        raise NotImplementedError


class SeparatePool(Pool):
    """As stable-baselines3: a place that the step left empty has the last full step's frame."""

    def __init__(self, emulator: Emulator, shape: tuple[int, ...]) -> None:
        super().__init__(emulator, shape)
        self._pooled = np.empty_like(self.older)

    def restarted(self) -> np.ndarray:
        """Return the screen, which the pool does not take in."""
        self._emulator.grab(self._pooled)
        return self._pooled

    def pooled(self, is_full: bool) -> np.ndarray:
        """Return the maximum, in a place of its own."""
        return np.maximum(self.older, self.newer, out=self._pooled)


class InPlacePool(Pool):
    """As gymnasium and ALE: the frame of an end is dropped; the maximum replaces the newer one."""

    def keep(self, left: int, is_end: bool) -> None:
        """Take the screen in, but for that of an end."""
        if not is_end:
            super().keep(left, is_end)

    def restarted(self) -> np.ndarray:
        """Return the screen, as the newer frame."""
        self._emulator.grab(self.newer)
        self.older.fill(0)
        return self.newer

    def pooled(self, is_full: bool) -> np.ndarray:
        """Return the maximum, as the newer frame."""
        return np.maximum(self.newer, self.older, out=self.newer)


class FullSkipPool(Pool):
    """As EnvPool: pooled if the skip is full, and the maximum replaces the older frame."""

    def restarted(self) -> np.ndarray:
        """Return the screen, as the older frame."""
        self._emulator.grab(self.older)
        return self.older

    def pooled(self, is_full: bool) -> np.ndarray:
        """Return the older frame, or the maximum in its place."""
        if is_full:
            np.maximum(self.older, self.newer, out=self.older)
        return self.older


_POOLS = {"pooled": SeparatePool, "dropped": InPlacePool, "alone": FullSkipPool}


class Pictures:
    """The screen as uint8 `[frame_stack, height, width]`, with 3 colours last, or channels last.

    Args:
        emulator: Whose screen is read.
        recipe: How.

    Attributes:
        shape: Of an observation.
        picture: What the last step shows, at the console's size.
    """

    def __init__(self, emulator: Emulator, recipe: Recipe) -> None:
        pool = _POOLS[recipe.last_frame]
        if recipe.frame_skip == 1 and pool is FullSkipPool:
            pool = SeparatePool  # whose older frame stays black, so that the newer is seen as it is
        gray = recipe.pooling == "gray" and recipe.grayscale
        self._pool = pool(emulator, SCREEN if gray else (*SCREEN, 3))
        self.picture = self._pool.older
        self._gray, self._pads = recipe.grayscale, recipe.padding == "reset"
        self._channels_last = recipe.channels_last
        height, width = recipe.screen_size
        self._size = width, height  # as OpenCV has it
        count, colours = recipe.frame_stack, () if recipe.grayscale else (3,)
        # A ring: the oldest frame is where the next one goes.
        self._frames = np.zeros((count, height, width, *colours), np.uint8)
        self._oldest = 0
        self.shape = self._frames.shape
        if self._channels_last:
            self.shape = height, width, count * (1 if self._gray else 3)

    def kept(self, left: int, is_end: bool) -> None:
        """Take a frame in."""
        self._pool.keep(left, is_end)

    def step_done(self, is_full: bool) -> None:
        """Pool the step's frames."""
        self.picture = self._pool.pooled(is_full)

    def restarted(self) -> None:
        """Take the screen."""
        self.picture = self._pool.restarted()

    def push(self) -> None:
        """Put the picture, made small, behind the others."""
        picture = self.picture
        if self._gray and picture.ndim == 3:
            picture = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        frame = self._frames[self._oldest]
        cv2.resize(picture, self._size, dst=frame, interpolation=cv2.INTER_AREA)
        self._oldest = (self._oldest + 1) % len(self._frames)

    def begin(self) -> None:
        """Begin with the picture, and nothing or the same one before it."""
        newest = self._oldest
        self.push()
        others = np.arange(len(self._frames)) != newest
        self._frames[others] = self._frames[newest] if self._pads else 0

    def write_to(self, out: np.ndarray) -> np.ndarray:
        """Write the frames, oldest first."""
        if self._channels_last:
            frames = np.moveaxis(out.reshape(*out.shape[:2], len(self._frames), -1), 2, 0)
            frames = frames[..., 0] if self._gray else frames
        else:
            frames = out
        count = len(self._frames) - self._oldest
        frames[:count], frames[count:] = self._frames[self._oldest :], self._frames[: self._oldest]
        return out

    def state(self) -> dict[str, Any]:
        """Return the frames of the pool and of the stack."""
        frames = np.roll(self._frames, -self._oldest, axis=0)
        pool = self._pool
        return {"older": pool.older.copy(), "newer": pool.newer.copy(), "frames": frames}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to where a `state` was taken."""
        self._pool.older[:], self._pool.newer[:] = state["older"], state["newer"]
        self._frames[:], self._oldest = state["frames"], 0


class Ram:
    """The console's memory, uint8 `[128]`, as the last frame left it.

    Args:
        emulator: Whose memory is read.

    Attributes:
        shape: Of an observation.
        picture: What the last step left.
    """

    shape = (RAM_BYTES,)

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self.picture = self._observed = np.zeros(self.shape, np.uint8)

    def kept(self, left: int, is_end: bool) -> None:
        """Do nothing: no frame is looked at."""

    def step_done(self, is_full: bool) -> None:
        """Read the memory."""
        del is_full
        self.restarted()

    def restarted(self) -> None:
        """Read the memory."""
        self.picture = self._emulator.ale.getRAM()

    def push(self) -> None:
        """Observe what was read."""
        self._observed = self.picture

    begin = push

    def write_to(self, out: np.ndarray) -> np.ndarray:
        """Write the memory."""
        out[:] = self._observed
        return out

    def state(self) -> dict[str, Any]:
        """Return what is observed."""
        return {"ram": self._observed.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to where a `state` was taken."""
        self._observed = state["ram"]
