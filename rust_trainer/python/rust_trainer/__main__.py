"""`python -m rust_trainer train …` does what the program `rust_trainer train …` does."""

import atexit
import contextlib
import os
import signal
import sys

from rust_trainer import main

# What a shell expects of a program that a signal ended is this and the signal's number.
_SIGNALLED = 128


def run() -> None:
    """Run the command line of this process, and end it: the command `rust_trainer`."""
    try:
        status = main(sys.argv[1:])
    except ImportError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:  # while libtorch was loaded
        sys.exit(_SIGNALLED + signal.SIGINT)
    if status >= _SIGNALLED:
        _end(status)
    sys.exit(status)


def _end(status: int) -> None:
    """End the process without taking Python down under a thread that was left to itself.

    Such a thread, which makes environments when a signal comes, may be in Python still, and the
    process would be aborted where it goes on.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # Python has no streams where they are closed, and nobody may read them any more.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    run()
