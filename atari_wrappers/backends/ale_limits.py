"""What keeps the `ale` backend from following settings: ALE does a few things in its way only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from atari_wrappers.recipes import Recipe
from atari_wrappers.request import BatchRequest


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
    if settings.autoreset == "next-step" and _is_signal(recipe):
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


def _is_signal(recipe: Recipe) -> bool:
    return recipe.episodic_life and recipe.after_life_loss == "go-on"


def _is_limited(recipe: Recipe) -> bool:
    return recipe.max_episode_frames > 0


def _has_start(recipe: Recipe) -> bool:
    return recipe.noop_max > 0 or recipe.fire_reset != "off"


# Part by part: what `ale` has, and with which recipes another value makes a difference, if not all.
_OWN_PARTS: dict[str, tuple[tuple[Any, ...], Callable[[Recipe], bool] | None]] = {
    "obs_type": (("screen",), None),
    "pooling": (("gray",), None),
    "resizing": (("gray",), lambda recipe: recipe.grayscale),
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
