"""`python -m atari_wrappers`: the package's commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None, program: str = "python -m atari_wrappers") -> int:
    """Run a command, and return its exit status; what cannot be is told in a line."""
    parser = argparse.ArgumentParser(program, description=__doc__)
    commands = parser.add_subparsers(title="commands", required=True, dest="command")
    serve = commands.add_parser("serve", help="serve batches of envs over a socket")
    try:
        from atari_wrappers.remote import command
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    command.add_arguments(serve)
    given = parser.parse_args(arguments)
    try:
        return command.run(given)
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        sys.stderr.write(f"{parser.prog} {given.command}: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
