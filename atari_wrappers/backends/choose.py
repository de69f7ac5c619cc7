"""Which backend runs a batch: the one asked for, or the fastest that serves in this process.

And why the faster ones do not.
"""

from __future__ import annotations

from atari_wrappers.backends.ale import AleBackend
from atari_wrappers.backends.base import Backend
from atari_wrappers.backends.native import NativeBackend
from atari_wrappers.backends.sync import SyncBackend
from atari_wrappers.backends.workers import AsyncBackend
from atari_wrappers.errors import UnsupportedError, warn
from atari_wrappers.game.native import NOT_INSTALLED, problem_of_module
from atari_wrappers.request import BatchRequest
from atari_wrappers.settings import Settings

# The fastest first: in this order `auto` asks them.
BACKENDS: tuple[type[Backend], ...] = (NativeBackend, AleBackend, SyncBackend, AsyncBackend)
_DEFAULTS = Settings()


def choose_backend(request: BatchRequest) -> type[Backend]:
    """Return the backend that was asked for, or the fastest that serves in this process.

    Videos are of raw frames where the choice is free; a backend without them, asked for by name,
    records what it observes.

    Raises:
        UnsupportedError: What was asked for cannot serve; the message names each setting that is in
            the way, its value and what it could be, and the backends that can. Or none can.
    """
    chosen = _choose(request)
    settings = request.settings
    for name in {name for each in BACKENDS for name in each.own_settings}:
        value = getattr(settings, name)
        if name not in chosen.own_settings and value != getattr(_DEFAULTS, name):
            readers = (f'"{each.name}"' for each in BACKENDS if name in each.own_settings)
            warn(
                f'{name}={value} has no effect: backend "{chosen.name}" runs the envs, and only'
                f" backend={' or '.join(readers)} reads it"
            )
    _tell_of_a_slower_one(request, chosen)
    return chosen


def passed_over(request: BatchRequest) -> dict[str, str]:
    """Return why `auto` did not take each backend that it asked before the one that it took.

    It is empty where the fastest serves, or where a backend was asked for by name.
    """
    reasons: dict[str, str] = {}
    for each in BACKENDS if request.settings.backend == "auto" else ():
        problems = _problems_for_auto(request, each)
        if not problems:
            break
        reasons[each.name] = "; ".join(problems)
    return reasons


def _problems_for_auto(request: BatchRequest, backend: type[Backend]) -> list[str]:
    """Say what keeps `auto` from a backend, where nothing keeps that from serving, too."""
    problems = list(backend.obstacles(request))
    if not problems and not backend.shows_raw_frames and request.settings.video_dir is not None:
        problems.append("video_dir: it shows no raw frames")
    if not problems and not backend.runs_in_process:
        problems.append("its envs are in other processes, which ask for a `__main__` guard")
    return problems


def _tell_of_a_slower_one(request: BatchRequest, chosen: type[Backend]) -> None:
    """Warn where `auto` takes a slower backend only because `atari_core` is missing or broken."""
    is_open = request.settings.backend == "auto" and request.recipe is not None
    problem = problem_of_module() if is_open and chosen is not NativeBackend else None
    # Without the module `ale` is the usual one; `sync` is slower by far.
    if problem is not None and (chosen is SyncBackend or problem != NOT_INSTALLED):
        warn(
            f'backend "{chosen.name}" runs the envs, which "native" would run faster: {problem};'
            f' backend="{chosen.name}" asks for this one'
        )


def _choose(request: BatchRequest) -> type[Backend]:
    if request.settings.backend == "auto":
        reasons = passed_over(request)
        if len(reasons) < len(BACKENDS):
            return BACKENDS[len(reasons)]
        told = ". ".join(f'"{name}": {reason}' for name, reason in reasons.items())
        raise UnsupportedError(f"no backend can serve `{request.env_id.name}`: {told}")
    chosen = next(each for each in BACKENDS if each.name == request.settings.backend)
    problems = "; ".join(chosen.obstacles(request))
    if problems:
        able = " or ".join(f'"{each.name}"' for each in BACKENDS if not [*each.obstacles(request)])
        raise UnsupportedError(
            f'backend "{chosen.name}" cannot serve `{request.env_id.name}`:'
            f" {problems}{able and f'; use backend={able}'}"
        )
    return chosen
