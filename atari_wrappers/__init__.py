"""Atari, and any other gymnasium environment, as batches of observations.

`make_vec` gives a `VecEnv`, and `make_env` one wrapped env; `envpool` has EnvPool's API for a
batch; `wrappers` holds the single-env wrappers; `adapters` show a batch to other libraries as they
want it. Importing this registers `atari_wrappers/<Game>-v0` with gymnasium. Nothing here knows of
training.
"""

from atari_wrappers.about import __version__  # refuses where nothing here runs

# isort: split

import atari_wrappers.adapters.gymnasium  # noqa: F401 - registers ids
from atari_wrappers.errors import (
    ClosedError,
    NoPendingStepError,
    PendingStepError,
    ResetNeededError,
    UnknownEnvError,
    UnsupportedError,
    WorkerError,
)
from atari_wrappers.factory import make, make_tch, make_vec
from atari_wrappers.settings import Settings
from atari_wrappers.single_env import make_env
from atari_wrappers.vector.env import VecEnv

__all__ = [
    "ClosedError",
    "NoPendingStepError",
    "PendingStepError",
    "ResetNeededError",
    "Settings",
    "UnknownEnvError",
    "UnsupportedError",
    "VecEnv",
    "WorkerError",
    "__version__",
    "make",
    "make_env",
    "make_tch",
    "make_vec",
]
