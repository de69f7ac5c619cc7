"""The fields of `Settings` as keywords, each with its text, which editors show.

`python tests/support/keyword_docs.py` writes this file; a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    Wrapper,
)


class SettingKeywords(TypedDict, total=False):
    """Any field of `Settings`."""

    preset: Preset | None
    """The recipe: `"default"`, or that of a library: `"baselines"` (stable-baselines3),
    `"cleanrl"`, `"gymnasium"`, `"ale"`, `"envpool"`; `None` is `"default"`. It decides what is
    observed and how games begin and end. It does not decide `autoreset`, which is `"same-step"`
    with every preset. Default: None.
    """

    recipe: Recipe | None
    """A recipe of your own instead of a preset, such as
    `dataclasses.replace(recipes.PRESETS["ale"], pooling="rgb")`. Default: None.
    """

    backend: BackendName
    """What runs the envs: `"native"` (threads in Rust, for games and settings in which it is proved
    equal to ale-py), `"ale"` (ALE's C++ threads, for recipes that it can follow), `"sync"` (this
    thread), `"async"` (worker processes), or `"auto"`: the first of `native`, `ale` and `sync` that
    can. A single env runs on ale-py unless this is `"native"`. Default: "auto".
    """

    autoreset: Autoreset | AutoresetMode
    """When an ended env restarts: `"same-step"` (`obs` is the new episode's first, the last one is
    `info["final_obs"]`), `"next-step"`, or `"disabled"` (not on `ale`). Default: "same-step".
    """

    num_threads: int
    """Threads of `native`, the waiting one included, and of `ale`; 0 is one per core, and lets
    `ale` choose. A warning tells if the backend in use does not read this, or a setting that only
    `async` reads. Default: 0.
    """

    num_workers: int
    """Processes of `async`; 0 is one per core, and at most one per env. Default: 0."""

    context: Context
    """How `async` starts its processes, `"spawn"` or `"forkserver"`. Default: "spawn"."""

    worker_timeout: float
    """Seconds without progress (an env's step, reset or answer) after which a worker process of
    `async` is reported as hung. Default: 60.0.
    """

    start_timeout: float
    """Seconds that a process of `async` may take to start, and to make each env, before it is
    reported as hung. Default: 300.0.
    """

    on_worker_failure: OnWorkerFailure
    """What happens when an env or its worker fails: `"raise"` raises a `WorkerError`; `"restart"`
    restarts it, marks its episode truncated and logs the reason. Default: "raise".
    """

    batch_size: int
    """Envs per `recv`, the first that are ready; 0 waits for all. Default: 0."""

    obs_buffers: int
    """0 hands out a fresh array of observations at each step; `n`, at least 2, lends `n` arrays in
    turn: the `n`-th call after the one that returned an array overwrites it. Default: 0.
    """

    num_players: int
    """2 for two players against each other (Pong, Boxing, …): an env's observation, action and
    reward then have a first axis of 2. Default: 1.
    """

    img_dir: Folder | None
    """Folder for every emulated RGB frame, as `out<env>-<frame>.png`; it is created with its
    parents. A relative path is resolved when the settings are made. Numbers continue after those of
    files that are there. `None` writes nothing. Default: None.
    """

    video_dir: Folder | None
    """Folder for games, as `env<env>-game<n>.mp4`, in the same way; it needs `pip install "atari-
    wrappers[video]"`. `None` writes nothing. Default: None.
    """

    video_envs: Sequence[int] | None
    """Indices of the envs whose games go to `video_dir`; `None` for all. Default: None."""

    record_every: int
    """The first game of each env and every n-th after it go to `video_dir`. Default: 1."""

    record_unfinished: bool
    """Whether a game that a reset or `close` cuts off also gets a file and a number in `video_dir`.
    Default: True.
    """

    env_kwargs: Mapping[str, Any] | None
    """Keywords for `gymnasium.make`, or for the callable that makes an env. Atari games take none:
    settings say everything about them. Default: None.
    """

    wrappers: Sequence[Wrapper]
    """Callables, each given a single env and returning it wrapped, the first innermost. They wrap a
    whole preprocessed game, or what `gymnasium.make` returns for other envs. With `async` they are
    pickled by `cloudpickle`. Default: ().
    """

    clip_actions: bool
    """Clip the numbers of a Box action to its bounds; otherwise numbers out of range are refused.
    Default: False.
    """

    obs_type: ObsType | None
    """What is observed: the `"screen"`, or the console's `"ram"`, uint8 `[128]` after the step's
    last frame. The parts about pictures and stacks do not apply to RAM. Default: "screen" by the
    preset `default`.
    """

    frame_skip: int | None
    """Emulator frames per agent step, the last two max-pooled; 1 for no skip. Default: 4 by the
    preset `default`.
    """

    screen_size: int | Sequence[int] | None
    """Height and width of an observation, in pixels. Default: (84, 84) by the preset `default`."""

    grayscale: bool | None
    """Gray observations; otherwise RGB ones, with a last axis of 3. Default: True by the preset
    `default`.
    """

    frame_stack: int | None
    """Frames per observation, oldest first. Default: 4 by the preset `default`."""

    channels_last: bool | None
    """Observations `[height, width, frame_stack]` instead of `[frame_stack, height, width]`; with
    colours `[height, width, 3 * frame_stack]`. Default: False by the preset `default`.
    """

    noop_max: int | None
    """Most frames of no-ops at the start of a game; their number is uniform from `noop_min` to this
    one, both included. Default: 29 by the preset `default`.
    """

    fire_reset: FireReset | bool | None
    """How a game that has the action FIRE is started: `"off"`; `"steps"`, action 1 and then action
    2 after the no-ops, a whole agent step each; or a single frame of FIRE instead of one no-op,
    `"before-noops"` or `"after-noops"`. Default: "before-noops" by the preset `default`.
    """

    episodic_life: bool | None
    """A lost life sets `terminated`. Default: True by the preset `default`."""

    clip_reward: bool | None
    """Replace each reward by its sign. Default: True by the preset `default`."""

    max_episode_frames: int | None
    """Emulator frames after which a game is truncated; 0 for no limit. Default: 108000 by the
    preset `default`.
    """

    max_episode_steps: int | None
    """Agent steps after which a game is truncated; 0 for no limit. Default: 0 by the preset
    `default`.
    """

    sticky_actions: float | None
    """Probability, per emulator frame, that the previous action is repeated. `None`: that of the
    id. Default: 0.0 by the preset `default`.
    """

    full_action_space: bool | None
    """All 18 actions of the console instead of the game's own. Default: False by the preset
    `default`.
    """

    continuous: bool | None
    """ALE's polar actions: `[radius 0..1, angle -π..π, fire 0..1]`. Default: False by the preset
    `default`.
    """

    continuous_action_threshold: float | None
    """Joystick or button position beyond which a direction or FIRE counts as pressed. Default: 0.5
    by the preset `default`.
    """

    mode: int | None
    """The game's mode; `None`: that of the id, else ALE's default. Default: None by the preset
    `default`.
    """

    difficulty: int | None
    """The game's difficulty; `None`: that of the id, else ALE's default. Default: None by the
    preset `default`.
    """
