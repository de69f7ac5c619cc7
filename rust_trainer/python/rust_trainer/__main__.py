"""`python -m rust_trainer train …` does what the program `rust_trainer train …` does."""

import sys

from rust_trainer import main


def run() -> None:
    """Run the command line of this process, and end it: the command `rust_trainer`."""
    try:
        status = main(sys.argv[1:])
    except ImportError as error:
        sys.exit(f"error: {error}")
    sys.exit(status)


if __name__ == "__main__":
    run()
