"""One environment, made by id as the settings say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.game.env import AtariGame
from atari_wrappers.game.two_player import TwoPlayerGame
from atari_wrappers.game.two_player_emulator import check_variant
from atari_wrappers.ids import EnvId, resolve
from atari_wrappers.recording.recorder import FRAMES_PER_SECOND, StepFrames, make_recorder
from atari_wrappers.settings import Settings
from atari_wrappers.wrappers import ClipReward, EpisodeRecord

_PICTURES = "rgb_array"


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
        UnsupportedError: Pictures are asked of an env that draws none, or videos without PyAV, or
            two players of what is no game for two.
        OSError: The folder for images or videos cannot be used.
    """
    settings = settings or Settings()
    resolved = resolve(env_id)
    check_id(resolved, settings)
    if not resolved.is_atari:
        return _other(resolved, settings, env_index)
    recorder = make_recorder(settings, env_index)
    on_frame = None if recorder is None else recorder.on_frame
    game_class = AtariGame if settings.num_players == 1 else TwoPlayerGame
    game = game_class(resolved, settings.recipe, env_index, on_frame)
    return game if recorder is None else recorder.attach(game)


def check_id(env_id: EnvId, settings: Settings) -> None:
    """Refuse what the env of an id cannot do.

    Raises:
        UnsupportedError: Pictures are asked of an env that draws none, or two players of what is no
            game for two.
    """
    if settings.num_players == 2:
        check_variant(env_id, settings.recipe)
    for name in ("img_dir", "video_dir"):
        is_asked = getattr(settings, name) is not None
        if is_asked and not env_id.is_atari and render_mode(env_id) is None:
            raise UnsupportedError(
                f"{name}: `{env_id.name}` is no Atari game and has no render mode {_PICTURES}:"
                " no frames to save"
            )


def render_mode(env_id: EnvId) -> str | None:
    """Return the render mode of an env that can draw pictures, else `None`."""
    entry_point = env_id.spec.entry_point
    creator = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    modes = getattr(creator, "metadata", {}).get("render_modes", ())
    return _PICTURES if _PICTURES in modes else None


def _other(env_id: EnvId, settings: Settings, env_index: int) -> gym.Env:
    mode = render_mode(env_id)
    env: gym.Env = gym.make(env_id.name, **({} if mode is None else {"render_mode": mode}))
    if isinstance(env.observation_space, gym.spaces.Box):
        # An env that observes into one buffer would overwrite what was kept of an earlier step.
        env = gym.wrappers.TransformObservation(env, _copy, env.observation_space)
    env = EpisodeRecord(env)
    rate = Fraction(env.metadata.get("render_fps") or FRAMES_PER_SECOND).limit_denominator(1000)
    recorder = make_recorder(settings, env_index, rate)
    if recorder is not None:
        env = recorder.attach(StepFrames(env, recorder.on_frame))
    return ClipReward(env) if settings.clip_reward else env


def _copy(obs: Any) -> np.ndarray:
    return np.array(obs)
