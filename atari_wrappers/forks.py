"""Telling things in a forked child that threads, processes and open files are the parent's."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """What is told in a child that it was forked."""

    def after_fork(self) -> None:
        """Let go of what is the parent's."""


_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()


def watch(something: Forkable) -> None:
    """Have `after_fork` called in every child that this process forks while `something` lives."""
    _watched.add(something)


def _tell_all() -> None:
    for something in list(_watched):
        something.after_fork()


os.register_at_fork(after_in_child=_tell_all)
