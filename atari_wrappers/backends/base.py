"""What a backend is, and which one serves what."""

from __future__ import annotations

from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from atari_wrappers.errors import UnsupportedError
from atari_wrappers.ids import EnvId
from atari_wrappers.pipeline import check_images
from atari_wrappers.settings import Settings

Info = dict[str, Any]
ResetResult = tuple[np.ndarray, Info]
StepResult = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]


class Backend(Protocol):
    """Runs a batch of envs and speaks in the terms of `VecEnv`, whose docs define them.

    `VecEnv` has checked actions, seeds and the order of calls before a backend sees them.
    """

    single_observation_space: gym.Space
    single_action_space: gym.Space

    def reset(self, seeds: list[int] | None, options: dict[str, Any]) -> ResetResult:
        """Restart every env, or those of `options["reset_mask"]`."""

    def send(self, actions: np.ndarray) -> None:
        """Begin a step with one valid action per env; the array is the backend's to keep."""

    def recv(self) -> StepResult:
        """Wait for the step to end."""

    def close(self, *, terminate: bool) -> None:
        """Free everything; with `terminate`, without waiting for the envs to agree."""


def choose_backend(env_id: EnvId, settings: Settings) -> str:
    """Return `"ale"`, `"sync"` or `"async"`: what was asked for, or the fastest that can serve.

    Raises:
        UnsupportedError: It cannot serve, and the message says which can; or none can.
    """
    check_images(env_id, settings)
    obstacle = _obstacle_to_ale(env_id, settings)
    if settings.backend == "auto":
        return "ale" if obstacle is None else "sync"
    if settings.backend == "ale" and obstacle is not None:
        raise UnsupportedError(
            f'backend "ale" cannot serve `{env_id.name}`: {obstacle}; use backend="sync" or "async"'
        )
    return settings.backend


def _obstacle_to_ale(env_id: EnvId, settings: Settings) -> str | None:
    if not env_id.is_atari:
        return "it is no Atari game"
    if settings.img_dir is not None:
        return "it shows no raw frames to write to img_dir"
    if settings.autoreset == "disabled":
        return 'it has no autoreset="disabled"'
    if env_id.extra_arguments:
        return f"it cannot set {', '.join(env_id.extra_arguments)}, which the id asks for"
    return None
