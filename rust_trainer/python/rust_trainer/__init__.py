"""The trainer as a Python module: `rust_trainer.main(["train", "--total-steps", "1000000"])`.

It does what the program `rust_trainer` does, in a process where Python already runs, and learns
with the libtorch that `import torch` loads.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence

# Read by OpenMP when torch loads it: see rust_trainer/src/openmp.rs.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import torch  # noqa: F401  (loads the libtorch that the extension module is linked against)

from rust_trainer import _rust_trainer

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run one command of the trainer and return its exit status.

    While it runs, Ctrl-C is the trainer's: it stops at the next safe point and leaves a checkpoint.

    Args:
        arguments: The command line without the program's name, such as `["eval", "runs/name"]`.

    Returns:
        0 on success, 1 on an error (its message is on standard error), 2 for a wrong command line,
        130 after Ctrl-C.
    """
    argv = ["rust_trainer", *arguments]
    if threading.current_thread() is not threading.main_thread():
        return _rust_trainer.main(argv)
    # Python's handler would raise KeyboardInterrupt in the midst of a step of the environment.
    handlers = {
        number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        return _rust_trainer.main(argv)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
