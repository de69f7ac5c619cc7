"""One environment, made by id as the settings say."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers.game import AtariGame
from atari_wrappers.ids import EnvId, resolve
from atari_wrappers.recording import make_recorder
from atari_wrappers.settings import Settings
from atari_wrappers.wrappers import ClipReward, EpisodeRecord


def make_env(env_id: str, settings: Settings | None = None, env_index: int = 0) -> gym.Env:
    """Make one environment, as those of a batch are.

    An Atari game observes uint8 `[frame_stack, height, width]`, oldest frame first; any other id
    observes what it observes. `VecEnv` says what the infos carry.

    Args:
        env_id: Any id that gymnasium knows.
        settings: How; the defaults if `None`. What concerns batches is not read.
        env_index: The env's place in its batch, which names its images and videos.

    Raises:
        UnknownEnvError: Nothing is registered under the id.
        UnsupportedError: Images are asked of an id that is no Atari game.
        OSError: The folder for images or videos cannot be used.
    """
    settings = settings or Settings()
    resolved = resolve(env_id)
    check_id(resolved, settings)
    if not resolved.is_atari:
        return _other(resolved, settings)
    recorder = make_recorder(settings, env_index)
    if settings.num_players == 2:
        from atari_wrappers.two_player import TwoPlayerGame

        game = TwoPlayerGame(resolved, settings.recipe, env_index)
    else:
        game = AtariGame(resolved, settings.recipe, env_index)
    if recorder is not None:
        game = recorder.attach(game)
    return game


def _other(env_id: EnvId, settings: Settings) -> gym.Env:
    env: gym.Env = gym.make(env_id.name, render_mode=_render_mode(env_id))
    if isinstance(env.observation_space, gym.spaces.Box):
        # An env that observes into one buffer would overwrite what was kept of an earlier step.
        env = gym.wrappers.TransformObservation(env, _copy, env.observation_space)
    env = EpisodeRecord(env)
    return ClipReward(env) if settings.clip_reward else env


def _copy(obs: Any) -> np.ndarray:
    return np.array(obs)
