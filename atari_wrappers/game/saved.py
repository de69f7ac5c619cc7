"""States of games: which game may take another's, and games that are copied and pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from atari_wrappers.plain_data import differences
from atari_wrappers.recipes import Recipe

# Of what a state means; another one is refused.
STATE_VERSION = 1


class HasStates:
    """A game whose states say which game they are of."""

    num_players: int
    recipe: Recipe
    _rom: str

    @property
    def _made_by(self) -> dict[str, Any]:
        """What two games agree in that may take each other's states."""
        recipe = asdict(self.recipe) | {"screen_size": list(self.recipe.screen_size)}
        return {"game": self._rom, "num_players": self.num_players} | recipe

    def _check_maker(self, made_by: Any) -> None:
        """Refuse, by a `ValueError`, the state of a game that was made in another way."""
        differing = differences(made_by, self._made_by)
        if differing:
            raise ValueError(f"this is the state of another game: {differing}")


class SavedAnywhere(HasStates):
    """A game that `copy` and `pickle` make again, with all that its state holds.

    A subclass sets what it is made of, and says whether it has a state yet.
    """

    save_state: Callable[[], bytes]
    _made_of: tuple[Any, ...]
    _on_frame: Callable[[], None] | None

    @property
    def _was_reset(self) -> bool:
        """Whether there was a reset, without which there is no state."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        """Make the game again, and restore its state.

        Raises:
            PicklingError: Its frames are recorded, which two games cannot do to one place.
        """
        if self._on_frame is not None:
            raise pickle.PicklingError(f"{self} cannot be copied: its frames go to a recording")
        state = self.save_state() if self._was_reset else None
        names = ("action_space", "observation_space", "spec", "_np_random_seed")
        kept = {name: getattr(self, name) for name in names}
        return _made_again, (type(self), self._made_of, state, kept)


def _made_again(
    kind: Callable[..., Any], made_of: tuple[Any, ...], state: bytes | None, kept: dict[str, Any]
) -> Any:
    game = kind(*made_of)
    if state is not None:
        game.restore_state(state)
    vars(game).update(kept)  # the spaces with their random numbers
    return game
