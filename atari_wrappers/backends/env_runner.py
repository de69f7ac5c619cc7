"""One env and its row: stepped, and restarted when the autoreset mode says so."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.results import RECORD, ResultArrays
from atari_wrappers.errors import UnsupportedError

# What a reset says of a game that ended within it.
_OF_GAME = tuple(name for name in RECORD if name not in ("raw_reward", "lives"))


class EnvRunner:
    """Runs one env and writes what it brings to row `index` of `rows`.

    Args:
        env: An env whose infos carry the keys of `rows.RECORD`, those of a reset too.
        rows: Where to write.
        index: The env's row.
        mode: When an ended env restarts.

    Attributes:
        env: The env.
        ended: Whether the env's episode has ended and no reset has followed.
    """

    def __init__(self, env: gym.Env, rows: ResultArrays, index: int, mode: AutoresetMode) -> None:
        self.env = env
        self.ended = False
        self._rows, self._index, self._mode = rows, index, mode
        self._is_lost = False
        self._seed: int | None = None

    def replace(self, env: gym.Env, seed: int | None) -> None:
        """Go on with `env`, which starts with `seed`, in place of one that failed.

        The next step takes no action but says that the episode was truncated; its last observation
        is the last that was seen of it. A reset instead starts as any other.
        """
        rows, index = self._rows, self._index
        self.env, self._seed = env, seed
        # The rows outlive a process that failed.
        waits = self._mode != AutoresetMode.SAME_STEP
        self.ended = bool(waits and (rows.terminated[index] or rows.truncated[index]))
        self._is_lost = True

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None, buffer: int = 0
    ) -> dict[str, Any]:
        """Start an episode; return what the env's info has beyond the record."""
        rows, index, is_lost = self._rows, self._index, self._is_lost
        obs, info = self._reset(seed, options)
        rows.obs[buffer][index] = obs
        rows.reward[index] = 0.0
        rows.terminated[index] = rows.truncated[index] = rows.final[index] = False
        rows.restarted[index] = is_lost
        self._write_record(info, RECORD)
        return _extras(info)

    def step(self, action: Any, buffer: int = 0) -> dict[str, Any]:
        """Take one step; return what the env's info has beyond the record.

        With an ended episode, in same-step mode, that of the last step is under `final_info`. The
        rest of the row is written when all is done, so that a failure leaves it as it was.
        """
        if self.ended and self._mode == AutoresetMode.NEXT_STEP:
            return self.reset(buffer=buffer)
        rows, index, is_lost = self._rows, self._index, self._is_lost
        obs, reward, terminated, truncated, info = (
            self._cut_off(buffer) if is_lost else self.env.step(action)
        )
        self._is_lost = False
        extras = _extras(info)
        self.ended = bool(terminated or truncated)
        restart = self.ended and self._mode == AutoresetMode.SAME_STEP
        first_obs, first_info = obs, info
        if restart:
            rows.final_obs[index] = obs  # before the reset, as the env may write to it again
            first_obs, first_info = self._reset()
        rows.reward[index], rows.restarted[index] = reward, is_lost
        rows.terminated[index], rows.truncated[index] = terminated, truncated
        rows.final[index] = restart
        self._write_record(info, RECORD)
        if restart:
            rows.final_lives[index], rows.lives[index] = info["lives"], first_info["lives"]
            if first_info["game_terminated"] or first_info["game_truncated"]:
                # The reset was to go on after a lost life, and the game ended meanwhile.
                self._write_record(first_info, _OF_GAME)
            extras = _extras(first_info) | ({"final_info": extras} if extras else {})
        rows.obs[buffer][index] = first_obs
        return extras

    def _reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        result = self.env.reset(seed=self._seed if seed is None else seed, options=options)
        self._seed = None
        self.ended = self._is_lost = False
        return result

    def _cut_off(self, buffer: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return the end of an episode whose env failed, out of what was last seen of it."""
        rows, index = self._rows, self._index
        # Where that step ended a game, its numbers are not those of the game that was lost.
        is_new = rows.game_terminated[index] or rows.game_truncated[index]
        info = {name: rows.arrays[name][index].copy() for name in RECORD}
        if is_new:
            info |= dict.fromkeys(("episode_return", "episode_length", "episode_frames"), 0)
        info |= {"raw_reward": 0.0, "game_terminated": False}
        info["game_truncated"] = info["episode_length"] > 0  # one that took no step was no game
        last_obs = rows.obs[buffer - 1][index].copy()  # the buffer before, which is last at 0
        return last_obs, 0.0, False, True, info

    def save(self, buffer: int = 0) -> bytes:
        """Return the env's state and its row.

        An env without a `save_state` of its own is pickled whole.

        Raises:
            UnsupportedError: It can be neither.
        """
        save_state = _method(self.env, "save_state")
        try:
            env = pickle.dumps(self.env if save_state is None else save_state())
        except Exception as error:
            raise UnsupportedError(f"the state of {self.env} cannot be saved: {error}") from error
        row = {name: np.copy(array[self._index]) for name, array in self._rows.arrays.items()}
        row["obs"] = np.copy(self._rows.obs[buffer][self._index])
        return pickle.dumps((save_state is None, env, row, self.ended))

    def load(self, state: bytes, buffer: int = 0) -> None:
        """Bring the env and its row into a state that `save` returned.

        Raises:
            ValueError: It is the state of something else.
        """
        try:
            is_whole, env, row, ended = pickle.loads(state)
        except Exception as error:
            raise ValueError(f"this is not what save_state returned: {error}") from error
        restore_state = _method(self.env, "restore_state")
        if is_whole != (restore_state is None):
            raise ValueError(f"this is not the state of a {self.env}")
        if is_whole:
            self.env = pickle.loads(env)
        else:
            restore_state(pickle.loads(env))
        self._rows.obs[buffer][self._index] = row.pop("obs")
        for name, value in row.items():
            self._rows.arrays[name][self._index] = value
        self.ended, self._is_lost = ended, False

    def _write_record(self, info: dict[str, Any], names: Any) -> None:
        arrays, index = self._rows.arrays, self._index
        for name in names:
            arrays[name][index] = info[name]


def _extras(info: dict[str, Any]) -> dict[str, Any]:
    if len(info) == len(RECORD):
        return {}
    return {name: value for name, value in info.items() if name not in RECORD}


def _method(env: gym.Env, name: str) -> Any:
    return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else None


def get_or_call(env: gym.Env, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return `env`'s attribute, wherever among its wrappers; called if it is a method.

    Raises:
        AttributeError: There is none.
        TypeError: Arguments are given to what is no method.
    """
    attribute = env.get_wrapper_attr(name)
    if callable(attribute):
        return attribute(*args, **kwargs)
    if args or kwargs:
        raise TypeError(f"{name} of {env} is no method, and takes no arguments")
    return attribute
