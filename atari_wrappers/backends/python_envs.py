"""What the backends that run this package's own single envs have in common: `sync` and `async`.

They differ in where the envs run. How results are read out is decided here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from atari_wrappers.backends.base import Info, Reset, StepResult
from atari_wrappers.backends.results import RESERVED, ResultArrays
from atari_wrappers.backends.ticket import PythonTicket
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.game.two_player_emulator import obstacle_to_two_players
from atari_wrappers.request import BatchRequest
from atari_wrappers.settings import Settings

_ARRAY_SPACES = (
    gym.spaces.Box,
    gym.spaces.Discrete,
    gym.spaces.MultiBinary,
    gym.spaces.MultiDiscrete,
)


class PythonEnvsBackend(ABC):
    """Envs with a row each; a subclass says where they run.

    A subclass sets `rows` and the two spaces, and what an env's info has beyond the record it puts
    into `extras`, by env.
    """

    shows_raw_frames = has_python_envs = takes_reset_options = True
    single_observation_space: gym.Space
    single_action_space: gym.Space
    rows: ResultArrays

    @staticmethod
    def obstacles(request: BatchRequest) -> Iterator[str]:
        """Say what an emulator lacks; Python envs follow every setting."""
        problem = obstacle_to_two_players() if request.settings.num_players == 2 else None
        if problem is not None:
            yield problem

    def __init__(self, num_envs: int, settings: Settings) -> None:
        self.num_envs = num_envs
        self.settings = settings
        self.extras: dict[int, dict[str, Any]] = {}
        self.ticket = PythonTicket(num_envs)
        self._all = list(range(num_envs))

    def reset(self, reset: Reset) -> None:
        """Begin to restart the envs."""
        chosen = self._all if reset.indices is None else list(reset.indices)
        asked = self.begin_reset(chosen, reset.seeds or [None] * len(chosen), reset.options)
        self.ticket.begin("reset", asked, reset.out)

    def send(
        self, actions: np.ndarray, indices: Sequence[int] | None, out: np.ndarray | None
    ) -> None:
        """Begin a step."""
        self.ticket.begin("step", self.begin_step(actions, indices), out)

    def recv(
        self, count: int, out: np.ndarray | None, timeout: float | None, *, every: bool = False
    ) -> StepResult:
        """Wait for envs and read their results out."""
        self.wait(count, timeout)
        out = self.ticket.out if out is None else out
        begun = self.ticket.receive(count)
        indices = None if every else begun
        obs = self.observations(indices, out)
        result = self.rows.collect(indices, obs, begun if every else None)
        if self.extras:
            self._add_extras(result[4], range(self.num_envs) if indices is None else indices)
        return result

    def frames(self, indices: Sequence[int]) -> list[np.ndarray]:
        """Let each env draw itself."""
        return self.call(indices, "render", (), {})

    def load(self, indices: Sequence[int], states: Sequence[bytes]) -> StepResult:
        """Bring envs into saved states: all of them, or none where one does not fit."""
        self.check_states(indices, states)
        self.load_states(indices, states)
        return self.rows.collect(None, self.observations(None, None), ())

    @abstractmethod
    def begin_reset(
        self, indices: Sequence[int], seeds: Sequence[int | None], options: dict[str, Any]
    ) -> dict[int, Any]:
        """Begin to restart the envs; return what each is asked.

        Raises:
            UnsupportedError: The options cannot be sent; nothing was begun.
        """

    @abstractmethod
    def begin_step(self, actions: np.ndarray, indices: Sequence[int] | None) -> dict[int, Any]:
        """Begin a step of the envs (`None`: all); return what each is asked."""

    @abstractmethod
    def wait(self, count: int, timeout: float | None) -> None:
        """Have `count` envs ready."""

    @abstractmethod
    def observations(self, indices: Sequence[int] | None, out: np.ndarray | None) -> np.ndarray:
        """Return what envs (`None`: all) observed last, in `out` if that is given."""

    @abstractmethod
    def call(self, indices: Sequence[int], name: str, args: tuple, kwargs: dict) -> list[Any]:
        """Return, for each env, its attribute `name`, called if that is a method."""

    @abstractmethod
    def check_states(self, indices: Sequence[int], states: Sequence[bytes]) -> None:
        """Refuse states that are not of these envs, and change nothing."""

    @abstractmethod
    def load_states(self, indices: Sequence[int], states: Sequence[bytes]) -> None:
        """Bring envs, and their rows, into saved states; what was lent stays as it is."""

    def _add_extras(self, info: Info, indices: Sequence[int]) -> None:
        """Add what envs said beyond the record, as gymnasium's vector envs do, with masks."""
        merger: VectorEnv = VectorEnv()
        merger.num_envs = len(indices)
        merged: Info = {}
        for place, index in enumerate(indices):
            extras = self.extras.pop(index, None)
            if extras is not None:
                merged = merger._add_info(merged, extras, place)
        if "final_info" in merged and "final_info" in info:
            info["final_info"] |= merged.pop("final_info")
            merged.pop("_final_info")
        for name, value in merged.items():
            if name not in info and name.removeprefix("_") not in RESERVED:
                info[name] = value

    def expect_same_spaces(
        self, request: BatchRequest, index: int, space: gym.Space, action_space: gym.Space
    ) -> None:
        """Refuse an env whose spaces are not those of the first, as the function does."""
        first = self.single_observation_space, self.single_action_space
        expect_same_spaces(request, index, (space, action_space), first)

    def expect_arrays(self, env_name: str) -> None:
        """Refuse observations and actions that are no arrays.

        Raises:
            UnsupportedError: They are none.
        """
        for what, space, wrapper in (
            ("observes", self.single_observation_space, "FlattenObservation"),
            ("takes", self.single_action_space, "TransformAction"),
        ):
            if not isinstance(space, _ARRAY_SPACES):
                raise UnsupportedError(
                    f"`{env_name}` {what} {space}, which is no array;"
                    f" wrappers=[...] with gymnasium.wrappers.{wrapper} can make it one"
                )


def expect_same_spaces(
    request: BatchRequest,
    index: int,
    spaces: tuple[gym.Space, gym.Space],
    first: tuple[gym.Space, gym.Space],
) -> None:
    """Refuse an env whose spaces, of observations and of actions, are not those of the first.

    Raises:
        UnsupportedError: They are others.
    """
    for what, own, theirs in zip(("observes", "takes"), spaces, first, strict=True):
        if own != theirs:
            hint = "; full_action_space=True makes the actions of Atari games the same"
            raise UnsupportedError(
                f"env {index}, `{request.of(index).env_id.name}`, {what} {own}, and env 0,"
                f" `{request.env_id.name}`, {theirs}: the spaces of a batch must be the same"
                + (hint if what == "takes" and request.recipe else "")
            )
