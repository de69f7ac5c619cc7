"""Every setting of a batch of envs, checked; their defaults are here and in `recipes.PRESETS`.

`make_vec`, `make_env` and the backends all read this one dataclass.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from gymnasium.vector import AutoresetMode

from atari_wrappers.recipes import CHOICES, PRESETS, Recipe

BACKENDS = ("auto", "ale", "sync", "async")
AUTORESET_MODES = {
    "same-step": AutoresetMode.SAME_STEP,
    "next-step": AutoresetMode.NEXT_STEP,
    "disabled": AutoresetMode.DISABLED,
}
# No "fork": a host that runs libtorch has threads, and a forked child of such a process deadlocks.
CONTEXTS = ("spawn", "forkserver")

_CHOICES = {
    "backend": BACKENDS,
    "preset": tuple(PRESETS),
    "autoreset": tuple(AUTORESET_MODES),
    "context": CONTEXTS,
    "on_worker_failure": ("raise", "restart"),
    **CHOICES,
}
_FLAGS = (
    "record_unfinished",
    "grayscale",
    "episodic_life",
    "clip_reward",
    "count_reset_frames",
    "full_action_space",
    "continuous",
)
_MINIMA = {
    "num_threads": 0,
    "num_workers": 0,
    "batch_size": 0,
    "obs_buffers": 0,
    "record_every": 1,
    "num_players": 1,
    "frame_skip": 1,
    "frame_stack": 1,
    "noop_min": 0,
    "noop_max": 0,
    "max_episode_frames": 0,
    "max_episode_steps": 0,
    "mode": 0,
    "difficulty": 0,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How environments are made.

    The settings below `record_unfinished` are the parts of a recipe, which `Recipe` documents;
    `None` takes the preset's. On ids that are no Atari games they have no effect, `clip_reward`
    apart.

    Attributes:
        preset: The recipe: `"default"`, or as a library does it: `"baselines"` (stable-baselines3,
            CleanRL), `"gymnasium"`, `"ale"`, `"envpool"`.
        backend: Who runs the envs: `"ale"` (ALE's C++ threads, for recipes that it can follow),
            `"sync"` (this thread), `"async"` (worker processes), or `"auto"`: `ale` where it can
            serve, else `sync`.
        autoreset: When an ended env restarts: `"same-step"` (`obs` is the new episode's first, the
            last one is `info["final_obs"]`), `"next-step"`, or `"disabled"` (not on `ale`).
        num_threads: C++ threads of `ale`; 0 lets it choose. No other backend reads it.
        num_workers: Processes of `async`; 0 is one per core, and at most one per env. No other
            backend reads it.
        context: How `async` starts its processes, `"spawn"` or `"forkserver"`.
        worker_timeout: Seconds after which a worker process of `async` that does not answer is
            reported as hung.
        on_worker_failure: What a worker or an env that failed brings: `"raise"`s a `WorkerError`,
            or is made anew (`"restart"`) with its episode marked truncated, and the reason logged.
        batch_size: Envs per `recv`, the first that are ready; 0 waits for all.
        obs_buffers: 0 hands out a fresh array of observations at each step; `n`, at least 2, lends
            `n` arrays in turn: one is overwritten by the `n`-th call after that which returned it.
        num_players: 2 for a game against each other (Pong, SpaceInvaders): an axis of 2 comes first
            in an env's observation, action and reward.
        img_dir: Folder that receives every emulated RGB frame as `out<env>-<frame>.png`; made with
            its parents. Numbers go on behind files that are there. `None` writes nothing.
        video_dir: Folder that receives games as `env<env>-game<n>.mp4`, in the same way; it needs
            `pip install "atari-wrappers[video]"`. `None` writes nothing.
        record_every: Of each env's games, the first and every n-th after it goes to `video_dir`.
        record_unfinished: Whether a game that is given up, by a reset or by `close`, has a file and
            a number in `video_dir` too.

    Raises:
        ValueError: A value is outside of its range; the message names setting, value and range.
        TypeError: A value has the wrong type.
    """

    preset: str = "default"
    backend: str = "auto"
    autoreset: str = "same-step"
    num_threads: int = 0
    num_workers: int = 0
    context: str = "spawn"
    worker_timeout: float = 60.0
    on_worker_failure: str = "raise"
    batch_size: int = 0
    obs_buffers: int = 0
    num_players: int = 1
    img_dir: str | os.PathLike[str] | None = None
    video_dir: str | os.PathLike[str] | None = None
    record_every: int = 1
    record_unfinished: bool = True
    pooling: str | None = None
    last_frame: str | None = None
    frame_skip: int | None = None
    screen_size: int | Sequence[int] | None = None
    grayscale: bool | None = None
    frame_stack: int | None = None
    padding: str | None = None
    noop_min: int | None = None
    noop_max: int | None = None
    fire_reset: str | bool | None = None
    episodic_life: bool | None = None
    life_loss: str | None = None
    after_life_loss: str | None = None
    clip_reward: bool | None = None
    max_episode_frames: int | None = None
    count_reset_frames: bool | None = None
    max_episode_steps: int | None = None
    end_precedence: str | None = None
    sticky_actions: float | None = None
    full_action_space: bool | None = None
    continuous: bool | None = None
    continuous_action_threshold: float | None = None
    mode: int | None = None
    difficulty: int | None = None
    seeding: str | None = None

    def __post_init__(self) -> None:
        self._normalise()
        recipe_parts = set(Recipe.names())

        def given(name: str) -> bool:
            return getattr(self, name) is not None or name not in recipe_parts

        for name, choices in _CHOICES.items():
            if given(name) and getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}"
                )
        for name in filter(given, _FLAGS):
            _check_flag(name, getattr(self, name))
        for name, minimum in _MINIMA.items():
            if given(name):
                check_count(name, getattr(self, name), minimum)
        for name in filter(given, ("sticky_actions", "continuous_action_threshold")):
            _check_number(name, getattr(self, name), 0.0, 1.0)
        _check_number("worker_timeout", self.worker_timeout, 1e-3, float("inf"))
        if self.obs_buffers == 1:
            raise ValueError("obs_buffers must be 0 (fresh arrays) or at least 2, not 1")
        if self.num_players > 2:
            raise ValueError(f"num_players must be 1 or 2, not {self.num_players}")
        recipe = self.recipe
        if recipe.noop_min > recipe.noop_max:
            raise ValueError(
                f"noop_min must be at most noop_max ({recipe.noop_max}), not {recipe.noop_min}"
            )

    def _normalise(self) -> None:
        """Bring the forms that a value may be given in to one."""
        for name in ("img_dir", "video_dir"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _folder(name, getattr(self, name)))
        if self.screen_size is not None:
            object.__setattr__(self, "screen_size", _screen_size(self.screen_size))
        if isinstance(self.fire_reset, bool):
            own = PRESETS[self.preset].fire_reset if self.preset in PRESETS else "off"
            way = "off" if not self.fire_reset else "steps" if own == "off" else own
            object.__setattr__(self, "fire_reset", way)
        # A smaller `noop_max` than the preset's fewest means what it says.
        if self.noop_min is None and self.noop_max == 0:
            object.__setattr__(self, "noop_min", 0)

    @property
    def recipe(self) -> Recipe:
        """The preset with the parts that were set alone."""
        parts = {name: getattr(self, name) for name in Recipe.names()}
        return replace(
            PRESETS[self.preset],
            **{name: value for name, value in parts.items() if value is not None},
        )

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """The `autoreset` setting as gymnasium's enum."""
        return AUTORESET_MODES[self.autoreset]

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all settings, in order."""
        return tuple(field.name for field in fields(Settings))


def _folder(name: str, value: Any) -> str:
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{name} must be a path, not {value!r}")
    if not os.fspath(value) or "\0" in os.fspath(value):
        raise ValueError(f"{name} must name a folder, not {value!r}")
    return os.path.expanduser(value)  # noqa: PTH111 - a path that is a str stays one


def _screen_size(value: Any) -> tuple[int, int]:
    sides = [value, value] if not isinstance(value, Sequence) or isinstance(value, str) else value
    if len(sides) != 2:
        raise ValueError(f"screen_size must be a side or (height, width), not {value!r}")
    height, width = (check_count("screen_size", side, 1) for side in sides)
    return height, width


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")


def check_count(name: str, value: Any, minimum: int) -> int:
    """Return a number of things as an `int`.

    Raises:
        ValueError: It is below `minimum`.
        TypeError: It is no integer.
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if count < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {count}")
    return count


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must lie in [{low}, {high}], not {value}")
