"""The extension module: a batch of games, and what is known of games before one is played."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np

# `(reward, terminated, truncated, info, games, final)`: float32, bool and bool `[n]`; info's arrays
# by name, as `atari_wrappers.VecEnv` documents them; bool `[n]`, where true games ended, `None`
# where none did; and of episodes that have been followed by another one at once, `None` if none
# were: where, bool `[n]`, their last observations `[n, *obs_shape]` and their lives int32 `[n]`.
# With two players rewards and returns are `[n, 2]`, one for each.
Results = tuple[
    np.ndarray,
    np.ndarray,
    np.ndarray,
    dict[str, np.ndarray],
    np.ndarray | None,
    tuple[np.ndarray, np.ndarray, np.ndarray] | None,
]

class AtariVecEnv:
    """A batch of Atari games by one recipe.

    A call waits for those of other threads to end. A `ValueError` names a value that is wrong;
    calls out of order are a `RuntimeError`, as are all in a fork, which has not the threads of a
    batch that has some beside the one that waits. Actions are C-contiguous, or a `TypeError`.

    Args:
        roms: Paths of one ROM for all, or of one for each environment.
        num_envs: How many, at least 1.
        recipe: Parts by the names of `atari_wrappers.recipes.Recipe`; what is missing is ALE's.
        num_players: 1, or 2 who play against each other: observations then have an axis of the
            players first.
        autoreset: "same-step", "next-step" or "disabled".
        num_threads: Threads that emulate, the one that waits included; 0 is one for each core, and
            at most one for each environment.
        film_every: Keep pictures of the frames of each environment's first game and of every n-th
            after it, for `take_film`; 0 keeps none.
        film_unfinished: Count games that a reset gave up among them.

    Raises:
        ValueError: Something of this cannot be; the message names it, and the remedy.
        OSError: A ROM cannot be read.
    """

    num_envs: int
    # What is in flight, for which no one else keeps account.
    @property
    def kind(self) -> Literal["step", "reset"] | None:
        """What was begun and is waited for; what is left of a reset is received as of a step."""

    @property
    def count(self) -> int:
        """How many environments are in flight."""

    @property
    def obs(self) -> np.ndarray | None:
        """The array that `send` or `offer` gave for the next results."""

    # Where the caller wants the next results; forgotten once they are received.
    out: np.ndarray | None

    def busy(self, env_ids: Sequence[int]) -> list[int]:
        """Return those of the environments named that are in flight."""

    def drain(self) -> None:
        """Wait for all that is in flight, and forget it."""

    def __new__(
        cls,
        roms: Sequence[str | PathLike[str]],
        num_envs: int,
        recipe: Mapping[str, Any],
        *,
        num_players: int = 1,
        autoreset: str = "same-step",
        num_threads: int = 0,
        film_every: int = 0,
        film_unfinished: bool = True,
    ) -> AtariVecEnv: ...
    def begin_reset(
        self, env_ids: Sequence[int], seeds: Sequence[int | None], new_game: bool
    ) -> None:
        """Begin to restart environments, none of which is in flight; at first all of them.

        Without a seed and `new_game`, one that waits after a lost life goes on.
        """

    def begin_step(self, actions: np.ndarray, env_ids: Sequence[int]) -> None:
        """Begin a step of some environments, in pairs with int64 `[n]` or float32 `[n, 3]`.

        With two players int64 `[n, 2]`.
        """

    def send(self, actions: np.ndarray, obs: np.ndarray) -> None:
        """Begin a step of all environments, nothing being in flight.

        `obs`, uint8 `[num_envs, *obs_shape]`, is the emulator's until `recv` or `close` returns.
        """

    def recv(self) -> Results:
        """Wait for what `send` began."""

    def offer(self, obs: np.ndarray) -> None:
        """Give the next `receive` memory: a row for each of as many environments as it waits for.

        `obs`, uint8 `[count, *obs_shape]`, is the emulator's until `receive` or `close` returns;
        what is ready first is in the first row.
        """

    def receive(self, count: int) -> list[int]:
        """Wait for the first `count` of the environments begun, and return which.

        In the order in which they were begun if nothing else is in flight and no memory was offered
        (in their own if they are all), else as they were ready. `read` says what they brought.
        """

    def read(
        self,
        env_ids: Sequence[int],
        obs: np.ndarray | None = None,
        took_part: Sequence[bool] | None = None,
    ) -> Results:
        """Return what environments brought last, none in flight, and write what they show to `obs`.

        `took_part` says of each environment of the batch whether its ends are news.
        """

    def save_states(self, env_ids: Sequence[int]) -> list[bytes]:
        """Return the whole state of each environment: plain data."""

    def restore_states(self, env_ids: Sequence[int], states: Sequence[bytes]) -> None:
        """Bring environments to their states: all of them, or none where one is refused.

        Those of the whole batch stand for a first reset.
        """

    def actions(self, index: int) -> list[int]:
        """Return the numbers of the console's actions, in the order of the agent's."""

    def rgb(self, index: int) -> np.ndarray:
        """Return what the console shows: uint8 `[height, 160, 3]`."""

    def screen(self, index: int) -> np.ndarray:
        """Return its palette entries: uint8 `[height, 160]`."""

    def rgb_palette(self, index: int) -> np.ndarray:
        """Return the colour of each of its palette's entries: uint8 `[256, 3]`."""

    def gray_palette(self, index: int) -> np.ndarray:
        """Return ale-py's gray of each: uint8 `[256]`."""

    def ram(self, index: int) -> np.ndarray:
        """Return the console's memory: uint8 `[128]`."""

    def set_ram(self, index: int, address: int, value: int) -> None:
        """Write a byte of it, at an address of 0 to 127."""

    def lives(self, index: int) -> int:
        """Return the lives left, those of two players as one number; 0 where the game has none."""

    def game_over(self, index: int) -> bool:
        """Return whether the game has ended by itself."""

    def is_in_play(self, index: int) -> bool:
        """Return whether a game goes on that has begun; a lost life is no end of it."""

    def frame_number(self, index: int) -> int:
        """Return the frames emulated since the game began."""

    def take_film(self, index: int) -> tuple[list[tuple[bool, bool, bool] | bool], np.ndarray]:
        """Return what was filmed since this was called last, and forget it.

        Events: of each frame whether it is the first of its game, whether the game before ended
        while a reset was to go on with it, and whether it has a picture, which those of games that
        are not filmed lack (of these the first frame alone is told of); at the end of each step of
        the agent whether the game was over. And the pictures' palette entries, uint8
        `[frames, height, 160]`.
        """

    def close(self) -> None:
        """End the threads. A step in flight is given up."""

def obstacle(
    rom: str | PathLike[str], recipe: Mapping[str, Any], num_players: int = 1
) -> str | None:
    """Say why a game by a recipe might not be ale-py's to the last bit; `None` if it is proved.

    A game for two is compared with that of `multi_agent_ale_py`.
    """

def actions(rom: str | PathLike[str], num_players: int = 1, *, full: bool = False) -> list[int]:
    """Return the numbers of the actions that a game answers to, in ale-py's order.

    With `full` those of all that it takes: 18, or 9 where the button is none of them. With two
    players, those of each.
    """

def simd() -> Literal["portable", "avx2", "avx512"]:
    """Return the vector instructions in use: the best that the processor has.

    The environment variable `ATARI_CORE_SIMD` holds a process to `portable` or `avx2`.
    """
