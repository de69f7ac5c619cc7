"""The ways to make a batch of envs: `make_vec`, and `make_tch` as tch-rs's example calls it."""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Literal, Unpack, get_args

from atari_wrappers.attribute_docs import attribute_docs
from atari_wrappers.backends import choose_backend
from atari_wrappers.checks import check_choice
from atari_wrappers.ids import EnvSource, listed
from atari_wrappers.keywords import SettingKeywords
from atari_wrappers.recipes import PRESETS, Recipe
from atari_wrappers.recording.recorder import prepare_folders
from atari_wrappers.request import request_batch
from atari_wrappers.settings import Settings, merged
from atari_wrappers.single_env import make_env
from atari_wrappers.vector.env import VecEnv

# What tells a call of EnvPool's `make`.
_OF_ENVPOOL = ("env_type", "stack_num", "reward_clip", "gray_scale", "img_height", "task_id")

Output = Literal["numpy", "torch"]
EnvSources = EnvSource | Sequence[EnvSource]


def make_tch(
    env_name: str, img_dir: str | os.PathLike[str] | None = None, num_processes: int = 1
) -> VecEnv:
    """Make `num_processes` envs with the default settings, called as tch-rs's example calls `make`.

    Args:
        env_name: Any id that gymnasium knows, such as `SpaceInvadersNoFrameskip-v4`.
        img_dir: Folder that receives every emulated RGB frame; `None` writes nothing.
        num_processes: How many envs, at least 1.

    Returns:
        The batch; its class documents what it observes.

    Raises:
        Exception: As `make_vec`.
    """
    return make_vec(env_name, num_processes, img_dir=img_dir)


def make(
    env_name: str,
    img_dir: str | os.PathLike[str] | None = None,
    num_processes: int = 1,
    **others: Any,
) -> VecEnv:
    """Do what `make_tch` does, under the name that tch-rs's example has for it.

    Raises:
        TypeError: The arguments are those of EnvPool's `make` or gymnasium's; the message names
            what takes them here.
        Exception: As `make_vec`.
    """
    if others or isinstance(img_dir, int) or img_dir in ("dm", "gym", "gymnasium"):
        is_envpools = isinstance(img_dir, str) or not others.keys().isdisjoint(_OF_ENVPOOL)
        ours = (
            "envpool.make, of `from atari_wrappers import envpool`"
            if is_envpools
            else ("make_vec(env_id, num_envs, ...), or make_env for one env")
        )
        raise TypeError(
            f"make takes env_name, img_dir and num_processes, as tch-rs's example does; for"
            f" {', '.join(others) or repr(img_dir)}: {ours}"
        )
    return make_tch(env_name, img_dir, num_processes)


def make_vec(
    env_id: EnvSources,
    num_envs: int | None = None,
    settings: Settings | None = None,
    *,
    output: Output = "numpy",
    device: Any = "cpu",
    **overrides: Unpack[SettingKeywords],
) -> VecEnv:
    """Make `num_envs` envs as the settings say.

    Args:
        env_id: Any id that gymnasium knows; `module:Name-v0` imports the module first. Or a
            callable that makes an env. Or a list with one for each env; all must have the same
            spaces, as Atari games do with `full_action_space=True`.
        num_envs: How many, at least 1; `None` for 1, or for as many as are listed.
        settings: The settings that `overrides` does not name; the defaults if `None`.
        output: What observations, rewards and ends are: `"numpy"` arrays, or `"torch"` tensors.
            For type checkers write `typing.cast(TorchVecEnv, make_vec(...))`, with the class of
            `atari_wrappers.vector.torch_env`.
        device: The device of the tensors, such as `"cuda"`; on the CPU they share the memory of
            the arrays.
        **overrides: Any setting of `Settings`, which documents them.

    Returns:
        The batch; its class documents what it observes. `gymnasium.make_vec(vec.spec)` makes
        another.

    Raises:
        UnknownEnvError: (a `ValueError`) Nothing is registered under the id.
        UnsupportedError: (a `ValueError`) The backend cannot do this.
        ValueError: `num_envs` or a setting is out of range, or settings contradict each other.
        TypeError: A setting has the wrong type, or does not exist; `env_kwargs` do not fit; or a
            callable that should make or wrap an env did not return one.
        OSError: `img_dir` or `video_dir` is no folder, or cannot be written to.
        WorkerError: `async` could not make an env; `sync` raises the env's own exception.
    """
    settings = merged(settings, overrides)
    check_choice("output", output, get_args(Output))
    if output == "numpy" and str(device) != "cpu":
        raise ValueError(f'device={device!r}: arrays are on the CPU; output="torch" gives tensors')
    request = request_batch(env_id, num_envs, settings)
    backend = choose_backend(request)
    prepare_folders(settings)
    if output == "torch":
        from atari_wrappers.vector.torch_env import TorchVecEnv

        vec: VecEnv = TorchVecEnv(request, backend, device)
    else:
        vec = VecEnv(request, backend)
    keywords: dict[str, Any] = {"num_envs": vec.num_envs, **settings.given}
    if not isinstance(env_id, str):
        keywords["env_id"] = list(listed(env_id))
    if output == "torch":
        keywords |= {"output": output, "device": str(device)}
    vec.spec = request.env_id.spec_with(keywords)
    return vec


def _spelled_out(maker: Callable[..., Any]) -> inspect.Signature:
    """Return the signature with each setting and its default in place of the keywords."""
    plain = inspect.signature(maker)
    settings = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in fields(Settings)
    ]
    own = [each for each in plain.parameters.values() if each.kind != each.VAR_KEYWORD]
    return plain.replace(parameters=[*own, *settings])


def _settings_text() -> str:
    """Return what `help` shows of each setting: its text, type and default."""
    texts = attribute_docs(Recipe) | attribute_docs(Settings)
    lines = ["", "Settings:"]
    for field in fields(Settings):
        # Parts of a recipe are the preset's unless they are given.
        usual = getattr(PRESETS["default"], field.name, None)
        default = usual if field.default is None and usual is not None else field.default
        lines += textwrap.wrap(
            f"{field.name} ({field.type}, {default!r}): {texts[field.name]}",
            width=100,
            initial_indent="    ",
            subsequent_indent="        ",
            break_long_words=False,
        )
    return "\n".join(lines)


# For `help` and for tools; texts and defaults stay written in one place.
_maker: Any
for _maker in (make_env, make_vec):
    _maker.__signature__ = _spelled_out(_maker)
    _maker.__doc__ = f"{inspect.getdoc(_maker)}\n{_settings_text()}\n"
