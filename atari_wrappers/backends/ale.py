"""The `ale` backend: ALE's own vector env, C++ threads in this process.

It can follow few recipes, as ALE does a few things in its way only; `ale_records` derives what it
does not report.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from ale_py.vector_env import AtariVectorEnv

from atari_wrappers.backends.ale_records import GameRecords
from atari_wrappers.backends.base import Backend, Indices, Info, Out, Seeds, StepResult, Ticket
from atari_wrappers.backends.results import ObsArrays
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.ids import rom_path
from atari_wrappers.recipes import Recipe
from atari_wrappers.recording.observations import ObservationRecorder
from atari_wrappers.request import BatchRequest

# Games with 9 of the 18 actions, of which continuous ones press others there, or hang for ever.
_WITHOUT_BUTTONS = ("lost_luggage", "skiing")
# To ALE a limit of 0 is over at once, and it counts in 32 bits.
_NO_LIMIT = 2**30


def obstacles_to_ale(request: BatchRequest) -> Iterator[str]:
    """Name each setting that is in the way, its value and what it could be."""
    recipe, settings, num_envs = request.recipe, request.settings, request.num_envs
    if recipe is None:
        yield "it is no Atari game"
        return
    if len(request.envs) > 1:
        yield "several games: it has one"
    if settings.wrappers:
        yield "wrappers: its envs are no Python objects"
    if settings.img_dir is not None:
        yield "img_dir: it shows no raw frames"
    if settings.autoreset == "disabled":
        yield 'autoreset="disabled": it always restarts envs by itself'
    is_signal = recipe.episodic_life and recipe.after_life_loss == "go-on"
    if settings.autoreset == "next-step" and is_signal:
        yield (
            'autoreset="next-step" with episodic_life=True: after a lost life its game goes on at'
            " once, where that step's action ought to be ignored"
        )
    if settings.num_players > 1:
        yield f"num_players={settings.num_players}: it has one"
        recipe = replace(recipe, mode=None, difficulty=None)  # these follow from that
    if 0 < settings.batch_size < num_envs:
        yield (
            f"batch_size={settings.batch_size}: it takes actions only for the envs received last,"
            f" so not for all {num_envs} after a reset"
        )
    if recipe.continuous and any(env.env_id.rom in _WITHOUT_BUTTONS for env in request.envs):
        yield "continuous=True: in this game it presses other buttons than those asked for"
    yield from _foreign_parts(recipe)


def _foreign_parts(recipe: Recipe) -> Iterator[str]:
    """Name the parts of a recipe that `ale` does in another way, where that shows."""
    for name, (own, shows) in _OWN_PARTS.items():
        value = getattr(recipe, name)
        if value not in own and (shows is None or shows(recipe)):
            yield f"{name}={value!r}: it has {' and '.join(map(repr, own))} only"
    ways = (recipe.life_loss, recipe.after_life_loss)
    if recipe.episodic_life and ways not in LIFE_LOSSES:
        yield (
            f"life_loss={ways[0]!r} with after_life_loss={ways[1]!r}: it has "
            + " and ".join(f"{loss!r} with {after!r}" for loss, after in LIFE_LOSSES)
            + " only"
        )


def _is_limited(recipe: Recipe) -> bool:
    return recipe.max_episode_frames > 0


def _has_start(recipe: Recipe) -> bool:
    return recipe.noop_max > 0 or recipe.fire_reset != "off"


# Part by part: what `ale` has, and with which recipes another value makes a difference, if not all.
_OWN_PARTS: dict[str, tuple[tuple[Any, ...], Callable[[Recipe], bool] | None]] = {
    "obs_type": (("screen",), None),
    "pooling": (("gray",), None),
    "resizing": (("gray",), lambda recipe: recipe.grayscale),
    "interpolation": (("area",), None),
    "last_frame": (("dropped",), None),
    "channels_last": ((False,), None),
    "padding": (("zero",), lambda recipe: recipe.frame_stack > 1),
    "noop_min": ((0,), None),
    "fire_reset": (("off", "before-noops"), None),
    "count_reset_frames": ((False,), lambda recipe: _is_limited(recipe) and _has_start(recipe)),
    "count_reset_rewards": ((False,), _has_start),
    "max_episode_steps": ((0,), None),
    "end_precedence": (("terminated",), _is_limited),
    "mode": ((None,), None),
    "difficulty": ((None,), None),
    "seeding": (("raw",), None),
}
# `life_loss` and `after_life_loss`: the first is derived, the second is ALE's `episodic_life`.
LIFE_LOSSES = (("after-skip", "go-on"), ("in-skip", "new-game"))


class AleBackend(Backend):
    """`AtariVectorEnv`; everything but `send` and `recv` happens at once, in the calling thread.

    What it can do is what ALE can: no env can be stepped without the others, looked into or saved.
    """

    name = "ale"
    runs_in_process = True
    own_settings: ClassVar[tuple[str, ...]] = ("num_threads",)
    shows_raw_frames = has_python_envs = shares_python_envs = takes_reset_options = False
    obstacles = staticmethod(obstacles_to_ale)

    def __init__(self, request: BatchRequest) -> None:
        num_envs, settings = request.num_envs, request.settings
        rom_path(request.env_id.game)  # whose errors say what to do
        self._request, self._num_envs = request, num_envs
        self._make()
        self.single_observation_space = space = self._env.single_observation_space
        self.single_action_space: gym.Space[Any] = self._env.single_action_space
        self._ticket = Ticket(num_envs)
        self._all = dict.fromkeys(range(num_envs))
        self._recorder = None
        if settings.video_dir is not None:
            self._recorder = ObservationRecorder(num_envs, settings, request.game_recipe.frame_skip)
        self._obs_arrays = ObsArrays(settings.obs_buffers, num_envs, space)
        # ALE's last, as it is in the caller's hands.
        self._obs = np.zeros((num_envs, *(space.shape or ())), np.uint8)

    def _make(self) -> None:
        request, num_envs = self._request, self._num_envs
        self._env = env = AtariVectorEnv(request.env_id.game, num_envs, **_arguments(request))
        space, mode = env.single_observation_space, request.settings.autoreset_mode
        self._records = GameRecords(num_envs, space, request.game_recipe, mode)

    @property
    def ticket(self) -> Ticket:
        return self._ticket

    def reset(self, indices: Indices, seeds: Seeds | None, options: Info, out: Out) -> None:
        """Restart the envs at once; `recv` gives what all show then."""
        del options  # there are none for ALE's envs
        mask = None
        if indices is not None:
            mask = np.zeros(self._num_envs, bool)
            mask[indices] = True
        ale_seeds = None
        if seeds is not None:
            # ALE's "no seed" is -1. Its seeds are those of the masked envs, in the envs' order.
            pairs = sorted(zip(indices or self._all, seeds, strict=True))
            ale_seeds = np.array([-1 if seed is None else seed for _, seed in pairs])
        self._obs, ale_info = self._env.reset(
            seed=ale_seeds, options=None if mask is None else {"reset_mask": mask}
        )
        self._records.after_reset(indices, ale_info)
        asked = self._all if indices is None else dict.fromkeys(indices)
        self.ticket.begin("reset", asked, out)
        if self._recorder is not None:
            self._recorder.after_reset(asked)

    def send(self, actions: np.ndarray, indices: Indices, out: Out) -> None:
        """Hand the actions to ALE's threads.

        Raises:
            UnsupportedError: They are for a part of the envs.
        """
        if indices is not None:
            if len(indices) < self._num_envs:
                raise UnsupportedError(
                    f'backend "ale" steps all {self._num_envs} envs at once, not {list(indices)}'
                    ' alone; use backend="native", "sync" or "async"'
                )
            actions = actions[np.argsort(indices)]
        self._env.send(actions)
        self._records.prepare()
        self.ticket.begin("step", self._all, out)

    def recv(
        self, count: int, out: Out, timeout: float | None, *, every: bool = False
    ) -> StepResult:
        """Wait for ALE's threads, however long; the GIL is free meanwhile."""
        del timeout, every
        kind, out = self.ticket.kind, self.ticket.out if out is None else out
        self.ticket.receive(count)
        if kind == "reset":
            result = self._records.last()
        else:
            obs, _, terminated, truncated, info = report = self._env.recv()
            self._obs = obs
            if self._recorder is not None:  # what ends for ALE is a game
                over = terminated | truncated
                self._recorder.after_step(self._all, obs, over, info.get("final_obs"))
            result = self._records.after_step(*report)
        return self._obs_arrays.hand_out(self._obs, out), *result

    def recover(self) -> None:
        """Make ALE's envs again, for it is not known whether they have a step in flight.

        ALE waits for ever for one that was not sent.
        """
        self._make()
        self.ticket.clear()

    def frames(self, indices: Sequence[int]) -> list[np.ndarray]:
        """Return the newest frame that each env observed: uint8 RGB of the observation's size."""
        pictures = [self._obs[index, -1] for index in indices]
        if pictures[0].ndim == 3:
            return [picture.copy() for picture in pictures]
        return [np.repeat(picture[..., None], 3, axis=2) for picture in pictures]

    def after_fork(self) -> bool:
        """Leak ALE's interface: freeing it would wait for threads that the parent has."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._env))
        return True

    def close(self, *, terminate: bool) -> None:
        """Join ALE's threads; they end with their interface, which `AtariVectorEnv.close` keeps."""
        del terminate  # a step ends by itself within milliseconds
        try:
            if self._recorder is not None:
                self._recorder.close()
        finally:
            self._env.close()
            del self._env


def _arguments(request: BatchRequest) -> dict[str, Any]:
    """Return the request in the words of `AtariVectorEnv`."""
    recipe, settings = request.game_recipe, request.settings
    height, width = recipe.screen_size
    return {
        "num_threads": settings.num_threads,
        "autoreset_mode": settings.autoreset_mode,
        "max_num_frames_per_episode": min(recipe.max_episode_frames or _NO_LIMIT, _NO_LIMIT),
        "repeat_action_probability": recipe.sticky_actions,
        "full_action_space": recipe.full_action_space,
        "continuous": recipe.continuous,
        "continuous_action_threshold": recipe.continuous_action_threshold,
        "img_height": height,
        "img_width": width,
        "grayscale": recipe.grayscale,
        "stack_num": recipe.frame_stack,
        "frameskip": recipe.frame_skip,
        "noop_max": recipe.noop_max + 1,  # theirs is exclusive
        "use_fire_reset": recipe.fire_reset != "off",
        # `GameRecords` tells lives that end an episode but no game, and clips.
        "episodic_life": recipe.episodic_life and recipe.after_life_loss == "new-game",
        "life_loss_info": False,
        "reward_clipping": False,
    }
