"""Registers the environments of a module with Gymnasium."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import gymnasium

from . import errors
from .single import RustEnv
from .vector import RustVectorEnv


def register(module: ModuleType, env_id: str, make: Callable[..., Any]) -> None:
    """Put the two classes of an environment into a module, and register them."""
    name = env_id.rpartition("/")[2].partition("-v")[0]
    about = {"make": staticmethod(make), "__module__": module.__name__}
    for suffix, parent in (("", RustEnv), ("Vector", RustVectorEnv)):
        documentation = "\n\n".join(filter(None, map(inspect.getdoc, (make, parent))))
        made = type(name + suffix, (parent,), {**about, "__doc__": documentation})
        setattr(module, made.__name__, made)
    for kind in vars(errors).values():
        if isinstance(kind, type):
            setattr(module, kind.__name__, kind)
    gymnasium.register(
        env_id,
        entry_point=f"{module.__name__}:{name}",
        vector_entry_point=f"{module.__name__}:{name}Vector",
    )
