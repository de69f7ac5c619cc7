"""The trainer as a Python module: `rust_trainer.main(["train", "--total-steps", "1000000"])`.

It does what the program `rust_trainer` does, in a process where Python already runs, and learns
with the libtorch that `import torch` loads.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch  # noqa: F401  (loads the libtorch that the extension module is linked against)

from rust_trainer import _rust_trainer

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run one command of the trainer and return its exit status.

    While it runs, Ctrl-C, SIGTERM and SIGHUP are the trainer's: it stops at the next safe point and
    leaves a checkpoint. Afterwards they are handled as before.

    Args:
        arguments: The command line without the program's name, such as `["eval", "runs/name"]`.

    Returns:
        0 on success, 1 on an error (its message is on standard error), 2 for a wrong command line,
        130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    """
    return _rust_trainer.main(["rust_trainer", *arguments])
