"""Every setting of an environment, and every default, once.

`make_vec`, the single-env pipeline and the backends all read this one dataclass.
"""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass, fields
from typing import Any

from gymnasium.vector import AutoresetMode

BACKENDS = ("auto", "ale", "sync", "async")
AUTORESET_MODES = {
    "same-step": AutoresetMode.SAME_STEP,
    "next-step": AutoresetMode.NEXT_STEP,
    "disabled": AutoresetMode.DISABLED,
}
# No "fork": a host that runs libtorch has threads, and a forked child of such a process deadlocks.
CONTEXTS = ("spawn", "forkserver")

_CHOICES = {"backend": BACKENDS, "autoreset": tuple(AUTORESET_MODES), "context": CONTEXTS}
_FLAGS = ("fire_reset", "episodic_life", "full_action_space")
_MINIMA = {
    "noop_max": 0,
    "frame_skip": 1,
    "screen_size": 1,
    "frame_stack": 1,
    "max_episode_frames": 1,
    "num_threads": 0,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How environments are made.

    From `noop_max` to `max_episode_frames` the settings describe the Atari pipeline; on ids that
    are no Atari games they have no effect (`clip_reward` apart).

    Attributes:
        backend: Who runs the envs: `"ale"` (ALE's C++ threads, Atari only), `"sync"` (this thread),
            `"async"` (a process per env), or `"auto"`: `ale` where it can serve, else `sync`.
        img_dir: Folder that receives every emulated RGB frame as `out<env>-<frame>.png`; made with
            its parents. `None` writes nothing. Atari only, not on `ale`.
        noop_max: Most no-op frames at the start of a game; 0 for none.
        frame_skip: Emulator frames per agent step, the last two max-pooled; 1 for no skip.
        screen_size: Height and width of an observation, in pixels.
        frame_stack: Frames per observation, oldest first.
        fire_reset: Press FIRE at the start of a game that has the action.
        episodic_life: A lost life sets `terminated` while the game goes on.
        clip_reward: Replace each reward by its sign. `None`: yes for Atari, no for other ids.
        sticky_actions: Probability, per emulator frame, that the previous action is repeated.
            This value counts, whatever the id says.
        full_action_space: All 18 actions of the console instead of the game's own.
        max_episode_frames: Emulator frames after which a game is truncated.
        autoreset: When an ended env restarts: `"same-step"` (`obs` is the new episode's first, the
            last one is `info["final_obs"]`), `"next-step"`, or `"disabled"` (not on `ale`).
        num_threads: C++ threads of the `ale` backend; 0 lets it choose. No other backend reads it.
        context: How `async` starts its workers, `"spawn"` or `"forkserver"`.

    Raises:
        ValueError: A value is outside of its range; the message names setting, value and range.
        TypeError: A value has the wrong type.
    """

    backend: str = "auto"
    img_dir: str | os.PathLike[str] | None = None
    noop_max: int = 30
    frame_skip: int = 4
    screen_size: int = 84
    frame_stack: int = 4
    fire_reset: bool = True
    episodic_life: bool = True
    clip_reward: bool | None = None
    sticky_actions: float = 0.0
    full_action_space: bool = False
    max_episode_frames: int = 108_000
    autoreset: str = "same-step"
    num_threads: int = 0
    context: str = "spawn"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}"
                )
        for name in _FLAGS:
            _check_flag(name, getattr(self, name))
        if self.clip_reward is not None:
            _check_flag("clip_reward", self.clip_reward)
        for name, minimum in _MINIMA.items():
            _check_count(name, getattr(self, name), minimum)
        _check_probability("sticky_actions", self.sticky_actions)
        if self.img_dir is not None:
            object.__setattr__(self, "img_dir", os.fspath(self.img_dir))

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """The `autoreset` setting as gymnasium's enum."""
        return AUTORESET_MODES[self.autoreset]

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all settings, in order."""
        return tuple(field.name for field in fields(Settings))


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")


def _check_count(name: str, value: Any, minimum: int) -> None:
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if count < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {count}")


def _check_probability(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], not {value}")
