"""The trainer as a Python module: `rust_trainer.main(["train", "--total-steps", "1000000"])`.

It does what the program `rust_trainer` does, in a process where Python already runs, and learns
with the libtorch that `import torch` loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

__version__ = "0.1.0"
__all__ = ["main"]

# The extension module is compiled for the libtorch of this version, and finds it in the process.
_TORCH = "2.11"


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
        ImportError: torch is not installed, or torch or atari_wrappers is of another version than
            this needs.
    """
    _check("atari-wrappers", __version__, f"atari-wrappers=={__version__}")
    _check("torch", _TORCH, f"torch=={_TORCH}.*")
    import torch  # noqa: F401  (loads the libtorch that the extension module is linked against)

    from rust_trainer import _rust_trainer

    return _rust_trainer.main(["rust_trainer", *arguments])


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
