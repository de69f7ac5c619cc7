"""`RemoteBackend`: envs of a batch on a server, behind the calls that every backend has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from atari_wrappers.backends.base import Backend, Indices, Info, Out, Seeds, StepResult, Ticket
from atari_wrappers.backends.results import ObsArrays
from atari_wrappers.checks import dtype_of
from atari_wrappers.errors import ServerError, StepTimeoutError, UnsupportedError, WorkerError
from atari_wrappers.remote.batches_pb2 import (
    Draw,
    Drop,
    Reply,
    Reset,
    Restart,
    Restore,
    Save,
    Step,
    Wait,
    Welcome,
)
from atari_wrappers.remote.session import Session, env_ids
from atari_wrappers.remote.values import from_array, from_dict, from_space, to_dict
from atari_wrappers.request import BatchRequest


@dataclass(frozen=True, slots=True)
class RemoteRequest(BatchRequest):
    """A batch that a server has made.

    Attributes:
        session: The call that it lives as long as.
        welcome: What the server says of it.
    """

    session: Session
    welcome: Welcome


class RemoteBackend(Backend):
    """A batch of a server's.

    A step of all envs is one request and one reply. Parts of a batch are sent without a reply, and
    asked for when they are received.
    """

    name = "remote"
    runs_in_process = shows_raw_frames = has_python_envs = shares_python_envs = False
    takes_reset_options = True  # or not, as the server's backend
    own_settings: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def obstacles(request: BatchRequest) -> Iterator[str]:
        """Say that it cannot be asked for by its name."""
        del request
        yield "it is made by a server: RemoteVecEnv(address)"

    def __init__(self, request: BatchRequest) -> None:
        if not isinstance(request, RemoteRequest):
            raise TypeError("a remote batch is made by a server: RemoteVecEnv(address)")
        self._session, welcome = request.session, request.welcome
        # Of the server's backend, where other backends have it of their class.
        self.takes_reset_options = welcome.takes_reset_options  # type: ignore[misc]
        self.single_observation_space = from_space(welcome.observation_space)
        self.single_action_space = from_space(welcome.action_space)
        self._row_shape = self.single_observation_space.shape or ()
        self._dtype = dtype_of(self.single_observation_space)
        self._num_envs = request.num_envs
        self._is_whole = welcome.batch_size == request.num_envs
        self._obs_arrays = ObsArrays(
            request.settings.obs_buffers, welcome.batch_size, self.single_observation_space
        )
        self._ticket = Ticket(request.num_envs)
        self._failed: set[int] = set()
        self._awaited: int | None = None  # the request whose result is on its way

    @property
    def ticket(self) -> Ticket:
        """What is in flight."""
        return self._ticket

    @property
    def failed(self) -> Collection[int]:
        """Envs that wait for `restart`."""
        return self._failed

    def reset(self, indices: Indices, seeds: Seeds | None, options: Info, out: Out) -> None:
        chosen = range(self._num_envs) if indices is None else indices
        numbers = [-1 if seed is None else seed for seed in seeds or ()]
        try:
            sent = to_dict(options)
        except TypeError as error:  # nothing was begun, and the batch stays open
            raise UnsupportedError(f"reset options cannot be sent to a server: {error}") from error
        request = Reset(env_ids=env_ids(indices), seeds=numbers, options=sent, wait=self._is_whole)
        number = self._session.ask(reset=request)
        self._awaited = number if self._is_whole else None
        self._ticket.begin("reset", dict.fromkeys(chosen), out)

    def send(self, actions: np.ndarray, indices: Indices, out: Out) -> None:
        wait = self._is_whole and indices is None
        chosen = range(self._num_envs) if indices is None else indices
        request = Step(actions=actions.tobytes(), env_ids=env_ids(indices), wait=wait)
        number = self._session.ask(step=request)
        self._awaited = number if wait else None
        self._ticket.begin("step", dict.fromkeys(chosen), out)

    def recv(
        self, count: int, out: Out, timeout: float | None, *, every: bool = False
    ) -> StepResult:
        ticket = self._ticket
        out = ticket.out if out is None else out
        server_gives_up = self._awaited is None  # so that other results may be asked for then
        if self._awaited is None:
            asked = Wait(count=count, every=every, timeout_seconds=timeout)
            self._awaited = self._session.ask(wait=asked)
        try:
            reply = self._session.answer(self._awaited, None if server_gives_up else timeout)
        except StepTimeoutError:
            self._awaited = None if server_gives_up else self._awaited
            raise
        except WorkerError as error:  # once they are restarted, the rest is asked for again
            self._failed.update(error.env_indices)
            self._awaited = None
            raise
        self._awaited = None
        result = self._result(reply, out)
        ticket.ready = result[4]["env_id"].tolist()
        ticket.receive(count)
        return result

    def _result(self, reply: Reply, out: Out) -> StepResult:
        """Return what a reply says.

        Raises:
            ServerError: It says what cannot be.
        """
        result = reply.result
        try:
            info = from_dict(result.info)
            rows = len(info["env_id"])
            received = np.frombuffer(reply.observations, self._dtype)
            received = received.reshape(rows, *self._row_shape)
            if result.final_rows:
                ended = info["_final_obs"]
                final = np.empty(received.shape, self._dtype)
                final_rows = np.frombuffer(result.final_rows, self._dtype)
                final[ended] = final_rows.reshape(-1, *self._row_shape)
                info["final_obs"] = final
            flags = from_array(result.terminated), from_array(result.truncated)
            reward = from_array(result.reward)
            if not rows == len(reward) == len(flags[0]) == len(flags[1]):
                raise ValueError(f"rows of {rows} and of {len(reward)} envs")
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ServerError(
                f"the server at {self._session.address} sent a result that is none: {error}"
            ) from error
        obs = self._obs_arrays.take(rows, out)
        np.copyto(obs, received)
        return obs, reward, *flags, info

    def restart(self, indices: Indices) -> list[int]:
        request = Restart(env_ids=env_ids(indices))
        reply = self._session.answer(self._session.ask(restart=request))
        restarted = list(reply.restarted.env_ids)
        self._failed.difference_update(restarted)
        return restarted

    def recover(self) -> None:
        """Have the server wait for what is in flight, and drop its results."""
        self._session.forget()
        self._session.answer(self._session.ask(drop=Drop()))
        self._awaited = None
        self._failed.clear()
        self._ticket.clear()

    def frames(self, indices: Sequence[int]) -> list[np.ndarray]:
        reply = self._session.answer(self._session.ask(draw=Draw(env_ids=indices)))
        return [from_array(picture) for picture in reply.pictures.pictures]

    def save(self, indices: Sequence[int]) -> list[bytes]:
        reply = self._session.answer(self._session.ask(save=Save(env_ids=indices)))
        return list(reply.states.states)

    def load(self, indices: Sequence[int], states: Sequence[bytes]) -> StepResult:
        request = Restore(env_ids=indices, states=states)
        return self._result(self._session.answer(self._session.ask(restore=request)), None)

    def call(
        self, indices: Sequence[int], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> NoReturn:
        """Refuse: a server lets nobody into its process."""
        del indices, args, kwargs
        raise self._unreachable(f'call("{name}")')

    def set_attr(self, indices: Sequence[int], name: str, values: Sequence[Any]) -> NoReturn:
        """Refuse, as `call` does."""
        del indices, values
        raise self._unreachable(f'set_attr("{name}")')

    def sub_environments(self, access: AbstractContextManager[None]) -> NoReturn:
        """Refuse, as `call` does."""
        del access
        raise self._unreachable("get_sub_environments")

    def _unreachable(self, call: str) -> UnsupportedError:
        return UnsupportedError(f"{call}: the envs are those of the server {self._session.address}")

    def after_fork(self) -> bool:
        """Leave the call to the parent: gRPC's threads are not in a child."""
        self._session.abandon()
        return True

    def close(self, *, terminate: bool) -> None:
        """End the call; the server closes the batch."""
        del terminate
        self._session.close()
