"""Envs that play from a script, so that what a wrapper does with each frame is known beforehand.

Registered under `scripted:...` ids, which worker processes can import.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

HEIGHT, WIDTH = 210, 160
_COUNT = itertools.count(1)


class ScriptedGame(gym.Env):
    """An ALE-like game whose frame `t` (from 1) is a flat picture of the value `10 * game + t`.

    Args:
        end: The frame with which each game ends; given several, one game after the other and then
            the last for ever.
        truncates: Whether it ends as truncated.
        rewards: Reward by frame; 0 elsewhere.
        lives: Lives by frame from which they hold; frame 0 is the reset.
        meanings: Names of the actions.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - gymnasium's own declaration

    def __init__(
        self,
        end: int | tuple[int, ...] = 1000,
        truncates: bool = False,
        rewards: dict[int, float] | None = None,
        lives: dict[int, int] | None = None,
        meanings: tuple[str, ...] = ("NOOP", "FIRE", "RIGHT", "LEFT"),
    ) -> None:
        self.observation_space = gym.spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8)
        self.action_space = gym.spaces.Discrete(len(meanings))
        self._ends = end if isinstance(end, tuple) else (end,)
        self._truncates, self._meanings = truncates, meanings
        self._rewards, self._lives_from = rewards or {}, lives or {0: 0}
        self.actions: list[int] = []
        self.seeds: list[int | None] = []
        self.options: list[dict[str, Any] | None] = []
        self._frame = 0

    def get_action_meanings(self) -> list[str]:
        return list(self._meanings)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.options.append(options)
        self._frame = 0
        self._lives = self._lives_from[0]
        return self._picture(), {"lives": self._lives}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.actions.append(int(action))
        self._frame += 1
        self._lives = self._lives_from.get(self._frame, self._lives)
        ends = self._frame == self._ends[min(self.games, len(self._ends)) - 1]
        reward = self._rewards.get(self._frame, 0.0)
        info = {"lives": self._lives}
        return self._picture(), reward, ends and not self._truncates, ends and self._truncates, info

    @property
    def games(self) -> int:
        return len(self.seeds)

    def _picture(self) -> np.ndarray:
        value = 10 * self.games + self._frame
        return np.full((HEIGHT, WIDTH, 3), value % 256, np.uint8)


class CarelessEnv(gym.Env):
    """Observes into one buffer that it keeps writing to: `[steps taken, episode]`."""

    observation_space = gym.spaces.Box(0, 1000, (2,), np.float32)
    action_space = gym.spaces.Discrete(3, start=5)

    def __init__(self, length: int = 3) -> None:
        self._length = length
        self._obs = np.zeros(2, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._obs += (-self._obs[0], 1)
        return self._obs, {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._obs[0] += 1
        return self._obs, 2.5, False, bool(self._obs[0] == self._length), {}


class UnpicklableError(Exception):
    """An error that gymnasium's host cannot make again: it takes two arguments."""

    def __init__(self, left: object, right: object) -> None:
        super().__init__(f"{left} and {right}")
        self.hook = lambda: None


class FailingEnv(CarelessEnv):
    """Fails in its third step, in the way that `how` says."""

    def __init__(self, how: str) -> None:
        super().__init__(length=100)
        self._how = how

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        result = super().step(action)
        if self._obs[0] == 3:
            if self._how == "raise":
                raise ArithmeticError("the script says so")
            if self._how == "unpicklable":
                raise UnpicklableError("this", "that")
            if self._how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
        return result


class PidEnv(CarelessEnv):
    """Observes the id of the process that it runs in, and how that takes Ctrl-C."""

    observation_space = gym.spaces.Box(0, 1e9, (2,), np.float64)

    def reset(self, **kwargs: Any) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(**kwargs)
        plain = (signal.SIG_DFL, signal.default_int_handler)
        ignores = signal.getsignal(signal.SIGINT) not in plain
        return np.array([os.getpid(), ignores], np.float64), {}


class OddEnv(CarelessEnv):
    """No two of them have the same actions."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = gym.spaces.Discrete(os.getpid() + next(_COUNT))


class HooksEnv(CarelessEnv):
    """Says of each step a function, as `hook`, and as `some` where the action is not 6."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        result = super().step(action)
        result[4].update(hook=print, some="plain" if action == 6 else print)
        return result


class DictEnv(CarelessEnv):
    observation_space = gym.spaces.Dict({"a": CarelessEnv.observation_space})


class TupleEnv(CarelessEnv):
    action_space = gym.spaces.Tuple([gym.spaces.Discrete(2)])


gym.register("Careless-v0", CarelessEnv, kwargs={"length": 3})
gym.register("Pid-v0", PidEnv)
gym.register("Dict-v0", DictEnv)
gym.register("Odd-v0", OddEnv)
gym.register("Hooks-v0", HooksEnv, kwargs={"length": 2})
gym.register("FailsByRaise-v0", FailingEnv, kwargs={"how": "raise"})
gym.register("FailsByUnpicklable-v0", FailingEnv, kwargs={"how": "unpicklable"})
gym.register("FailsByDying-v0", FailingEnv, kwargs={"how": "die"})


class DiceEnv(gym.Env):
    """Observes `[steps, sum]` of rolls from its own generator, and ends with a roll of 6.

    The info has the `roll`.
    """

    observation_space = gym.spaces.Box(0, 1e6, (2,), np.float64)
    action_space = gym.spaces.Discrete(11)
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - gymnasium's own declaration

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.colour = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = self._sum = 0
        obs, roll = self._roll()
        return obs, {"roll": roll}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        obs, roll = self._roll()
        return obs, float(roll), roll == 6, False, {"roll": roll}

    def _roll(self) -> tuple[np.ndarray, int]:
        roll = int(self.np_random.integers(1, 7))
        self._sum += roll
        return np.array([self._steps, self._sum], np.float64), roll

    def render(self) -> np.ndarray:
        return np.full((4, 5, 3), self.colour, np.uint8)

    def ask(self, trouble: str) -> Any:
        make_trouble(trouble)
        return (lambda: None) if trouble == "unsendable" else trouble


TROUBLES = (
    "none",
    "raise",
    "unpicklable",
    "sys.exit",
    "die",
    "leave",
    "crash",
    "loop",
    "stop",
    "unsendable",
    "slow",
)
SLOW_SECONDS = 1.5


def make_trouble(kind: str) -> None:
    """Do what an env must not."""
    if kind == "raise":
        raise ArithmeticError("the dice fell off the table")
    if kind == "unpicklable":
        raise UnpicklableError("this", "that")
    if kind == "sys.exit":
        sys.exit("the dice are gone")
    if kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "leave":
        os._exit(7)
    if kind == "crash":
        ctypes.string_at(0)
    if kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if kind == "slow":
        time.sleep(SLOW_SECONDS)
    while kind == "loop":
        pass


class TroubleEnv(DiceEnv):
    """A `DiceEnv` that makes trouble number `action` in a step, and at a reset when so told.

    Args:
        note: The file that makes trouble when an env is made, reset or stepped: it holds
            `<when> <kind>`, such as `make raise`. The kind `wait` lasts until the file is gone.
    """

    def __init__(self, note: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.at_reset = "none"
        self._note = Path(note) if note else None
        self._obey("make")

    def _obey(self, when: str) -> None:
        if self._note and self._note.exists():
            told, kind = self._note.read_text().split()
            if told == when:
                make_trouble(kind)
                while kind == "wait" and self._note.exists():
                    time.sleep(0.01)

    def reset(self, **kwargs: Any) -> tuple[np.ndarray, dict[str, Any]]:
        result = super().reset(**kwargs)
        make_trouble(self.at_reset)
        self._obey("reset")
        return result

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        make_trouble(TROUBLES[action])
        self._obey("step")
        result = super().step(action)
        if TROUBLES[action] == "unsendable":
            result[4]["hook"] = lambda: None
        return result


class StrictEnv(gym.Env):
    """An env that observes the last action, and takes none that its space does not contain."""

    observation_space = action_space = gym.spaces.Discrete(4, start=1, dtype=np.int32)

    def reset(self, **_kwargs: Any) -> tuple[int, dict[str, Any]]:
        return 1, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), f"{action!r} is not for me"
        return action, 0.0, False, False, {}


gym.register("Strict-v0", StrictEnv, disable_env_checker=True)
gym.register("Dice-v0", DiceEnv)
gym.register("Trouble-v0", TroubleEnv)
