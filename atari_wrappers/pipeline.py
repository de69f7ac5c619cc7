"""One environment, made by id and wrapped as the settings say."""

from __future__ import annotations

from typing import Any

import ale_py
import gymnasium as gym
import numpy as np

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.ids import EnvId, resolve
from atari_wrappers.settings import Settings
from atari_wrappers.wrappers import (
    ClipReward,
    EpisodeRecord,
    EpisodicLife,
    FireReset,
    FrameStack,
    GameCounter,
    ImageSaver,
    MaxAndSkip,
    NoopReset,
    WarpFrame,
)
from atari_wrappers.wrappers.resets import action_meanings


def make_env(env_id: str, settings: Settings | None = None, env_index: int = 0) -> gym.Env:
    """Make one wrapped environment.

    An Atari game observes uint8 `[frame_stack, screen_size, screen_size]`, oldest frame first; any
    other id observes what it observes. Infos carry `EpisodeRecord`'s keys.

    Args:
        env_id: Any id that gymnasium knows.
        settings: How; the defaults if `None`. `backend`, `autoreset`, `num_threads` and `context`
            concern batches and are not read.
        env_index: The env's place in its batch, which names its images.

    Raises:
        UnknownEnvError: Nothing is registered under the id.
        UnsupportedError: Images are asked of an id that is no Atari game.
        OSError: The folder for images cannot be used.
    """
    settings = settings or Settings()
    env = resolve(env_id)
    check_images(env, settings)
    if env.is_atari:
        return _atari(env, settings, env_index)
    return _other(env, settings)


def check_images(env_id: EnvId, settings: Settings) -> None:
    """Refuse to save the frames of an env that has none.

    Raises:
        UnsupportedError: Images are asked of an id that is no Atari game.
    """
    if settings.img_dir is not None and not env_id.is_atari:
        raise UnsupportedError(f"img_dir: `{env_id.name}` is no Atari game: no raw frames to save")


def _atari(env_id: EnvId, settings: Settings, env_index: int) -> gym.Env:
    # ALE greets on stderr, once for each worker, below this level.
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Warning)
    env: gym.Env = gym.make(
        env_id.name,
        obs_type="rgb",
        frameskip=1,
        repeat_action_probability=settings.sticky_actions,
        full_action_space=settings.full_action_space,
        max_num_frames_per_episode=settings.max_episode_frames,
        max_episode_steps=-1,  # no TimeLimit: it would count frames as steps
        disable_env_checker=True,
    )
    if settings.img_dir is not None:
        env = ImageSaver(env, settings.img_dir, env_index)
    env = GameCounter(env)
    if settings.noop_max > 0:
        env = NoopReset(env, settings.noop_max)
    if settings.frame_skip > 1:
        env = MaxAndSkip(env, settings.frame_skip)
    if settings.episodic_life:
        env = EpisodicLife(env)
    if settings.fire_reset and "FIRE" in action_meanings(env):
        env = FireReset(env)
    env = FrameStack(WarpFrame(env, settings.screen_size), settings.frame_stack)
    if settings.clip_reward is not False:
        env = ClipReward(env)
    return EpisodeRecord(env)


def _other(env_id: EnvId, settings: Settings) -> gym.Env:
    env: gym.Env = gym.make(env_id.name)
    if isinstance(env.observation_space, gym.spaces.Box):
        # An env that observes into one buffer would overwrite what was kept of an earlier step.
        env = gym.wrappers.TransformObservation(env, _copy, env.observation_space)
    env = GameCounter(env)
    if settings.clip_reward:
        env = ClipReward(env)
    return EpisodeRecord(env)


def _copy(obs: Any) -> np.ndarray:
    return np.array(obs)
