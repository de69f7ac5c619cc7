"""The libraries that define the recipes, one game each, and how an `AtariGame` is compared to them.

An oracle's `reset` and `step` speak as a single gymnasium env whose episodes restart by hand, with
observations uint8 `[stack, height, width]`, or with 3 colours last.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any, NamedTuple, Protocol

import ale_py
import cv2
import envpool
import gymnasium as gym
import numpy as np
from ale_py.vector_env import AtariVectorEnv

from atari_wrappers.game.env import AtariGame

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


class Seen(NamedTuple):
    """What an oracle says of a step; `None` where it does not say."""

    obs: np.ndarray
    reward: float
    terminated: bool | None
    truncated: bool | None
    done: bool
    lives: int | None = None
    raw_reward: float | None = None


class Oracle(Protocol):
    """One game.

    Attributes:
        goes_on: Whether a lost life is a signal only, which no reset follows.
        episode: At the end of a game its return `r` and frames `l`, where the oracle says them.
    """

    goes_on: bool
    episode: dict[str, float] | None

    def reset(self, seed: int | None = None) -> np.ndarray: ...

    def step(self, action: Any) -> Seen: ...


class Baselines:
    """stable-baselines3's `make_atari_env` and `VecFrameStack`, which restart by themselves."""

    goes_on = False

    def __init__(self, env_id: str, max_frames: int = 108_000, **wrapper: Any) -> None:
        from stable_baselines3.common.env_util import make_atari_env  # which imports torch
        from stable_baselines3.common.vec_env import VecFrameStack

        self._env = VecFrameStack(
            make_atari_env(
                env_id,
                wrapper_kwargs=wrapper,
                env_kwargs={"max_num_frames_per_episode": max_frames},
            ),
            4,
        )
        self._ale = self._env.get_attr("unwrapped")[0].ale
        self.episode: dict[str, float] | None = None

    def reset(self, seed: int | None = None) -> np.ndarray:
        if seed is not None:
            self._env.seed(seed)
            return np.moveaxis(self._env.reset()[0], -1, 0)
        return self._next

    def step(self, action: Any) -> Seen:
        obs, reward, done, infos = self._env.step(np.array([action]))
        self._next = obs = np.moveaxis(obs[0], -1, 0)
        if done[0]:
            obs = np.moveaxis(infos[0]["terminal_observation"], -1, 0)
        self.episode = infos[0].get("episode")
        if not done[0]:
            return Seen(obs, reward[0], False, False, False, self._ale.lives())
        # Where both flags were set it says no more than the first.
        if infos[0]["TimeLimit.truncated"]:
            return Seen(obs, reward[0], False, True, True)
        return Seen(obs, reward[0], True, None, True)


class CleanRL:
    """What `make_env` of CleanRL's ppo_atari.py makes.

    It is written for gym 0.23 and gymnasium 0.29. Of their wrappers gymnasium has kept those that
    resize and that stack; its gray is another one now, and OpenCV's was theirs.
    """

    goes_on = False

    def __init__(self, env_id: str, max_frames: int = 108_000) -> None:
        from stable_baselines3.common import atari_wrappers as atari  # which imports torch

        limit = {"max_num_frames_per_episode": max_frames}
        env = gym.make(env_id, disable_env_checker=True, **limit)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        env = atari.NoopResetEnv(env, noop_max=30)
        env = atari.MaxAndSkipEnv(env, skip=4)
        env = atari.EpisodicLifeEnv(env)
        if "FIRE" in env.unwrapped.get_action_meanings():
            env = atari.FireResetEnv(env)
        env = atari.ClipRewardEnv(env)
        env = gym.wrappers.ResizeObservation(env, (84, 84))
        space = gym.spaces.Box(0, 255, (84, 84), np.uint8)
        env = gym.wrappers.TransformObservation(
            env, lambda obs: cv2.cvtColor(obs, cv2.COLOR_RGB2GRAY), space
        )
        self._env = gym.wrappers.FrameStackObservation(env, 4, padding_type="reset")
        self.episode: dict[str, float] | None = None

    def reset(self, seed: int | None = None) -> np.ndarray:
        return self._env.reset(seed=seed)[0]

    def step(self, action: Any) -> Seen:
        obs, reward, terminated, truncated, info = self._env.step(action)
        self.episode = info.get("episode")
        done = terminated or truncated
        return Seen(obs, reward, terminated, truncated, done, info["lives"])


class Gymnasium:
    """`AtariPreprocessing` and `FrameStackObservation`."""

    goes_on, episode = False, None

    def __init__(
        self,
        env_id: str,
        padding: str = "reset",
        stack: int = 4,
        env_settings: dict[str, Any] | None = None,
        **wrapper: Any,
    ) -> None:
        env = gym.make(env_id, disable_env_checker=True, frameskip=1, **(env_settings or {}))
        env = gym.wrappers.AtariPreprocessing(env, **wrapper)
        self._env = gym.wrappers.FrameStackObservation(env, stack, padding_type=padding)

    def reset(self, seed: int | None = None) -> np.ndarray:
        return self._env.reset(seed=seed)[0]

    def step(self, action: Any) -> Seen:
        obs, reward, terminated, truncated, info = self._env.step(action)
        done = terminated or truncated
        return Seen(obs, reward, terminated, truncated, done, info["lives"], reward)


class Ale:
    """`AtariVectorEnv` with one env, in next-step mode: a step after an end restarts it."""

    episode = None

    def __init__(self, rom: str, **settings: Any) -> None:
        self.goes_on = settings.get("life_loss_info", False)
        self._env = AtariVectorEnv(rom, 1, num_threads=1, autoreset_mode="NextStep", **settings)

    def reset(self, seed: int | None = None) -> np.ndarray:
        if seed is not None:
            return self._env.reset(seed=np.array([seed]))[0][0]
        space = self._env.single_action_space
        return self._env.step(np.zeros((1, *space.shape), space.dtype))[0][0]

    def step(self, action: Any) -> Seen:
        obs, reward, terminated, truncated, info = self._env.step(np.asarray(action)[None])
        done = bool(terminated[0] or truncated[0])
        return Seen(
            obs[0], reward[0], bool(terminated[0]), bool(truncated[0]), done, info["lives"][0]
        )


class EnvPool:
    """`envpool.make` with one env, which a step after an end restarts; its seed is fixed."""

    goes_on, episode = False, None

    def __init__(self, task: str, seed: int, **settings: Any) -> None:
        self._env = envpool.make(task, env_type="gymnasium", num_envs=1, seed=seed, **settings)
        self._colours = 1 if settings.get("gray_scale", True) else 3

    def _arranged(self, obs: np.ndarray) -> np.ndarray:
        if self._colours == 1:
            return obs[0]
        return np.moveaxis(obs[0].reshape(-1, 3, *obs.shape[2:]), 1, -1)

    def reset(self, seed: int | None = None) -> np.ndarray:
        if seed is not None:
            return self._arranged(self._env.reset()[0])
        return self._arranged(self._env.step(np.array([0]))[0])

    def step(self, action: Any) -> Seen:
        obs, reward, terminated, truncated, info = self._env.step(np.array([action]))
        flags = bool(terminated[0]), bool(truncated[0])
        return Seen(
            self._arranged(obs), reward[0], *flags, any(flags), info["lives"][0], info["reward"][0]
        )


def assert_alike(
    game: AtariGame, oracle: Oracle, steps: int, seed: int, reset_every: int = 0
) -> Counter[str]:
    """Play both with the same seeded actions, and compare all that they say.

    Args:
        game: Ours.
        oracle: Theirs.
        steps: How many.
        seed: Of both games, and of the actions.
        reset_every: Steps after which both get another seed; 0 for never.

    Returns:
        How often an episode `ended`, a life was `lost`, a game `terminated` or was `truncated`, or
        ended in both ways (`both`), was `cut` within a skip, or `ended in reset` that was to go on
        with it; how many `points` were made; and a checksum of all `pictures`.
    """
    game.action_space.seed(seed)
    seen: Counter[str] = Counter()
    clips = game.recipe.clip_reward
    obs, info = game.reset(seed=seed)
    np.testing.assert_array_equal(obs, oracle.reset(seed), "first observation")
    for step in range(steps):
        place, frames = f"at step {step}", info["episode_frames"]
        action = game.action_space.sample()
        obs, reward, terminated, truncated, info = game.step(action)
        assert reward == (np.sign(info["raw_reward"]) if clips else info["raw_reward"]), place
        theirs = oracle.step(action)
        if not np.array_equal(obs, theirs.obs):
            np.testing.assert_array_equal(obs, theirs.obs, place)
        assert reward == theirs.reward, place
        assert (terminated or truncated) == theirs.done, place
        assert terminated == theirs.terminated or theirs.terminated is None, place
        assert truncated == theirs.truncated or theirs.truncated is None, place
        assert info["lives"] == theirs.lives or theirs.lives is None, place
        assert info["raw_reward"] == theirs.raw_reward or theirs.raw_reward is None, place
        ended_game = info["game_terminated"] or info["game_truncated"]
        seen["pictures"] = zlib.crc32(obs, seen["pictures"])
        seen["terminated"] += info["game_terminated"]
        seen["truncated"] += info["game_truncated"]
        seen["both"] += info["game_terminated"] and info["game_truncated"]
        seen["lost"] += terminated and not ended_game
        seen["cut"] += (
            ended_game and (info["episode_frames"] - frames) % game.recipe.frame_skip != 0
        )
        seen["points"] += bool(info["raw_reward"])
        if ended_game and oracle.episode is not None:
            assert oracle.episode["r"] == info["episode_return"], place
            assert oracle.episode["l"] == info["episode_frames"], place
        if theirs.done:
            seen["ended"] += 1
            last_obs = obs
            obs, info = game.reset()
            seen["ended in reset"] += info["game_terminated"] or info["game_truncated"]
            if oracle.goes_on and not ended_game:
                np.testing.assert_array_equal(obs, last_obs, f"went on {place}")
                continue
            np.testing.assert_array_equal(obs, oracle.reset(), f"restarted {place}")
        elif reset_every and step % reset_every == reset_every - 1:
            obs, info = game.reset(seed=seed + step)
            np.testing.assert_array_equal(obs, oracle.reset(seed + step), f"seeded {place}")
    return seen
