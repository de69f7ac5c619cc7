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
    """The recipe: `"default"`, or as a library does it: `"baselines"` (stable-baselines3),
    `"cleanrl"`, `"gymnasium"`, `"ale"`, `"envpool"`; `None` is `"default"`. It says what is
    observed and how games begin and end, and no more: `autoreset` is `"same-step"` with each, also
    where the library's own is next-step. Default: None.
    """

    recipe: Recipe | None
    """In place of a preset, a recipe of your own, such as
    `dataclasses.replace(recipes.PRESETS["ale"], pooling="rgb")`. Default: None.
    """

    backend: BackendName
    """Who runs the envs: `"native"` (threads in Rust, for games and settings in which it is proved
    to be ale-py's), `"ale"` (ALE's C++ threads, for recipes that it can follow), `"sync"` (this
    thread), `"async"` (worker processes), or `"auto"`: the first of `native`, `ale` and `sync` that
    serves. A single env is ale-py's unless this is `"native"`. Default: "auto".
    """

    autoreset: Autoreset | AutoresetMode
    """When an ended env restarts: `"same-step"` (`obs` is the new episode's first, the last one is
    `info["final_obs"]`), `"next-step"`, or `"disabled"` (not on `ale`). Default: "same-step".
    """

    num_threads: int
    """Threads of `native` (the one that waits is one of them) and of `ale`; 0 is one per core, and
    lets `ale` choose. Of this and of what only `async` reads a warning says that nothing reads it,
    where another backend runs the envs. Default: 0.
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
    """Seconds after which a process of `async` that starts, or that makes an env, is reported as
    hung. Default: 300.0.
    """

    on_worker_failure: OnWorkerFailure
    """What happens when an env or its worker fails: `"raise"` raises a `WorkerError`; `"restart"`
    restarts it, marks its episode truncated and logs the reason. Default: "raise".
    """

    batch_size: int
    """Envs per `recv`, the first that are ready; 0 waits for all. Default: 0."""

    obs_buffers: int
    """0 hands out a fresh array of observations at each step; `n`, at least 2, lends `n` arrays in
    turn: one is overwritten by the `n`-th call after that which returned it. Default: 0.
    """

    num_players: int
    """2 for a game against each other (Pong, Boxing, …): an axis of 2 comes first in an env's
    observation, action and reward. Default: 1.
    """

    img_dir: Folder | None
    """Folder that receives every emulated RGB frame as `out<env>-<frame>.png`; made with its
    parents. A relative path is one from the working directory of now, wherever that is changed to.
    Numbers go on behind files that are there. `None` writes nothing. Default: None.
    """

    video_dir: Folder | None
    """Folder that receives games as `env<env>-game<n>.mp4`, in the same way; it needs `pip install
    "atari-wrappers[video]"`. `None` writes nothing. Default: None.
    """

    video_envs: Sequence[int] | None
    """Indices of the envs whose games go to `video_dir`; `None` for all. Default: None."""

    record_every: int
    """Of each env's games, the first and every n-th after it goes to `video_dir`. Default: 1."""

    record_unfinished: bool
    """Whether a game that is given up, by a reset or by `close`, has a file and a number in
    `video_dir` too. Default: True.
    """

    env_kwargs: Mapping[str, Any] | None
    """Keywords for `gymnasium.make`, or for the callable that makes an env. Atari games take none:
    what can be said of them is a setting. Default: None.
    """

    wrappers: Sequence[Wrapper]
    """Callables, each given a single env and returning it wrapped, the first innermost. They go
    around a whole preprocessed game; of other envs, around what `gymnasium.make` returns. With
    `async` they are pickled by `cloudpickle`. Default: ().
    """

    clip_actions: bool
    """Bring numbers of a Box action that are out of range to its bounds; otherwise they are
    refused. Default: False.
    """

    obs_type: ObsType | None
    """What is observed: the `"screen"`, or the console's `"ram"`, uint8 `[128]` as the step's last
    frame left it, to which what is said of pictures and stacks does not apply. Default: "screen" by
    the preset `default`.
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
    2 after the no-ops, a whole agent step each; or a single frame of FIRE in place of one no-op,
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
    """Probability, per emulator frame, that the previous action is repeated. `None`: what the id
    says. Default: 0.0 by the preset `default`.
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
    """The game's mode; `None`: what the id says, else ALE's default. Default: None by the preset
    `default`.
    """

    difficulty: int | None
    """The game's difficulty; `None`: what the id says, else ALE's default. Default: None by the
    preset `default`.
    """
