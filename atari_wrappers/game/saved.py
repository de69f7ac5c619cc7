"""Games that are copied and pickled: made anew elsewhere, and brought to their state."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any


class SavedAnywhere:
    """A game that `copy` and `pickle` make again, with all that its state holds.

    A subclass sets what it is made of, and says whether it has a state yet.
    """

    save_state: Callable[[], bytes]
    _made_of: tuple[Any, ...]
    _on_frame: Callable[[], None] | None
    _was_reset: bool

    def __reduce__(self) -> tuple[Any, ...]:
        """Make the game anew, and restore it.

        Raises:
            PicklingError: Its frames are recorded, which two games cannot do to one place.
        """
        if self._on_frame is not None:
            raise pickle.PicklingError(f"{self} cannot be copied: its frames go to a recording")
        state = self.save_state() if self._was_reset else None
        spaces = {name: getattr(self, name) for name in ("action_space", "observation_space")}
        return _made_again, (type(self), self._made_of, state, spaces)


def _made_again(
    kind: Callable[..., Any], made_of: tuple[Any, ...], state: bytes | None, spaces: dict[str, Any]
) -> Any:
    game = kind(*made_of)
    if state is not None:
        game.restore_state(state)
    vars(game).update(spaces)  # with their random numbers
    return game
