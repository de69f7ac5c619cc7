"""`python -m rust_trainer train …` does what the program `rust_trainer train …` does."""

import sys

from rust_trainer import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
