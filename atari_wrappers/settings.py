"""Every setting of a batch of envs, checked; their defaults are here and in `recipes.PRESETS`.

They are what a caller gave, as a `Settings` or by keyword; `request` makes of them, and of an id,
what backends and games read.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import gymnasium as gym
from gymnasium.vector import AutoresetMode

from atari_wrappers.checks import check_choice, check_count, checked_by_type, checked_number
from atari_wrappers.recipes import PRESETS, FireReset, ObsType, Recipe, checked_part

Preset = Literal["default", "baselines", "cleanrl", "gymnasium", "ale", "envpool"]
BackendName = Literal["auto", "native", "ale", "sync", "async"]
Autoreset = Literal["same-step", "next-step", "disabled"]
# No "fork": a host that runs libtorch has threads, and a forked child of such a process deadlocks.
Context = Literal["spawn", "forkserver"]
OnWorkerFailure = Literal["raise", "restart"]
Folder = str | os.PathLike[str]
Wrapper = Callable[[gym.Env], gym.Env]

AUTORESET_MODES = {
    "same-step": AutoresetMode.SAME_STEP,
    "next-step": AutoresetMode.NEXT_STEP,
    "disabled": AutoresetMode.DISABLED,
}
# Of integers, where it is not 0.
_MINIMA = {"record_every": 1, "num_players": 1}
# What other libraries call them.
_OTHER_WORDS = {
    "frameskip": "frame_skip",
    "img_height": "screen_size",
    "img_width": "screen_size",
    "max_num_frames_per_episode": "max_episode_frames",
    "num_stack": "frame_stack",
    "repeat_action_probability": "sticky_actions",
    "reward_clip": "clip_reward",
    "reward_clipping": "clip_reward",
    "stack_num": "frame_stack",
    "stack_size": "frame_stack",
    "terminal_on_life_loss": "episodic_life",
    "use_fire_reset": "fire_reset",
    "vec_env_cls": "backend",
    "vectorization_mode": "backend",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How environments are made.

    The settings below `clip_actions` are parts of a recipe, and `Recipe` documents them; `None`
    takes the preset's value. The other parts of a recipe are set through `recipe`. For envs other
    than Atari games, `clip_reward` and `max_episode_steps` (0 for no limit, `None` for that of the
    id) do the same; any other part that would have an effect is refused.

    Attributes:
        preset: The recipe: `"default"`, or that of a library: `"baselines"`
            (stable-baselines3), `"cleanrl"`, `"gymnasium"`, `"ale"`, `"envpool"`; `None` is
            `"default"`. It decides what is observed and how games begin and end. It does not decide
            `autoreset`, which is `"same-step"` with every preset.
        recipe: A recipe of your own instead of a preset, such as
            `dataclasses.replace(recipes.PRESETS["ale"], pooling="rgb")`.
        backend: What runs the envs: `"native"` (threads in Rust, for games and settings in which it
            is proved equal to ale-py), `"ale"` (ALE's C++ threads, for recipes that it can follow),
            `"sync"` (this thread), `"async"` (worker processes), or `"auto"`: the first of
            `native`, `ale` and `sync` that can. A single env runs on ale-py unless this is
            `"native"`.
        autoreset: When an ended env restarts: `"same-step"` (`obs` is the new episode's first, the
            last one is `info["final_obs"]`), `"next-step"`, or `"disabled"` (not on `ale`).
        num_threads: Threads of `native`, the waiting one included, and of `ale`; 0 is one per core,
            and lets `ale` choose. A warning tells if the backend in use does not read this, or a
            setting that only `async` reads.
        num_workers: Processes of `async`; 0 is one per core, and at most one per env.
        context: How `async` starts its processes, `"spawn"` or `"forkserver"`.
        worker_timeout: Seconds without progress (an env's step, reset or answer) after which a
            worker process of `async` is reported as hung.
        start_timeout: Seconds that a process of `async` may take to start, and to make each env,
            before it is reported as hung.
        on_worker_failure: What happens when an env or its worker fails: `"raise"` raises a
            `WorkerError`; `"restart"` restarts it, marks its episode truncated and logs the reason.
        batch_size: Envs per `recv`, the first that are ready; 0 waits for all.
        obs_buffers: 0 hands out a fresh array of observations at each step; `n`, at least 2, lends
            `n` arrays in turn: the `n`-th call after the one that returned an array overwrites it.
        num_players: 2 for two players against each other (Pong, Boxing, …): an env's observation,
            action and reward then have a first axis of 2.
        img_dir: Folder for every emulated RGB frame, as `out<env>-<frame>.png`; it is created with
            its parents. A relative path is resolved when the settings are made. Numbers continue
            after those of files that are there. `None` writes nothing.
        video_dir: Folder for games, as `env<env>-game<n>.mp4`, in the same way; it needs
            `pip install "atari-wrappers[video]"`. `None` writes nothing.
        video_envs: Indices of the envs whose games go to `video_dir`; `None` for all.
        record_every: The first game of each env and every n-th after it go to `video_dir`.
        record_unfinished: Whether a game that a reset or `close` cuts off also gets a file and
            a number in `video_dir`.
        env_kwargs: Keywords for `gymnasium.make`, or for the callable that makes an env. Atari
            games take none: settings say everything about them.
        wrappers: Callables, each given a single env and returning it wrapped, the first innermost.
            They wrap a whole preprocessed game, or what `gymnasium.make` returns for other envs.
            With `async` they are pickled by `cloudpickle`.
        clip_actions: Clip the numbers of a Box action to its bounds; otherwise numbers out of range
            are refused.

    Raises:
        ValueError: A value is outside of its range; the message names setting, value and range.
        TypeError: A value has the wrong type.
    """

    preset: Preset | None = None
    recipe: Recipe | None = None
    backend: BackendName = "auto"
    autoreset: Autoreset | AutoresetMode = "same-step"
    num_threads: int = 0
    num_workers: int = 0
    context: Context = "spawn"
    worker_timeout: float = 60.0
    start_timeout: float = 300.0
    on_worker_failure: OnWorkerFailure = "raise"
    batch_size: int = 0
    obs_buffers: int = 0
    num_players: int = 1
    img_dir: Folder | None = None
    video_dir: Folder | None = None
    video_envs: Sequence[int] | None = None
    record_every: int = 1
    record_unfinished: bool = True
    env_kwargs: Mapping[str, Any] | None = None
    wrappers: Sequence[Wrapper] = ()
    clip_actions: bool = False
    obs_type: ObsType | None = None
    frame_skip: int | None = None
    screen_size: int | Sequence[int] | None = None
    grayscale: bool | None = None
    frame_stack: int | None = None
    channels_last: bool | None = None
    noop_max: int | None = None
    fire_reset: FireReset | bool | None = None
    episodic_life: bool | None = None
    clip_reward: bool | None = None
    max_episode_frames: int | None = None
    max_episode_steps: int | None = None
    sticky_actions: float | None = None
    full_action_space: bool | None = None
    continuous: bool | None = None
    continuous_action_threshold: float | None = None
    mode: int | None = None
    difficulty: int | None = None

    def __post_init__(self) -> None:
        self._check_recipe()
        if self.autoreset in (*AutoresetMode, *_GYMNASIUMS_MODES):
            self._set("autoreset", _GYMNASIUMS_MODES[AutoresetMode(self.autoreset).value])
        check_choice("autoreset", self.autoreset, get_args(Autoreset))
        for name, kind in _PLAIN.items():
            value = getattr(self, name)
            self._set(name, checked_by_type(name, value, kind, _MINIMA.get(name, 0)))
        for name in ("worker_timeout", "start_timeout"):
            self._set(name, checked_number(name, getattr(self, name), 1e-3))
        for name in ("img_dir", "video_dir"):
            if getattr(self, name) is not None:
                self._set(name, _folder(name, getattr(self, name)))
        if self.video_envs is not None:
            self._set("video_envs", _env_indices("video_envs", self.video_envs))
        if self.obs_buffers == 1:
            raise ValueError("obs_buffers must be 0 (fresh arrays) or at least 2, not 1")
        if self.num_players > 2:
            raise ValueError(f"num_players must be 1 or 2, not {self.num_players}")
        if not isinstance(self.env_kwargs, Mapping | None):
            raise TypeError(f"env_kwargs must be a dict, not {self.env_kwargs!r}")
        if self.env_kwargs is not None:
            self._set("env_kwargs", dict(self.env_kwargs))
        if not isinstance(self.wrappers, Sequence) or not all(map(callable, self.wrappers)):
            raise TypeError(f"wrappers must be a list of callables, not {self.wrappers!r}")
        self._set("wrappers", tuple(self.wrappers))

    def _check_recipe(self) -> None:
        """Check the preset or recipe, and the parts that were set alone."""
        if isinstance(self.recipe, Mapping):  # as JSON keeps one: that of a spec
            self._set("recipe", Recipe(**self.recipe))
        if not isinstance(self.recipe, Recipe | None):
            raise TypeError(f"recipe must be a Recipe, not {self.recipe!r}; or name a preset")
        if self.preset is not None:
            check_choice("preset", self.preset, get_args(Preset))
            if self.recipe is not None:
                raise ValueError(
                    f"preset={self.preset!r} and a recipe: give one of them;"
                    " dataclasses.replace(recipes.PRESETS[...], ...) changes a preset"
                )
        for name, value in self.parts.items():
            # A bool says whether, and the recipe how.
            if name != "fire_reset" or not isinstance(value, bool):
                self._set(name, checked_part(name, value))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def given(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of a recipe that were set alone."""
        parts = {name: getattr(self, name) for name in _PARTS}
        return {name: value for name, value in parts.items() if value is not None}

    @property
    def base_recipe(self) -> Recipe:
        """The recipe, or the preset's, in which `parts` are still to be set."""
        return self.recipe or PRESETS[self.preset or "default"]

    def records_video(self, env_index: int) -> bool:
        """Whether games of an env go to `video_dir`."""
        is_chosen = self.video_envs is None or env_index in self.video_envs
        return self.video_dir is not None and is_chosen

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """The `autoreset` setting as gymnasium's enum."""
        return AUTORESET_MODES[str(self.autoreset)]

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all settings, in order."""
        return tuple(field.name for field in fields(Settings))


_GYMNASIUMS_MODES = {mode.value: name for name, mode in AUTORESET_MODES.items()}
_PARTS = tuple(name for name in Recipe.names() if name in Settings.names())
# Those whose type says all that they may be.
_PLAIN = {
    name: kind
    for name, kind in get_type_hints(Settings).items()
    if kind in (bool, int) or get_origin(kind) is Literal
}


def _folder(name: str, value: Any) -> str:
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{name} must be a path, not {value!r}")
    if not os.fspath(value) or "\0" in os.fspath(value):
        raise ValueError(f"{name} must name a folder, not {value!r}")
    return os.path.abspath(os.path.expanduser(value))  # noqa: PTH100, PTH111 - str stays str


def _env_indices(name: str, value: Any) -> tuple[int, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list of envs, such as [0], not {value!r}")
    indices = tuple(check_count(name, index, 0) for index in value)
    if not indices or len(set(indices)) < len(indices):
        raise ValueError(f"{name} must name at least one env, and none twice, not {value!r}")
    return indices


def merged(settings: Settings | None, keywords: Mapping[str, Any]) -> Settings:
    """Return settings, the defaults if `None`, with those replaced that keywords name."""
    unknown = sorted(keywords.keys() - set(Settings.names()))
    if unknown:
        raise TypeError(f"no setting {', '.join(unknown)}{_hint(unknown)}")
    if not isinstance(settings, Settings | None):
        raise TypeError(f"settings must be a Settings, not {settings!r}; or name each by keyword")
    return replace(settings or Settings(), **keywords)


def _hint(unknown: Sequence[str]) -> str:
    """Say what may have been meant."""
    if "seed" in unknown:
        return ": what is made takes seeds, reset(seed=...)"
    if "num_envs" in unknown:
        return ": one env is made; make_vec and gymnasium.make_vec make several"
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
