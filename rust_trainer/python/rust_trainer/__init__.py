"""The trainer in Python: train and evaluate as the program does, and load what it has learned.

`train`, `evaluate` and `main` need the compiled module, and with it PyTorch's libtorch.
`load_policy`, `export_onnx`, `import_policy` and `make_hub_folder` are Python alone: they read
checkpoints wherever PyTorch runs.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, version
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rust_trainer.api import Evaluation, TrainResult, Update, evaluate, train
    from rust_trainer.checkpoints import CheckpointError
    from rust_trainer.errors import TrainerError, UsageError
    from rust_trainer.hub import make_hub_folder
    from rust_trainer.importing import import_policy
    from rust_trainer.onnx_export import export_onnx
    from rust_trainer.policies import load_policy
    from rust_trainer.policy import Policy
    from rust_trainer.settings import Settings

__version__ = "0.1.0"
__all__ = [
    "CheckpointError",
    "Evaluation",
    "Policy",
    "Settings",
    "TrainResult",
    "TrainerError",
    "Update",
    "UsageError",
    "evaluate",
    "export_onnx",
    "import_policy",
    "load_policy",
    "main",
    "make_hub_folder",
    "train",
]

# The extension module is compiled for the libtorch of this version, and finds it in the process.
_TORCH = "2.11"

# Where names are that are imported when they are first used: PyTorch takes seconds.
_MODULES = {
    "CheckpointError": "checkpoints",
    "Evaluation": "api",
    "Policy": "policy",
    "Settings": "settings",
    "TrainResult": "api",
    "TrainerError": "errors",
    "Update": "api",
    "UsageError": "errors",
    "evaluate": "api",
    "export_onnx": "onnx_export",
    "import_policy": "importing",
    "load_policy": "policies",
    "make_hub_folder": "hub",
    "train": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


def main(arguments: Sequence[str]) -> int:
    """Run one command of the trainer and return its exit status.

    While it runs, Ctrl-C, SIGTERM and SIGHUP are the trainer's: it stops at the next safe point and
    leaves a checkpoint. Afterwards they are handled as before.

    Args:
        arguments: The command line without the program's name, such as `["eval", "runs/name"]`.

    Returns:
        0 on success, 1 on an error (its message is on standard error), 2 for a wrong command line,
        130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.

    Raises:
        ImportError: The compiled module or torch is not installed, or torch or atari_wrappers is of
            another version than this needs.
    """
    status: int = _extension().main(["rust_trainer", *arguments])
    return status


def _extension() -> ModuleType:
    """Load the compiled module, and before it the libtorch that it is linked against."""
    _check("atari-wrappers", __version__, f"atari-wrappers=={__version__}")
    _check("torch", _TORCH, f"torch=={_TORCH}.*")
    _load_libtorch()
    try:
        from rust_trainer import _rust_trainer
    except ImportError as error:
        raise ImportError(
            "the compiled module of rust_trainer cannot be loaded (checkpoints can nevertheless, by"
            f" load_policy): pip install atari-trainer, or ./scripts/setup: {error}"
        ) from error
    return _rust_trainer


def _load_libtorch() -> None:
    """Load torch's libtorch by itself, in a fraction of the time that importing torch takes.

    Where GPUs have a driver torch is imported: it finds CUDA's libraries wherever they are.
    """
    if "torch" in sys.modules:
        return
    libtorch = distribution("torch").locate_file("torch/lib/libtorch.so")
    if _loads("libcuda.so.1") or not _loads(str(libtorch)):
        import torch  # noqa: F401


def _loads(library: str) -> bool:
    """Load a shared library into this process, if it is there."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _check(name: str, needed: str, requirement: str) -> None:
    """Raise an error in one line where a package is missing, or of another version."""
    try:
        found = version(name)
    except PackageNotFoundError:
        found = "none"
    if found != needed and not found.startswith(f"{needed}."):
        raise ImportError(
            f"rust_trainer {__version__} needs {name} {needed}, and {found} is installed:"
            f" pip install '{requirement}'"
        )
