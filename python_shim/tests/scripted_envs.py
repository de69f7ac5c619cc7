"""Environments whose every step is written down, for the Rust tests: `scripted_envs:<Name>-v0`."""

import os
import time

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary


class Counter(gym.Env):
    """Observes the steps taken and the sum of actions; cut at the third, rewards the action.

    The reset option `start` is the sum to start with.
    """

    observation_space = Box(0, 255, (2,), np.uint8)
    action_space = Discrete(5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.total = 0, (options or {}).get("start", 0)
        return self._obs(), {}

    def step(self, action):
        self.work()
        self.steps += 1
        self.total += action
        return self._obs(), float(action), False, self.steps == 3, {}

    def work(self):
        """What a step takes its time with."""

    def _obs(self):
        return np.array([self.steps, self.total], self.observation_space.dtype)


class Talking(Counter):
    """Says more than it has to, and answers to calls."""

    label = "none"

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, terminated, truncated, info | {"twice": 2 * self.total, "self": self}

    def pid(self):
        return os.getpid()

    def echo(self, *args, **kwargs):
        return [args, kwargs]

    def types(self, *args):
        return [f"{type(arg).__name__} {getattr(arg, 'dtype', '')}".strip() for arg in args]

    def numbers(self):
        return {
            "scalars": (np.int32(-3), np.float32(0.5), np.bool_(True), np.str_("four")),
            "small": np.arange(6, dtype=np.int16).reshape(2, 3),
            "strided": np.arange(6, dtype=np.float64).reshape(2, 3).T,
            "words": np.array(["a", "bc"]),
            "memory": bytearray(b"ab"),
        }

    def itself(self):
        return [None, self]

    def picture(self):
        return np.zeros((2, 2), np.complex64)


class Sleeping(Counter):
    """Waits outside of Python, as an env does whose emulator runs in C++ threads."""

    def work(self):
        time.sleep(2.0)


class HoldsGil(Counter):
    """One C call that keeps every other thread out of Python."""

    def work(self):
        start = time.monotonic()
        while time.monotonic() - start < 2.0:
            pow(3, 3_000_000)


class Raising(Counter):
    """Fails in its second step, with a cause."""

    def work(self):
        if self.steps == 1:
            try:
                {}["cartridge"]
            except KeyError as cause:
                raise ZeroDivisionError("the second step divides by zero") from cause


class Terminating(Counter):
    """Ends by its own rules where Counter is cut."""

    def step(self, action):
        obs, reward, _, ended, info = super().step(action)
        return obs, reward, ended, False, info


class Float64(Counter):
    """Its sum of actions comes in thirds, which no float holds exactly."""

    observation_space = Box(0, 255, (2,), np.float64)

    def _obs(self):
        return super()._obs() / [1, 3]


class Int64(Counter):
    observation_space = Box(0, 255, (2,), np.int64)


class NotABox(Counter):
    observation_space = Discrete(3)


class Buttons(Counter):
    action_space = MultiBinary(3)


class FromOne(Counter):
    action_space = Discrete(5, start=1)


for entry in (
    Counter,
    Talking,
    Sleeping,
    HoldsGil,
    Raising,
    Terminating,
    Float64,
    Int64,
    NotABox,
    Buttons,
    FromOne,
):
    gym.register(f"{entry.__name__}-v0", entry, disable_env_checker=True)
