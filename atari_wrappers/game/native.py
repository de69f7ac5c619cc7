"""Atari games on `atari_core`, which emulates them in Rust: all that is known of that module.

It needs not be there: `obstacles` says what keeps a game from being played on it. `open_core` makes
a batch, of which a `NativeView` shows one game; a `NativeGame` is one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import ale_py
import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from atari_wrappers.about import __version__
from atari_wrappers.checks import checked_integer, checked_seed
from atari_wrappers.errors import (
    ClosedError,
    ResetNeededError,
    UnsupportedAttributeError,
    UnsupportedError,
)
from atari_wrappers.game.emulator import OnFrame
from atari_wrappers.game.env import NEW_GAME, AtariGame
from atari_wrappers.game.native_console import NativeConsole
from atari_wrappers.game.saved import STATE_VERSION, HasStates, SavedAnywhere
from atari_wrappers.game.spaces import no_such_action, spaces_of
from atari_wrappers.ids import rom_path
from atari_wrappers.plain_data import pack, unpack
from atari_wrappers.recipes import PRESETS, Recipe
from atari_wrappers.request import EnvRequest
from atari_wrappers.types import EnvReset, EnvStep, Options

if TYPE_CHECKING:
    from atari_core import AtariVecEnv

_INSTALL = f"pip install atari-core=={__version__}"
NOT_INSTALLED = f"its module atari_core is not installed ({_INSTALL})"


def problem_of_module() -> str | None:
    """Say what keeps the module `atari_core` from being used at all: it is not there, or broken."""
    try:
        import atari_core
    except ModuleNotFoundError as error:
        if error.name == "atari_core":
            return NOT_INSTALLED
        return _broken(error)
    except ImportError as error:
        return _broken(error)
    if atari_core.__file__ is None:  # a folder of that name, such as that of its sources
        return NOT_INSTALLED
    needed = ("AtariVecEnv", "actions", "obstacle")
    lacks = [name for name in needed if not hasattr(atari_core, name)]
    if lacks:
        return _broken(f"it has no {', '.join(lacks)}")
    if atari_core.__version__ != __version__:
        return _broken(f"it is {atari_core.__version__}, and atari_wrappers is {__version__}")
    return None


def _broken(why: Any) -> str:
    return f"its module atari_core is installed and cannot be used ({why}): {_INSTALL}"


def obstacles(request: EnvRequest) -> Iterator[str]:
    """Say what keeps `atari_core` from playing a game as it is asked for, if anything."""
    if request.recipe is None:
        yield "it is no Atari game"
        return
    problem = problem_of_module() or _problem_of_game(request)
    if problem is not None:
        yield problem


def _problem_of_game(request: EnvRequest) -> str | None:
    from atari_core import obstacle

    try:
        return obstacle(
            _rom_path(request), _parts(request.game_recipe), request.settings.num_players
        )
    except (TypeError, ValueError) as error:  # a part that it does not know, or no such value
        return str(error)


def _parts(recipe: Recipe) -> dict[str, Any]:
    """Return the parts that are not those of ALE's recipe, which `atari_core` starts from.

    So a module that is older than a part plays all recipes that do not ask for it.
    """
    usual = asdict(PRESETS["ale"])
    return {name: value for name, value in asdict(recipe).items() if value != usual[name]}


def _rom_path(request: EnvRequest) -> str:
    return rom_path(request.env_id.game)


def native_spaces(request: EnvRequest) -> tuple[gym.spaces.Box, gym.Space[Any]]:
    """Return what a game observes, and what it takes."""
    from atari_core import actions

    recipe, num_players = request.game_recipe, request.settings.num_players
    codes = actions(_rom_path(request), num_players, full=recipe.full_action_space)
    return spaces_of(recipe, len(codes), num_players)


def open_core(
    requests: Sequence[EnvRequest],
    num_envs: int,
    autoreset: str,
    num_threads: int,
    *,
    is_filmed: bool = True,
) -> AtariVecEnv:
    """Return a batch of `atari_core`: of one game, or of one for each env, by one recipe.

    `is_filmed` says whether somebody takes the films of the games that the settings record.
    """
    from atari_core import AtariVecEnv

    settings, recipe = requests[0].settings, requests[0].game_recipe
    # Of which games every frame is wanted: the first and every n-th, 0 for none.
    film_every = settings.record_every if settings.video_dir is not None and is_filmed else 0
    return AtariVecEnv(
        [_rom_path(request) for request in requests],
        num_envs,
        _parts(recipe),
        num_players=settings.num_players,
        autoreset=autoreset,
        num_threads=num_threads,
        film_every=film_every if settings.img_dir is None else 1,
        film_unfinished=settings.record_unfinished,
    )


class _Shown(NamedTuple):
    """A frame of a film that is being played."""

    is_first: bool
    ended_in_reset: bool
    screen: np.ndarray | None  # of a game that is filmed


class NativeView(HasStates, gym.Env[np.ndarray, Any]):
    """A game of a batch of `atari_core`, to look into and to save; the batch steps it.

    Args:
        core: The batch.
        index: The game's place in it.
        request: How it was made.
        spaces: `native_spaces(request)`, which a batch has once.
        env_index: Its place among all.
        on_frame: Called by `play_film` for each frame of the games that are filmed, which `render`
            then shows, and for the first frame of each other game.
    """

    _kind = "env"  # of states
    metadata: dict[str, Any] = AtariGame.metadata
    spec: EnvSpec | None
    env_index: int
    render_mode: str | None
    recipe: Recipe
    num_players: int
    observation_space: gym.spaces.Box
    action_space: gym.Space[Any]

    def __init__(
        self,
        core: AtariVecEnv,
        index: int,
        request: EnvRequest,
        spaces: tuple[gym.spaces.Box, gym.Space[Any]],
        env_index: int,
        on_frame: OnFrame = None,
    ) -> None:
        self.spec, self.env_index = request.env_id.spec, env_index
        self.render_mode = "rgb_array"
        self.recipe = request.game_recipe
        self.metadata = {**self.metadata, "render_fps": self.recipe.steps_per_second}
        self.num_players = request.settings.num_players
        self.observation_space, self.action_space = spaces
        self._core, self._index, self._rom = core, index, request.env_id.game
        self._on_frame = on_frame
        self._shown: _Shown | None = None

    @property
    def ale(self) -> NativeConsole:
        """The console under the names that ALE's interface has."""
        return NativeConsole(self._core, self._index, self._rom, self.num_players)

    @property
    def frame_number(self) -> int:
        """Emulated frames since the game began."""
        return self._core.frame_number(self._index)

    @property
    def is_first_frame(self) -> bool:
        """Of the frame that is shown: whether it is the first of its game."""
        return self._shown is not None and self._shown.is_first

    @property
    def ended_in_reset(self) -> bool:
        """Of the frame that is shown: whether the game before its own ended in a reset."""
        return self._shown is not None and self._shown.ended_in_reset

    @property  # type: ignore[misc]  # gymnasium's can be set
    def np_random(self) -> np.random.Generator:
        """Refused: the random numbers are the emulator's, and go with its states."""
        raise UnsupportedAttributeError(
            f"np_random: the random numbers of {self} are in its states alone"
        )

    def get_action_meanings(self) -> list[str]:
        """Return the names of the console's actions, in the order of the integers for them."""
        return [ale_py.Action(number).name for number in self._core.actions(self._index)]

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Refuse, by an `UnsupportedError`."""
        raise UnsupportedError(f"reset of {self}: the batch resets it; reset_at has an index")

    def step(self, action: Any) -> EnvStep:
        """Refuse, by an `UnsupportedError`."""
        raise UnsupportedError(f"step of {self}: the batch steps it; step has an env_id")

    def render(self) -> np.ndarray:
        """Return what the screen shows: uint8 RGB `[210, 160, 3]`."""
        if self._shown is None:
            return self._core.rgb(self._index)
        if self._shown.screen is None:
            raise RuntimeError(f"{self} has no picture of this frame: its game is not filmed")
        picture: np.ndarray = self._core.rgb_palette(self._index)[self._shown.screen]
        return picture

    def play_film(self, on_step: Callable[..., None]) -> None:
        """Show each frame that was filmed since the last call.

        `on_step` is called after the last frame of each of the agent's steps, with `game_over`.
        """
        events, pictures = self._core.take_film(self._index)
        screens = iter(pictures)
        try:
            for event in events:
                if isinstance(event, bool):
                    on_step(game_over=event)
                else:
                    is_first, ended_in_reset, is_filmed = event
                    screen = next(screens) if is_filmed else None
                    self._shown = _Shown(is_first, ended_in_reset, screen)
                    if self._on_frame is not None:
                        self._on_frame()
        finally:
            self._shown = None

    def save_state(self) -> bytes:
        """Return the whole state, random numbers included: plain data, of which nothing runs."""
        [state] = self._core.save_states([self._index])
        return pack(self._kind, STATE_VERSION, {"made_by": self._made_by, "native": state})

    def check_state(self, state: bytes) -> bytes:
        """Return what of a state is `atari_core`'s; a `ValueError` says why it is none of this."""
        try:
            values = unpack(self._kind, STATE_VERSION, state)
        except ValueError as error:
            raise ValueError(f"this is not what save_state returned: {error}") from error
        if "native" not in values:
            raise ValueError(
                'this is not the state of a game on "native": another backend saved it'
            )
        self._check_maker(values["made_by"])
        native: bytes = values["native"]
        return native

    def restore_state(self, state: bytes) -> None:
        """Go to a state of this game, or of one by the same recipe, or change nothing.

        What follows is the same to the last bit.
        """
        self._core.restore_states([self._index], [self.check_state(state)])


class NativeGame(SavedAnywhere, NativeView):
    """An Atari game on `atari_core`, of which `AtariGame` documents what it observes and tells.

    `on_frame` is called after each step or reset, as `NativeView` says, for the frames emulated in
    it, those of no-ops and FIRE too.

    Raises:
        UnsupportedError: `atari_core` is not installed, or the game is not proved there.
    """

    _kind = "game"
    # Gymnasium's own, from which the game draws nothing.
    np_random = gym.Env.np_random

    def __init__(self, request: EnvRequest, env_index: int = 0, on_frame: OnFrame = None) -> None:
        problems = "; ".join(obstacles(request))
        if problems:
            raise UnsupportedError(
                f'backend "native" cannot serve `{request.env_id.name}`: {problems};'
                ' use backend="auto"'
            )
        is_filmed = on_frame is not None
        core = open_core([request], 1, "disabled", num_threads=1, is_filmed=is_filmed)
        super().__init__(core, 0, request, native_spaces(request), env_index, on_frame)
        self._made_of = request, env_index
        self._is_closed = False

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Start an episode; arguments and results are those of `AtariGame.reset`."""
        self._check_open("reset")
        seed = checked_seed(seed)
        gym.Env.reset(self, seed=seed)
        self._core.drain()  # a step that Ctrl-C broke off
        self._core.begin_reset([0], [seed], bool((options or {}).get(NEW_GAME)))
        self._core.receive(1)
        obs, results = self._read()
        return obs, _info(results)

    def step(self, action: Any) -> EnvStep:
        """Take a step; arguments, results and errors are those of `AtariGame.step`."""
        self._check_open("step")
        if not self._core.is_in_play(0):
            raise ResetNeededError(f"step of {self} without a game in play: call reset() first")
        space = self.action_space
        if isinstance(space, gym.spaces.Discrete):
            action = checked_integer("action", action)
        # Numbers of two players are judged as they are, those of a stick as what the space has.
        given = np.asarray(action, space.dtype if self.recipe.continuous else None)
        if given.dtype == bool or not space.contains(given):
            raise no_such_action(self, action)
        self._core.begin_step(given.astype(space.dtype)[None], [0])
        self._core.receive(1)
        obs, results = self._read()
        reward, terminated, truncated = map(_only, results[:3])
        return obs, reward, terminated, truncated, _info(results)

    def save_state(self) -> bytes:
        """Return the whole state; a `ResetNeededError` says that there was no reset yet."""
        self._check_open("save_state")
        if not self._was_reset:
            raise ResetNeededError(f"save_state of {self}: call reset() first")
        return super().save_state()

    @property
    def _was_reset(self) -> bool:
        return self._core.frame_number(0) > 0 or self._core.is_in_play(0)

    def _read(self) -> tuple[np.ndarray, Any]:
        obs = np.empty((1, *self.observation_space.shape), np.uint8)
        results = self._core.read([0], obs)
        if self._on_frame is not None:
            self.play_film(lambda **_: None)
        return obs[0], results

    def close(self) -> None:
        """Free the emulator."""
        self._is_closed = True
        self._core.close()

    def _check_open(self, call: str) -> None:
        if self._is_closed:
            raise ClosedError(f"{call} of {self}: it was closed")


def _info(results: Any) -> dict[str, Any]:
    return {name: _only(array) for name, array in results[3].items() if name != "env_id"}


def _only(array: np.ndarray) -> Any:
    """Return the value of the one row, an array of two players' if there are two."""
    return array[0] if array.ndim > 1 else array.item()
