"""Settings given by keyword: their types, for type checkers, and hints for what is none."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypedDict

from gymnasium.vector import AutoresetMode

from atari_wrappers.recipes import FireReset, ObsType, Recipe
from atari_wrappers.settings import (
    Autoreset,
    BackendName,
    Context,
    Folder,
    OnWorkerFailure,
    Preset,
    Settings,
    Wrapper,
)

# What other libraries call them.
_OTHER_WORDS = {
    "frameskip": "frame_skip",
    "max_num_frames_per_episode": "max_episode_frames",
    "num_stack": "frame_stack",
    "repeat_action_probability": "sticky_actions",
    "stack_num": "frame_stack",
    "stack_size": "frame_stack",
    "terminal_on_life_loss": "episodic_life",
    "use_fire_reset": "fire_reset",
    "vectorization_mode": "backend",
}


class SettingKeywords(TypedDict, total=False):
    """The fields of `Settings` once more; a test compares them."""

    preset: Preset | None
    recipe: Recipe | None
    backend: BackendName
    autoreset: Autoreset | AutoresetMode
    num_threads: int
    num_workers: int
    context: Context
    worker_timeout: float
    start_timeout: float
    on_worker_failure: OnWorkerFailure
    batch_size: int
    obs_buffers: int
    num_players: int
    img_dir: Folder | None
    video_dir: Folder | None
    record_every: int
    record_unfinished: bool
    env_kwargs: Mapping[str, Any] | None
    wrappers: Sequence[Wrapper]
    clip_actions: bool
    obs_type: ObsType | None
    frame_skip: int | None
    screen_size: int | Sequence[int] | None
    grayscale: bool | None
    frame_stack: int | None
    channels_last: bool | None
    noop_max: int | None
    fire_reset: FireReset | bool | None
    episodic_life: bool | None
    clip_reward: bool | None
    max_episode_frames: int | None
    max_episode_steps: int | None
    sticky_actions: float | None
    full_action_space: bool | None
    continuous: bool | None
    continuous_action_threshold: float | None
    mode: int | None
    difficulty: int | None


def merged(settings: Settings | None, keywords: Mapping[str, Any]) -> Settings:
    """Return settings, the defaults if `None`, with those replaced that keywords name.

    Raises:
        ValueError: One is out of range.
        TypeError: One has the wrong type, or there is none of this name.
    """
    unknown = sorted(keywords.keys() - set(Settings.names()))
    if unknown:
        raise TypeError(f"no setting {', '.join(unknown)}{_hint(unknown)}")
    if not isinstance(settings, Settings | None):
        raise TypeError(f"settings must be a Settings, not {settings!r}; or name each by keyword")
    return replace(settings or Settings(), **keywords)


def _hint(unknown: Sequence[str]) -> str:
    """Say what may have been meant."""
    if "seed" in unknown:
        return ": the batch that is made takes seeds, reset(seed=...)"
    if "render_mode" in unknown:
        return ": what can draw, does so when render() asks"
    hidden = [name for name in unknown if name in Recipe.names()]
    if hidden:
        return (
            ": this part of a recipe is changed by"
            " recipe=dataclasses.replace(atari_wrappers.recipes.PRESETS[...],"
            f" {', '.join(f'{name}=...' for name in hidden)})"
        )
    names = Settings.names()
    near = [
        meant
        for name in unknown
        for meant in _OTHER_WORDS.get(name, "").split()
        or difflib.get_close_matches(name, ["num_envs", *names], 1)
    ]
    return f" (did you mean {', '.join(near)}?)" if near else f"; there are {', '.join(names)}"


def spelled_out(function: Callable[..., Any]) -> inspect.Signature:
    """Return a function's signature with each setting and its default in place of the keywords."""
    plain = inspect.signature(function)
    settings = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in fields(Settings)
    ]
    own = [each for each in plain.parameters.values() if each.kind != each.VAR_KEYWORD]
    return plain.replace(parameters=[*own, *settings])
