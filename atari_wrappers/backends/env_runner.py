"""One env and its row: stepped, and restarted when the autoreset mode says so."""

from __future__ import annotations

import json
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.results import RECORD, ResultArrays
from atari_wrappers.errors import ResetNeededError, UnsupportedError
from atari_wrappers.plain_data import check_alike, differences, pack, unpack

STATE_VERSION = 1
_PARTS = ("made_by", "ended", "seed", "row", "env", "is_pickle")
# What a reset says of a game that ended within it.
_OF_GAME = tuple(name for name in RECORD if name not in ("raw_reward", "lives"))


class EnvRunner:
    """Runs one env and writes what it brings to row `index` of `rows`.

    Attributes:
        env: The env, whose infos carry the keys of `results.RECORD`, those of a reset too.
        obs: What it observed last, as it returned it; before the first reset `None`.
        ended: Whether the env's episode has ended and no reset has followed.
    """

    env: gym.Env[Any, Any]
    ended: bool

    def __init__(self, env: gym.Env, rows: ResultArrays, index: int, mode: AutoresetMode) -> None:
        self.env = env
        self.obs: Any = None
        self.ended = False
        self._rows, self._index, self._mode = rows, index, mode
        self._obs_shape, self._obs_dtype = rows.final_obs.shape[1:], rows.final_obs.dtype
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
        self.obs, info = self._reset(seed, options)
        self.share_obs(buffer)
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
        self._check_obs(obs)
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
        self.obs = first_obs
        self.share_obs(buffer)
        return extras

    def _reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        result = self.env.reset(seed=self._seed if seed is None else seed, options=options)
        self._check_obs(result[0])
        self._seed = None
        self.ended = self._is_lost = False
        return result

    def _check_obs(self, obs: Any) -> None:
        """Refuse what is no observation of the space: a row would broadcast or wrap it."""
        array = np.asarray(obs)
        if array.shape != self._obs_shape:
            shapes = f"{list(array.shape)}, the space {list(self._obs_shape)}"
            raise ValueError(f"its observation has the shape {shapes}")
        dtype = array.dtype
        if dtype != self._obs_dtype and not np.can_cast(dtype, self._obs_dtype, "same_kind"):
            raise ValueError(f"its observation is of {dtype}, the space of {self._obs_dtype}")

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
        last_obs = self._last_obs(buffer - 1)  # the buffer before, which is last at 0
        return last_obs, 0.0, False, True, info

    def _last_obs(self, buffer: int) -> Any:
        """Return what was observed last, also by an env that failed in another process."""
        return self._rows.obs[buffer][self._index].copy() if self.obs is None else self.obs

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return get_or_call(self.env, name, args, kwargs)

    def set_attr(self, name: str, value: Any) -> None:
        set_attr(self.env, name, value)

    def attribute(self, name: str) -> tuple[bool, Any]:
        """Return whether an attribute of the env is a method, and what it is if it is none."""
        attribute = self.env.get_wrapper_attr(name)
        return (True, None) if callable(attribute) else (False, attribute)

    def share_obs(self, buffer: int) -> None:
        """Write the observation, if there is one, where another process reads it, if one does."""
        if self._rows.obs and self.obs is not None:
            self._rows.obs[buffer][self._index] = self.obs

    def save(self, buffer: int = 0) -> bytes:
        """Return the env's state and its row.

        The state is what the env's own `save_state` returns, plain if that is bytes; else it is
        pickled, and an env without that method is pickled whole. Where neither can be, that is an
        `UnsupportedError`; one that replaced a failed env has none before its next call.
        """
        if self._is_lost:
            raise ResetNeededError(f"save_state: env {self._index} was restarted: step or reset it")
        save_state = _method(self.env, "save_state")
        try:
            env = self.env if save_state is None else save_state()
            is_pickle = not isinstance(env, bytes)
            env = pickle.dumps(env) if is_pickle else env
        except Exception as error:
            raise UnsupportedError(f"the state of {self.env} cannot be saved: {error}") from error
        row = self._row()
        row["obs"] = np.asarray(self._last_obs(buffer), row["final_obs"].dtype)
        values = {
            "made_by": _identity(self.env),
            "ended": self.ended,
            "seed": self._seed,
            "row": row,
        }
        return pack("env", STATE_VERSION, values | {"env": env, "is_pickle": is_pickle})

    def check_state(self, data: bytes) -> None:
        """Refuse, by a `ValueError` that names the env, what `load` cannot take; change nothing."""
        try:
            self._check_state(data)
        except ValueError as error:
            raise ValueError(f"env {self._index}: {error}") from error

    def _check_state(self, data: bytes) -> None:
        try:
            state = _read(data)
        except ValueError as error:
            raise ValueError(f"this is not what save_state returned: {error}") from error
        other = self._not_its_state
        if "native" in state:
            raise ValueError(f'{other}: backend "native" saved it, and alone reads it')
        check_alike("this state of an env", state, dict.fromkeys(_PARTS, ...))
        check_alike("ended, is_pickle", [state["ended"], state["is_pickle"]], [True, True])
        if not (state["seed"] is None or type(state["seed"]) is int):
            raise ValueError(f"seed is {state['seed']!r}, and no integer")
        check, restore = _method(self.env, "check_state"), _method(self.env, "restore_state")
        self._check_maker(state, judges_itself=restore is not None)
        if state["ended"] and self._mode == AutoresetMode.SAME_STEP:
            raise ValueError("this is the state of an ended env, which same-step mode has not")
        if check is not None:
            if state["is_pickle"]:  # of plain data nothing is to run
                raise ValueError(f"{other}: it is a pickle")
            check(state["env"])
        elif restore is not None:  # what cannot be checked is tried
            backup = _method(self.env, "save_state")()
            try:
                restore(_env_state(state))
            finally:
                restore(backup)
        else:
            _env_state(state)
        own = self._row()
        own["obs"] = own["final_obs"]
        check_alike(f"{other}: row", state["row"], own)

    def _row(self) -> dict[str, np.ndarray]:
        arrays = self._rows.arrays.items()
        return {name: np.asarray(array[self._index]) for name, array in arrays}

    def _check_maker(self, state: dict[str, Any], *, judges_itself: bool) -> None:
        """Refuse the state of an env that was made in another way, unless the env judges itself."""
        own, other = _identity(self.env), state["made_by"]
        if not isinstance(other, dict):
            raise ValueError(f"{self._not_its_state}: made_by is {other!r}")
        if judges_itself and other.get("has_states"):
            return
        if _innermost(own["env"]) != _innermost(str(other.get("env"))):  # the rest follows from it
            own = {"env": _innermost(own["env"])}
            other = {"env": _innermost(str(other.get("env")))}
        differing = differences(other, own)
        if differing:
            raise ValueError(f"{self._not_its_state}: {differing}")

    @property
    def _not_its_state(self) -> str:
        return f"this is not the state of a {_innermost(str(self.env))}"

    def load(self, data: bytes, buffer: int = 0) -> None:
        """Bring the env and its row into a state that `check_state` has let pass."""
        state = _read(data)
        restore_state = _method(self.env, "restore_state")
        if restore_state is None:
            self.env = _env_state(state)
        else:
            restore_state(_env_state(state))
        self.obs = state["row"]["obs"]
        self.share_obs(buffer)
        for name, values in self._rows.arrays.items():
            values[self._index] = state["row"][name]
        self.ended, self._seed, self._is_lost = state["ended"], state["seed"], False
        if not self.ended and self._mode != AutoresetMode.SAME_STEP:
            # Where it was saved another episode had followed in the same step.
            self._rows.terminated[self._index] = self._rows.truncated[self._index] = False

    def _write_record(self, info: dict[str, Any], names: Any) -> None:
        arrays, index = self._rows.arrays, self._index
        for name in names:
            arrays[name][index] = info[name]


def _extras(info: dict[str, Any]) -> dict[str, Any]:
    if len(info) == len(RECORD):
        return {}
    return {name: value for name, value in info.items() if name not in RECORD}


def set_attr(env: gym.Env, name: str, value: Any) -> None:
    """Set an attribute where it is found among the wrappers, a new one on the env itself."""
    if env.has_wrapper_attr(name):
        env.set_wrapper_attr(name, value)
    else:
        setattr(env.unwrapped, name, value)


def _identity(env: gym.Env) -> dict[str, Any]:
    """Return what envs agree in that may take each other's states, as JSON has it."""
    spec = env.spec
    kwargs = {} if spec is None else spec.kwargs
    return {
        "has_states": env.has_wrapper_attr("save_state"),
        "env": str(env),  # its wrappers, its class and its id
        "kwargs": json.loads(json.dumps(kwargs, sort_keys=True, default=lambda _: None)),
        "max_episode_steps": None if spec is None else spec.max_episode_steps,
    }


def _innermost(chain: str) -> str:
    """Return the id, or else the class, of an env of which `str` names the wrappers too."""
    return chain.rpartition("<")[2].rstrip(">")


def _read(data: bytes) -> dict[str, Any]:
    """Return the values of a state; those that are older say nothing of a seed."""
    return {"seed": None} | unpack("env", STATE_VERSION, data)


def _env_state(state: dict[str, Any]) -> Any:
    """Return what the env's `save_state` returned, or the env itself."""
    return pickle.loads(state["env"]) if state["is_pickle"] else state["env"]


def _method(env: gym.Env, name: str) -> Any:
    return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else None


def get_or_call(env: gym.Env, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return `env`'s attribute, wherever among its wrappers; called if it is a method."""
    attribute = env.get_wrapper_attr(name)
    if callable(attribute):
        return attribute(*args, **kwargs)
    if args or kwargs:
        raise TypeError(f"{name} of {env} is no method, and takes no arguments")
    return attribute
