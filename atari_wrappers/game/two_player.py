"""Games that two players play against each other, by the recipes of `game.AtariGame`.

They run in PettingZoo's fork of ALE; which games and modes there are, `two_players` says.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np
from ale_py import Action

from atari_wrappers.checks import check_number
from atari_wrappers.game.ale_state import check_ale_state
from atari_wrappers.game.emulator import Emulator, OnFrame
from atari_wrappers.game.env import AtariGame
from atari_wrappers.game.seeding import check_twister
from atari_wrappers.game.spaces import no_such_action
from atari_wrappers.ids import EnvId, rom_path
from atari_wrappers.plain_data import check_alike
from atari_wrappers.recipes import Recipe
from atari_wrappers.two_players import FIRST_SEED, NUM_PLAYERS, loaded
from atari_wrappers.types import EnvStep

# Those whose games follow from their actions alone; others from the numbers in RAM and timer at
# power on too, and from the games before.
_WITHOUT_CHANCE = {"pong", "space_invaders"}
# Those in which lives are counted in reserve, -1 when the last is lost.
_COUNTED_IN_RESERVE = {"mario_bros", "space_invaders", "wizard_of_wor"}
_SHARED_LIVES = {"space_invaders"}


class TwoPlayerEmulator(Emulator):
    """The fork with one game in it, which takes a pair of actions and gives a pair of rewards.

    Sticky actions are drawn here, for each player and frame: the fork could draw them too, but its
    states lack the action last taken. Without them a game of Pong or SpaceInvaders follows from its
    actions alone, and another from its seed too.
    """

    reward_shape: tuple[int, ...] = (NUM_PLAYERS,)
    # The fork's interface, of which there are no types, and its method.
    _ale: Any
    _act: Any

    @property
    def made_by(self) -> str:
        """The library that emulates, with its version."""
        return f"multi-agent-ale-py {metadata.version('multi-agent-ale-py')}"

    def __init__(self, env_id: EnvId, recipe: Recipe, on_frame: OnFrame = None) -> None:
        super().__init__(env_id, recipe, on_frame)
        self._set_variant()
        self._ale.reset_game()
        self.lives = self._lives
        self._pressed = np.zeros(NUM_PLAYERS, np.int32)

    def _set_variant(self) -> None:
        self._ale.setMode(self._mode)
        self._ale.setDifficulty(self._difficulty)

    @property
    def screen_size(self) -> tuple[int, int]:
        """Height and width of the screen."""
        width, height = self._ale.getScreenDims()
        return height, width

    def _make_interface(self) -> Any:
        return loaded(self._rom)

    def _find_actions(self, *, all_of_them: bool) -> list[Action]:
        self._is_loaded = True
        ale = self._ale
        codes = ale.getLegalActionSet() if all_of_them else ale.getMinimalActionSet()
        return [Action(int(code)) for code in codes]

    def _follow(self) -> None:
        """Do nothing: the random numbers are drawn here."""

    def load(self, seed: int) -> None:
        """Restart the random numbers; where a game follows from them, load it again."""
        self._twister = np.random.RandomState(seed & 0xFFFFFFFF)
        if self._rom not in _WITHOUT_CHANCE:
            self._ale.setInt(b"random_seed", seed & 0x7FFFFFFF or FIRST_SEED)
            self._ale.loadROM(rom_path(self._rom))
            self._set_variant()

    def new_game(self) -> None:
        """Begin a game."""
        super().new_game()
        self.frames = 0  # as PettingZoo counts: those in which the mode is chosen are no part of it
        self._pressed[:] = 0

    def act(self, action: Any, strength: float = 1.0) -> Any:
        """Emulate a frame; return the players' rewards, int32 `[2]`.

        The action is one for both players, or the codes of two: int32 `[2]`.
        """
        codes = action.value if isinstance(action, Action) else action
        if self._sticky:
            sticks = self._twister.random_sample(NUM_PLAYERS) < self._sticky
            codes = np.where(sticks, self._pressed, codes)
        self._pressed[:] = codes
        rewards = self._act(self._pressed)
        self._note_frame()
        return rewards

    def _lives(self) -> int:
        """Return the lives, that in play included: shared ones, or all of both; 0 where none."""
        if self._rom in _SHARED_LIVES:
            return int(self._ale.lives()) + 1
        in_play = NUM_PLAYERS if self._rom in _COUNTED_IN_RESERVE else 0
        return int(sum(self._ale.allLives())) + in_play

    def save(self) -> dict[str, Any]:
        """Return the whole state as plain data."""
        handle = self._ale.cloneSystemState()
        encoded = self._ale.encodeState(handle)
        self._ale.deleteState(handle)
        return {
            "ale": encoded,
            "frames": self.frames,
            "pressed": self._pressed.copy(),
            "twister": self._twister.get_state(legacy=False),
            "screen": self.screen(),
        }

    def check(self, state: Any) -> None:
        """Refuse, by a `ValueError`, what is not as `save` returns it."""
        own = self.save()
        check_alike("emulator", state, own | {"ale": ..., "twister": ...})
        encoded = np.atleast_1d(state["ale"])
        check_alike("emulator.ale", encoded[:0], own["ale"][:0])
        check_ale_state(encoded.tobytes(), own["ale"].tobytes())
        check_number("emulator.frames", state["frames"], 0)
        for code in state["pressed"].tolist():
            check_number("emulator.pressed", code, 0, len(Action.__members__) - 1)
        check_twister("emulator.twister", state["twister"])

    def restore(self, state: dict[str, Any]) -> None:
        """Go to a state that `save` returned; another emulator of the same game can, too."""
        handle = self._ale.decodeState(state["ale"])
        self._ale.restoreSystemState(handle)
        self._ale.deleteState(handle)
        self._pressed[:] = state["pressed"]
        self.frames, self._shown = state["frames"], state["screen"]
        self._twister.set_state(state["twister"])


class TwoPlayerGame(AtariGame):
    """A game for two, as PettingZoo's `pong_v3`, `space_invaders_v2` and their like play it.

    Every array has an axis of the two players: observations are uint8
    `[2, frame_stack, height, width]` (with `grayscale=False` and 3 colours last), actions
    integers `[2]`, rewards float32 `[2]`, and in the infos so is `raw_reward`; `episode_return` is
    float64 `[2]`. Both players see the same screen, as in PettingZoo.

    All else is said once, for it is of both: a game ends for both at the same frame. Lives are
    those that both share (SpaceInvaders), or those of both together (Entombed, MarioBros,
    WizardOfWor), so that `episodic_life` ends the episode of both; most games have none.
    No-ops and FIRE at the start are pressed by both. Rewards need not sum to zero: Pong takes a
    point from a player who does not serve in time, and gives it to nobody.

    The recipe's `mode` and `difficulty` are those of the game for two, as
    `two_players.recipe_for_two` returned them. It has no polar actions.
    """

    num_players = NUM_PLAYERS
    _emulator_class = TwoPlayerEmulator

    def _observation(self) -> np.ndarray:
        out = np.empty(self.observation_space.shape, np.uint8)
        self._pictures.write_to(out[0])
        out[1:] = out[0]
        return out

    def step(self, action: Any) -> EnvStep:
        """Take a step of `frame_skip` frames, as `AtariGame` does, by integers `[2]`."""
        obs, rewards, terminated, truncated, info = super().step(action)
        return obs, rewards.astype(np.float32), terminated, truncated, info

    def _console_action(self, action: Any) -> tuple[np.ndarray, float]:
        pair = np.asarray(action)
        if pair.dtype == bool or not self.action_space.contains(pair):
            raise no_such_action(self, action)
        actions = self._emulator.actions
        return np.array([actions[number].value for number in pair], np.int32), 1.0

    def _info(self, raw_reward: Any) -> dict[str, Any]:
        info = super()._info(raw_reward)
        for name, dtype in (("raw_reward", np.float32), ("episode_return", np.float64)):
            # Before the first frame of a game there is a single 0.
            info[name] = np.full(NUM_PLAYERS, info[name], dtype)
        return info
