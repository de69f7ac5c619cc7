"""One env and its row: stepped, and restarted when the autoreset mode says so."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.rows import RECORD, Rows
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.requests import SEED_END

# What a reset says of a game that ended within it.
_OF_GAME = tuple(name for name in RECORD if name not in ("raw_reward", "lives"))


class Slot:
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

    def __init__(self, env: gym.Env, rows: Rows, index: int, mode: AutoresetMode) -> None:
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
        rows, index = self._rows, self._index
        obs, info = self._reset(seed, options)
        rows.obs[buffer][index] = obs
        rows.reward[index] = 0.0
        rows.terminated[index] = rows.truncated[index] = rows.final[index] = False
        self._write_record(info, RECORD)
        return _extras(info)

    def step(self, action: Any, buffer: int = 0) -> dict[str, Any]:
        """Take one step; return what the env's info has beyond the record.

        With an ended episode, in same-step mode, that of the last step is under `final_info`.
        """
        if self.ended and self._mode == AutoresetMode.NEXT_STEP:
            return self.reset(buffer=buffer)
        rows, index = self._rows, self._index
        if self._is_lost:
            obs, extras = self._cut_off(buffer), {}
        else:
            obs, rows.reward[index], terminated, truncated, info = self.env.step(action)
            rows.terminated[index], rows.truncated[index] = terminated, truncated
            self._write_record(info, RECORD)
            rows.restarted[index] = False
            extras = _extras(info)
        self.ended = bool(rows.terminated[index] or rows.truncated[index])
        restart = self.ended and self._mode == AutoresetMode.SAME_STEP
        rows.final[index] = restart
        if restart:
            rows.final_obs[index] = obs
            rows.final_lives[index] = rows.lives[index]
            obs, info = self._reset()
            rows.lives[index] = info["lives"]
            if info["game_terminated"] or info["game_truncated"]:
                # The reset was to go on after a lost life, and the game ended meanwhile.
                self._write_record(info, _OF_GAME)
            extras = _extras(info) | ({"final_info": extras} if extras else {})
        rows.obs[buffer][index] = obs
        return extras

    def _reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if self._is_lost and seed is None:
            seed = self._seed
        self._rows.restarted[self._index] = self._is_lost
        result = self.env.reset(seed=seed, options=options)
        self.ended = self._is_lost = False
        return result

    def _cut_off(self, buffer: int) -> np.ndarray:
        """Write the end of an episode whose env failed; return its last observation."""
        rows, index = self._rows, self._index
        rows.reward[index] = rows.raw_reward[index] = 0.0
        rows.terminated[index] = rows.game_terminated[index] = False
        rows.truncated[index] = rows.game_truncated[index] = True
        rows.restarted[index] = True
        return rows.obs[buffer - 1][index].copy()  # the buffer before, which is last at 0

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
        is_whole, env, row, ended = pickle.loads(state)
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


class RestartSeeds:
    """Seeds for envs made anew: the same ones in the same run, and none where there was none."""

    def __init__(self, num_envs: int) -> None:
        self._seeds: list[int | None] = [None] * num_envs
        self._restarts = [0] * num_envs

    def note(self, index: int, seed: int | None) -> None:
        """Remember what an env was seeded with."""
        if seed is not None:
            self._seeds[index] = seed

    def of_restart(self, index: int) -> int | None:
        """Return the seed of an env that is made anew."""
        self._restarts[index] += 1
        if self._seeds[index] is None:
            return None
        sequence = np.random.SeedSequence((self._seeds[index], self._restarts[index]))
        return int(sequence.generate_state(1)[0]) % SEED_END
