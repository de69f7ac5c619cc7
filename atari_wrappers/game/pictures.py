"""What is observed of a game: pictures pooled, made small and stacked, or the console's RAM.

`rules` says which frame was kept and with which an episode begins; nothing is decided here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from atari_wrappers.game.emulator import Emulator
from atari_wrappers.opencv import check_opencv, resize, to_gray
from atari_wrappers.recipes import RAM_BYTES, Recipe


class Pictures:
    """The screen as uint8 `[frame_stack, height, width]`, with 3 colours last, or channels last.

    A step's last two frames are kept, and their pixel-wise maximum is what it shows. Where a game
    ends within a skip, older frames stay in their places; `Recipe.last_frame` says what is made of
    them, and with it where the maximum goes: to a place of its own (`"pooled"`, as
    stable-baselines3 does), to the newer frame's, which the frame of an end does not reach
    (`"dropped"`: gymnasium, ALE), or to the older one's, if the skip ran to its end (`"alone"`:
    EnvPool).

    Attributes:
        picture: What the last step or start of an episode shows, at the console's size; `push` and
            `begin` take it.
    """

    picture: np.ndarray

    def __init__(self, emulator: Emulator, recipe: Recipe) -> None:
        check_opencv()
        self._emulator = emulator
        gray = recipe.pooling == "gray" and recipe.grayscale
        # The older frame, the newer one, and a place for their maximum.
        shape = (*emulator.screen_size, *(() if gray else (3,)))
        self._older, self._newer, apart = np.zeros((3, *shape), np.uint8)
        self._last_frame = recipe.last_frame
        if recipe.frame_skip == 1 and self._last_frame == "alone":
            self._last_frame = "pooled"  # the older one stays black: the newer is seen as it is
        places = {"pooled": apart, "dropped": self._newer, "alone": self._older}
        self.picture = self._maximum = places[self._last_frame]
        self._gray, self._pads = recipe.grayscale, recipe.padding == "reset"
        self._gray_first = recipe.resizing == "gray"
        self._linear = recipe.interpolation == "linear"
        self._channels_last = recipe.channels_last
        height, width = recipe.screen_size
        self._size = width, height  # as OpenCV has it
        count, colours = recipe.frame_stack, () if recipe.grayscale else (3,)
        # A ring: the oldest frame is where the next one goes.
        self._frames = np.zeros((count, height, width, *colours), np.uint8)
        self._oldest = 0

    def kept(self, left: int, is_end: bool) -> None:
        """Take a frame in, with `left` (1 or 0) of the step to come; `is_end` stops it there."""
        if not (is_end and self._last_frame == "dropped"):
            self._emulator.grab(self._older if left else self._newer)

    def step_done(self, is_full: bool) -> None:
        """Let `picture` be what the step shows; `is_full` says whether it ran to its end."""
        if is_full or self._last_frame != "alone":
            np.maximum(self._older, self._newer, out=self._maximum)
        self.picture = self._maximum

    def restarted(self) -> None:
        """Let `picture` be the screen, with which an episode begins."""
        self._emulator.grab(self._maximum)
        if self._last_frame == "dropped":
            self._older.fill(0)
        self.picture = self._maximum

    def push(self) -> None:
        """Put the picture, made small, behind the others."""
        picture, frame = self.picture, self._frames[self._oldest]
        turns_gray = self._gray and picture.ndim == 3
        if turns_gray and not self._gray_first:
            to_gray(resize(picture, self._size, linear=self._linear), out=frame)
        else:
            if turns_gray:
                picture = to_gray(picture)
            resize(picture, self._size, frame, self._linear)
        self._oldest = (self._oldest + 1) % len(self._frames)

    def begin(self) -> None:
        """Let an episode begin with the picture, and nothing or the same one before it."""
        newest = self._oldest
        self.push()
        others = np.arange(len(self._frames)) != newest
        self._frames[others] = self._frames[newest] if self._pads else 0

    def write_to(self, out: np.ndarray) -> np.ndarray:
        """Write the observation, the oldest frame first, to `out` and return that."""
        if self._channels_last:
            frames = np.moveaxis(out.reshape(*out.shape[:2], len(self._frames), -1), 2, 0)
            frames = frames[..., 0] if self._gray else frames
        else:
            frames = out
        count = len(self._frames) - self._oldest
        frames[:count], frames[count:] = self._frames[self._oldest :], self._frames[: self._oldest]
        return out

    def state(self) -> dict[str, Any]:
        """Return all that is remembered from step to step, as plain data."""
        frames = np.roll(self._frames, -self._oldest, axis=0)
        return {"older": self._older.copy(), "newer": self._newer.copy(), "frames": frames}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to where a `state` was taken."""
        self._older[:], self._newer[:] = state["older"], state["newer"]
        self._frames[:], self._oldest = state["frames"], 0


class Ram:
    """The console's memory, uint8 `[128]`, as the last frame left it; told as `Pictures` is."""

    picture: np.ndarray

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self.picture = self._observed = np.zeros(RAM_BYTES, np.uint8)

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


Observations = Pictures | Ram


def make_observations(emulator: Emulator, recipe: Recipe) -> Observations:
    """Return what observes a game as the recipe says."""
    return Pictures(emulator, recipe) if recipe.obs_type == "screen" else Ram(emulator)
