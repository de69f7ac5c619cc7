"""One environment, made by id as the settings say."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any, NoReturn, Unpack

import gymnasium as gym
import numpy as np

from atari_wrappers.checks import check_count
from atari_wrappers.errors import NotAnEnvError, UnsupportedError
from atari_wrappers.game.env import AtariGame
from atari_wrappers.game.native import NativeGame, obstacles
from atari_wrappers.game.two_player import TwoPlayerGame
from atari_wrappers.ids import PICTURES, EnvId, EnvSource
from atari_wrappers.keywords import SettingKeywords
from atari_wrappers.opencv import problem_of_opencv
from atari_wrappers.recording.recorder import FRAMES_PER_SECOND, Recorded, make_recorder
from atari_wrappers.request import EnvRequest, request_env
from atari_wrappers.settings import Settings, merged
from atari_wrappers.wrappers import ClipReward, EpisodeRecord
from atari_wrappers.wrappers.human import in_window


def make_env(
    env_id: EnvSource,
    settings: Settings | None = None,
    env_index: int = 0,
    *,
    render_mode: str | None = None,
    **overrides: Unpack[SettingKeywords],
) -> gym.Env:
    """Make one environment, in the same way as those of a batch.

    An Atari game observes uint8 `[frame_stack, height, width]`, oldest frame first; other envs keep
    their observations. `VecEnv` documents the infos. `gymnasium.make(env.spec)` makes another.

    Args:
        env_id: Any id that gymnasium knows, or a callable that makes an env.
        settings: How; the defaults if `None`. Settings of batches have no effect, except
            `backend="native"`: `atari_core` then plays an Atari game. Otherwise ale-py does, but
            for `"auto"` without OpenCV.
        env_index: The env's place in its batch, which names its images and videos.
        render_mode: "human" shows each step in a window, which needs pygame; else `render` returns
            the picture.
        **overrides: Any setting of `Settings`; it takes precedence over `settings`.

    Raises:
        UnknownEnvError: Nothing is registered under the id.
        UnsupportedError: The env cannot do what the settings ask for, such as pictures of an env
            that draws none, or videos without PyAV.
        OSError: The folder for images or videos cannot be used.
        TypeError: `env_kwargs` do not fit, or a callable that should make or wrap the env did not
            return one.
    """
    if render_mode not in (None, PICTURES, "human"):
        raise UnsupportedError(f'render_mode must be "{PICTURES}" or "human", not {render_mode!r}')
    check_count("env_index", env_index, 0)
    request = request_env(env_id, merged(settings, overrides))
    env = build_env(request, env_index)
    keywords = {"env_index": env_index, "render_mode": render_mode, **request.settings.given}
    spec = request.env_id.spec_with(keywords)
    if spec is not None:
        spec.max_episode_steps = None  # the wrapper that counts them says so
        env.unwrapped.spec = spec
    if render_mode != "human":
        return env
    if env.render_mode != PICTURES:
        env.close()
        raise UnsupportedError(f'render_mode="human": `{request.env_id.name}` draws no pictures')
    return in_window(env, is_game=request.recipe is not None)


def build_env(request: EnvRequest, env_index: int) -> gym.Env:
    """Make the env that was requested; its arguments and errors are those of `make_env`."""
    if request.recipe is None:
        return _other(request, env_index)
    settings = request.settings
    recorder = make_recorder(settings, env_index)
    on_frame = None if recorder is None else recorder.on_frame
    is_native = settings.backend == "native"
    if settings.backend == "auto" and problem_of_opencv() is not None:
        is_native = not any(obstacles(request))
    if is_native:
        game: gym.Env = NativeGame(request, env_index, on_frame)
    else:
        game_class = AtariGame if settings.num_players == 1 else TwoPlayerGame
        game = game_class(request.env_id, request.recipe, env_index, on_frame)
    return _wrapped(game if recorder is None else Recorded(game, recorder), settings)


def _other(request: EnvRequest, env_index: int) -> gym.Env:
    env_id, settings = request.env_id, request.settings
    if settings.backend == "native":
        raise UnsupportedError(f'backend="native": `{env_id.name}` is no Atari game')
    env = _wrapped(_fresh(_made(env_id, settings)), settings)
    recorder = None
    if settings.img_dir is not None or settings.records_video(env_index):
        if env.render_mode != PICTURES:
            env.close()
            raise UnsupportedError(
                f"img_dir, video_dir: `{env_id.name}` was made without render mode {PICTURES};"
                " make it with that one, or leave them out"
            )
        rate = Fraction(env.metadata.get("render_fps") or FRAMES_PER_SECOND)
        recorder = make_recorder(settings, env_index, rate.limit_denominator(1000))
    env = EpisodeRecord(env)
    if recorder is not None:
        env = Recorded(env, recorder, by_steps=True)
    return ClipReward(env) if settings.clip_reward else env


def _made(env_id: EnvId, settings: Settings) -> gym.Env:
    """Return what gymnasium, or the callable, makes."""
    limit, kwargs = settings.max_episode_steps, dict(settings.env_kwargs or {})
    if env_id.maker is not None:
        env = env_id.maker(**kwargs)
        if not isinstance(env, gym.Env):
            raise NotAnEnvError(f"`{env_id.name}` must return a gymnasium.Env, not {env!r}")
        return gym.wrappers.TimeLimit(env, limit) if limit else env
    if env_id.render_mode is not None:
        kwargs.setdefault("render_mode", env_id.render_mode)
    if limit is not None:
        kwargs["max_episode_steps"] = limit or -1  # gymnasium's word for none
    if (
        kwargs.get("render_mode") == PICTURES
        and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    ):
        # Else pygame's SDL looks for a screen, and prints that there is none as an error.
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    return gym.make(env_id.name, **kwargs)


def _wrapped(env: gym.Env, settings: Settings) -> gym.Env:
    for wrapper in settings.wrappers:
        env = wrapper(env)
        if not isinstance(env, gym.Env):
            raise NotAnEnvError(f"wrappers: {wrapper!r} must return a gymnasium.Env, not {env!r}")
    if not settings.wrappers:
        return env
    return InWrappers(_fresh(env)) if env.has_wrapper_attr("save_state") else _fresh(env)


class InWrappers(gym.Wrapper[Any, Any, Any, Any]):
    """An env that saves its state, in wrappers of a caller's that may remember more than that."""

    def save_state(self, *_: Any) -> NoReturn:
        """Refuse, by an `UnsupportedError`."""
        raise UnsupportedError("what `wrappers` remember is in no state of the env that they wrap")

    check_state = restore_state = save_state


def _fresh(env: gym.Env) -> gym.Env:
    """Copy observations: of an env that uses one buffer, what was kept would be overwritten."""
    if not isinstance(env.observation_space, gym.spaces.Box):
        return env
    return gym.wrappers.TransformObservation(env, np.array, env.observation_space)
