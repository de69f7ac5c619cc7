"""What the backends that run this package's own single envs have in common: `sync` and `async`.

They differ in where the envs run. What is asked of an env beside its steps goes by one way, `ask`,
and how results are read out is decided here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from atari_wrappers.backends.base import Backend, Indices, Info, Out, Seeds, StepResult, Ticket
from atari_wrappers.backends.extras import gathered
from atari_wrappers.backends.restarts import Restarts
from atari_wrappers.backends.results import RESERVED, ResultArrays
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.opencv import problem_of_opencv
from atari_wrappers.request import BatchRequest
from atari_wrappers.two_players import obstacle_to_two_players

_ARRAY_SPACES = (
    gym.spaces.Box,
    gym.spaces.Discrete,
    gym.spaces.MultiBinary,
    gym.spaces.MultiDiscrete,
)


class PythonEnvsBackend(Backend):
    """Envs with a row each; a subclass says where they run.

    A subclass sets `rows`, and what an env's info has beyond the record it puts into `extras`, by
    env.
    """

    shows_raw_frames = has_python_envs = takes_reset_options = True
    rows: ResultArrays
    single_observation_space: gym.Space[Any]
    single_action_space: gym.Space[Any]

    @staticmethod
    def obstacles(request: BatchRequest) -> Iterator[str]:
        """Say what is not installed; Python envs follow every setting."""
        recipe, problems = request.recipe, []
        if request.settings.num_players == 2:
            problems.append(obstacle_to_two_players())
        if recipe is not None and recipe.obs_type == "screen":
            problems.append(problem_of_opencv())
        yield from filter(None, problems)

    def __init__(self, request: BatchRequest) -> None:
        self.request: BatchRequest = request
        self.num_envs: int = request.num_envs
        self.extras: dict[int, dict[str, Any]] = {}
        self._ticket = Ticket(self.num_envs)
        self.restarts: Restarts = Restarts(self.num_envs, request.settings)
        self._all = list(range(self.num_envs))

    @property
    def buffer(self) -> int:
        """Which array of observations the envs write to."""
        return 0

    @property
    def ticket(self) -> Ticket:
        return self._ticket

    @property
    def failed(self) -> Collection[int]:
        return self.restarts.failed

    def reset(self, indices: Indices, seeds: Seeds | None, options: Info, out: Out) -> None:
        chosen = self._all if indices is None else indices
        asked = self.begin_reset(chosen, seeds or [None] * len(chosen), options)
        self.ticket.begin("reset", asked, out)

    def send(self, actions: np.ndarray, indices: Indices, out: Out) -> None:
        self.ticket.begin("step", self.begin_step(actions, indices), out)

    def recv(
        self, count: int, out: Out, timeout: float | None, *, every: bool = False
    ) -> StepResult:
        self.wait(count, timeout)
        out = self.ticket.out if out is None else out
        begun = self.ticket.receive(count)
        indices = None if every else begun
        obs = self.observations(indices, out)
        result = obs, *self.rows.collect(indices, begun if every else None)
        if self.extras:
            self._add_extras(result[4], range(self.num_envs) if indices is None else indices)
        return result

    def frames(self, indices: Sequence[int]) -> list[np.ndarray]:
        """Let each env draw itself."""
        return self.call(indices, "render", (), {})

    def call(
        self, indices: Sequence[int], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        calls = dict.fromkeys(indices, (name, args, kwargs))
        return self.ask("call", f"a call of `{name}`", calls, f"arguments of `{name}`")

    def set_attr(self, indices: Sequence[int], name: str, values: Sequence[Any]) -> None:
        pairs = {index: (name, value) for index, value in zip(indices, values, strict=True)}
        self.ask("set_attr", f"setting `{name}`", pairs, f"a value of `{name}`")

    def save(self, indices: Sequence[int]) -> list[bytes]:
        return self.ask("save", "saving its state", dict.fromkeys(indices, (self.buffer,)))

    def load(self, indices: Sequence[int], states: Sequence[bytes]) -> StepResult:
        pairs = list(zip(indices, states, strict=True))
        self.ask("check_state", "checking a state", {index: (state,) for index, state in pairs})
        self.keep_lent(indices)
        given = {index: (state, self.buffer) for index, state in pairs}
        self.ask("load", "restoring a state", given)
        return self.observations(None, None), *self.rows.collect(None, ())

    def keep_lent(self, indices: Sequence[int]) -> None:
        """Leave alone what was lent of the envs that are to change, where anything was."""

    @abstractmethod
    def begin_reset(self, indices: Sequence[int], seeds: Seeds, options: Info) -> dict[int, Any]:
        """Begin to restart the envs, or nothing by an error; return what each is asked."""

    @abstractmethod
    def begin_step(self, actions: np.ndarray, indices: Indices) -> dict[int, Any]:
        """Begin a step of the envs (`None`: all); return what each is asked."""

    @abstractmethod
    def wait(self, count: int, timeout: float | None) -> None:
        """Have `count` envs ready."""

    @abstractmethod
    def observations(self, indices: Indices, out: Out) -> np.ndarray:
        """Return what envs (`None`: all) observed last, in `out` if that is given."""

    @abstractmethod
    def ask(
        self, method: str, doing: str, requests: dict[int, tuple[Any, ...]], sent: str = "a state"
    ) -> list[Any]:
        """Return what a method of each env's `EnvRunner` does.

        Args:
            method: Its name.
            doing: What the env does meanwhile, for messages.
            requests: By env, the arguments.
            sent: What messages call these.
        """

    def _add_extras(self, info: Info, indices: Sequence[int]) -> None:
        """Add what envs said beyond the record, as gymnasium's vector envs do, with masks."""
        places = [place for place, index in enumerate(indices) if index in self.extras]
        said = {place: self.extras.pop(indices[place]) for place in places}
        merged = gathered(said, len(indices))
        if "final_info" in merged and "final_info" in info:
            info["final_info"] |= merged.pop("final_info")
            merged.pop("_final_info")
        for name, value in merged.items():
            if name not in info and str(name).removeprefix("_") not in RESERVED:
                info[name] = value

    def _take_spaces(self, spaces: dict[int, tuple[gym.Space[Any], gym.Space[Any]]]) -> None:
        """Take the first env's spaces, of observations and actions, as those of all.

        Refused is what is no array, and an env whose spaces are others, if it is not left out.
        """
        self.single_observation_space, self.single_action_space = spaces[0]
        wrappers = ("FlattenObservation", "TransformAction")
        for what, space, wrapper in zip(("observes", "takes"), spaces[0], wrappers, strict=True):
            if not isinstance(space, _ARRAY_SPACES):
                raise UnsupportedError(
                    f"`{self.request.env_id.name}` {what} {space}, which is no array;"
                    f" wrappers=[...] with gymnasium.wrappers.{wrapper} can make it one"
                )
        for index in sorted(spaces):
            expect_same_spaces(self.request, index, spaces[index], spaces[0])


def expect_same_spaces(
    request: BatchRequest,
    index: int,
    spaces: tuple[gym.Space[Any], gym.Space[Any]],
    first: tuple[gym.Space[Any], gym.Space[Any]],
) -> None:
    """Refuse an env whose spaces, of observations and of actions, are not those of the first."""
    for what, own, theirs in zip(("observes", "takes"), spaces, first, strict=True):
        if own != theirs:
            hint = "; full_action_space=True makes the actions of Atari games the same"
            raise UnsupportedError(
                f"env {index}, `{request.of(index).env_id.name}`, {what} {own}, and env 0,"
                f" `{request.env_id.name}`, {theirs}: the spaces of a batch must be the same"
                + (hint if what == "takes" and request.recipe else "")
            )
