"""What the learner sees as observation: skipped, pooled, gray, small, stacked."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs

from atari_wrappers.opencv import check_opencv, resize, to_gray
from atari_wrappers.types import EnvReset, EnvStep, Options

Frame = np.ndarray


def _box(env: gym.Env) -> Box:
    if not isinstance(env.observation_space, Box):
        raise ValueError(f"{env} observes {env.observation_space}; this wrapper needs a Box")
    return env.observation_space


class MaxAndSkip(gym.Wrapper[Frame, Any, Frame, Any], RecordConstructorArgs):
    """Repeat each action `skip` times; observe the pixel-wise maximum of the last two frames.

    Rewards are summed, and an end stops the repetition. As in stable-baselines3, each of the two
    places in the maximum belongs to a position in the skip: after an end before them, the
    observation still holds the earlier step's frames.

    Args:
        env: An env that observes a Box.
        skip: Frames per step, at least 1.

    Raises:
        ValueError: `skip` is below 1, or the env observes no Box.
    """

    def __init__(self, env: gym.Env, skip: int = 4) -> None:
        if skip < 1:
            raise ValueError(f"skip must be at least 1, not {skip}")
        RecordConstructorArgs.__init__(self, skip=skip)
        gym.Wrapper.__init__(self, env)
        space = _box(env)
        self._skip = skip
        self._last_two = np.zeros((2, *space.shape), dtype=space.dtype)

    def step(self, action: Any) -> EnvStep:
        """Take `action` up to `skip` times."""
        total = 0.0
        for place in range(2 - self._skip, 2):
            frame, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if place >= 0:
                self._last_two[place] = frame
            if terminated or truncated:
                break
        return np.maximum(*self._last_two), total, terminated, truncated, info


class WarpFrame(gym.ObservationWrapper[Frame, Any, Frame], RecordConstructorArgs):
    """RGB frame to gray (OpenCV's weights), then resized to a square by INTER_AREA.

    Args:
        env: An env that observes uint8 `[height, width, 3]`.
        size: Height and width of the result, in pixels.

    Raises:
        ValueError: The env observes something else.
        UnsupportedError: OpenCV is not installed.
    """

    def __init__(self, env: gym.Env, size: int = 84) -> None:
        check_opencv()
        space = _box(env)
        if len(space.shape) != 3 or space.shape[2] != 3 or space.dtype != np.uint8:
            raise ValueError(f"{env} observes {space}; this wrapper needs uint8 [height, width, 3]")
        RecordConstructorArgs.__init__(self, size=size)
        gym.ObservationWrapper.__init__(self, env)
        self._size = (size, size)
        self.observation_space = Box(0, 255, self._size, np.uint8)

    def observation(self, observation: Frame) -> Frame:
        """Return `observation` as uint8 `[size, size]`."""
        return resize(to_gray(observation), self._size)


class FrameStack(gym.Wrapper[Frame, Any, Frame, Any], RecordConstructorArgs):
    """Observe the last `count` observations, oldest first, along a new first axis.

    A reset fills the places before the first observation with zeros, as stable-baselines3's
    VecFrameStack does. Every result is a fresh array.

    Args:
        env: An env that observes a Box `[...]`; this one observes `[count, ...]`.
        count: How many, at least 1.

    Raises:
        ValueError: `count` is below 1, or the env observes no Box.
    """

    def __init__(self, env: gym.Env, count: int = 4) -> None:
        if count < 1:
            raise ValueError(f"count must be at least 1, not {count}")
        RecordConstructorArgs.__init__(self, count=count)
        gym.Wrapper.__init__(self, env)
        space = _box(env)
        low, high = (np.stack([bound] * count) for bound in (space.low, space.high))
        self.observation_space = Box(low, high, dtype=space.dtype.type)
        self._frames = np.zeros(low.shape, space.dtype)

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Reset; all places but the last are zero."""
        frame, info = self.env.reset(seed=seed, options=options)
        self._frames = np.zeros_like(self._frames)
        self._frames[-1] = frame
        return self._frames.copy(), info

    def step(self, action: Any) -> EnvStep:
        """Step; the oldest frame leaves and the new one is last."""
        frame, reward, terminated, truncated, info = self.env.step(action)
        self._frames = np.concatenate((self._frames[1:], frame[np.newaxis]))
        return self._frames.copy(), reward, terminated, truncated, info
