"""What the trainer refuses and what fails in it: exceptions with the program's sentences."""

from __future__ import annotations


class TrainerError(RuntimeError):
    """A run that failed: its environments, a full disk, a loss that is no number.

    Attributes:
        details: More for whoever looks for the cause, such as an environment's own traceback.
    """

    details: str | None = None


class UsageError(TrainerError, ValueError):
    """Something that was asked for and cannot be: a setting out of its range, an unknown name."""
