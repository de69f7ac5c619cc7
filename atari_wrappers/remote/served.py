"""One client's batch on a server: requests become calls of a `VecEnv`, its results replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from atari_wrappers.backends import choose_backend
from atari_wrappers.checks import dtype_of
from atari_wrappers.errors import NoPendingStepError, WorkerError
from atari_wrappers.remote.asked import asked_batch
from atari_wrappers.remote.batches_pb2 import (
    Done,
    Drop,
    Hello,
    Pictures,
    Reply,
    Request,
    Reset,
    Restart,
    Restarted,
    Restore,
    Result,
    Save,
    States,
    Step,
    Wait,
    Welcome,
)
from atari_wrappers.remote.clients import StreamClient
from atari_wrappers.remote.values import from_dict, to_array, to_dict, to_space
from atari_wrappers.request import BatchRequest
from atari_wrappers.types import StepResult
from atari_wrappers.vector.env import VecEnv

# The tag of `Reply.observations`: field 15, of bytes.
_OBSERVATIONS = bytes([15 << 3 | 2])


class ServedVecEnv(VecEnv):
    """A batch whose resets and restores give whole results, too, as a client's batch needs them."""

    last: StepResult

    def _note(self, result: StepResult) -> None:
        super()._note(result)
        self.last = result

    def wait(self, count: int, timeout: float | None = None, *, every: bool) -> StepResult:
        """Wait for `count` of the envs in flight; with `every`, a row for each env of the batch."""
        with self._access:
            in_flight = self._backend.ticket.count
            if not 0 < count <= in_flight:
                raise NoPendingStepError(f"wait: {in_flight} envs are in flight, not {count}")
            return self._receive(count, None, timeout, every=every)

    @property
    def takes_reset_options(self) -> bool:
        """Whether `reset` hands options to the envs."""
        return self._backend.takes_reset_options


class Served(StreamClient):
    """What one client has: a batch, once it has said hello.

    Args:
        request: The batch that each client gets, or a part of its envs.
        log: Told, in a line, what of infos cannot be sent.
        most_seconds: How long it may be kept when its connection is lost.
    """

    def __init__(
        self, request: BatchRequest, log: Callable[[str], None], most_seconds: float
    ) -> None:
        super().__init__(most_seconds)
        self._request, self._log = request, log
        self._batch: ServedVecEnv | None = None
        self._told: set[str] = set()

    @property
    def has(self) -> str:
        return "" if self._batch is None else f"{self._batch.num_envs} envs"

    @property
    def is_over(self) -> bool:
        return self._batch is not None and self._batch.closed

    def close(self) -> None:
        if self._batch is not None:
            self._batch.close()

    def reply_to(self, request: Request, call: str) -> bytes | None:
        if self._batch is None or call not in _METHODS:
            raise ValueError(f"{call}: this server has environments")
        answer = _METHODS[call](self, self._batch, getattr(request, call))
        if answer is None:
            return None
        if isinstance(answer, tuple):
            return self._result(request.id, answer)
        return Reply(id=request.id, **{_ANSWERS[type(answer)]: answer}).SerializeToString()

    def welcome(self, hello: Hello) -> Welcome:
        request = asked_batch(self._request, hello.num_envs, from_dict(hello.settings))
        batch = self._batch = ServedVecEnv(request, choose_backend(request))
        metadata = {
            name: value for name, value in batch.metadata.items() if name != "autoreset_mode"
        }
        return Welcome(
            env_name=",".join(dict.fromkeys(env.env_id.name for env in request.envs)),
            num_envs=batch.num_envs,
            batch_size=batch.batch_size,
            num_players=batch.settings.num_players,
            backend=batch.backend,
            autoreset=str(batch.settings.autoreset),
            observation_space=to_space(batch.single_observation_space),
            action_space=to_space(batch.single_action_space),
            recipe=None if batch.recipe is None else to_dict(asdict(batch.recipe)),
            clip_actions=batch.settings.clip_actions,
            takes_reset_options=batch.takes_reset_options,
            metadata=to_dict(metadata, self._leave_out),
            draws=batch.render_mode is not None,
        )

    def _reset(self, batch: ServedVecEnv, call: Reset) -> StepResult | None:
        ids, num_envs = list(call.env_ids), batch.num_envs
        chosen = _checked_ids(ids, num_envs) or list(range(num_envs))
        mask = None if not ids else np.isin(np.arange(num_envs), chosen)
        seeds: list[int | None] = [None] * num_envs
        if call.seeds:
            if len(call.seeds) != len(chosen):
                raise ValueError(f"{len(call.seeds)} seeds for {len(chosen)} envs")
            for index, seed in zip(chosen, call.seeds, strict=True):
                seeds[index] = None if seed == -1 else seed
        batch.reset_async(seeds, from_dict(call.options), mask)
        return batch.wait(batch.num_in_flight, every=True) if call.wait else None

    def _step(self, batch: ServedVecEnv, call: Step) -> StepResult | None:
        space, ids = batch.single_action_space, list(call.env_ids)
        is_whole = batch.batch_size == batch.num_envs
        if not ids and not is_whole:
            ids = list(range(batch.num_envs))
        count = len(ids) or batch.num_envs
        actions = np.frombuffer(call.actions, dtype_of(space))
        actions = actions.reshape(count, *(space.shape or ()))
        batch.send(actions, ids or None)
        return batch.wait(batch.num_in_flight, every=False) if call.wait else None

    def _wait(self, batch: ServedVecEnv, call: Wait) -> StepResult:
        timeout = call.timeout_seconds if call.HasField("timeout_seconds") else None
        return batch.wait(call.count, timeout, every=call.every)

    def _drop(self, batch: ServedVecEnv, call: Drop) -> Done:
        del call
        try:
            batch.drop_pending()
        except WorkerError:
            batch.restart_workers()
            batch.drop_pending()
        return Done()

    def _restart(self, batch: ServedVecEnv, call: Restart) -> Restarted:
        ids = _checked_ids(list(call.env_ids), batch.num_envs)
        return Restarted(env_ids=batch.restart_workers(ids or None))

    def _save(self, batch: ServedVecEnv, call: Save) -> States:
        return States(states=batch.save_state(list(call.env_ids), plain=True))

    def _restore(self, batch: ServedVecEnv, call: Restore) -> StepResult:
        batch.restore_state(list(call.states), list(call.env_ids), plain=True)
        return batch.last

    def _draw(self, batch: ServedVecEnv, call: Any) -> Pictures:
        chosen = _checked_ids(list(call.env_ids), batch.num_envs)
        return Pictures(pictures=[to_array(batch.render_at(index)) for index in chosen])

    def _result(self, number: int, result: StepResult) -> bytes:
        """Return a reply with a step's result; observations are appended to the message."""
        obs, reward, terminated, truncated, info = result
        values: dict[str, Any] = dict(info)
        final = values.pop("final_obs", None)
        message = Result(
            reward=to_array(reward),
            terminated=to_array(terminated),
            truncated=to_array(truncated),
            info=to_dict(values, self._leave_out),
            final_rows=b"" if final is None else final[values["_final_obs"]].tobytes(),
        )
        head = Reply(id=number, result=message).SerializeToString()
        return b"".join((head, _OBSERVATIONS, _varint(obs.nbytes), np.ascontiguousarray(obs).data))

    def _leave_out(self, name: str, reason: str) -> None:
        if name not in self._told:
            self._told.add(name)
            self._log(f"`{name}` of infos is not sent: {reason}")


_METHODS: dict[str, Callable[[Served, ServedVecEnv, Any], Any]] = {
    "reset": Served._reset,
    "step": Served._step,
    "wait": Served._wait,
    "drop": Served._drop,
    "restart": Served._restart,
    "save": Served._save,
    "restore": Served._restore,
    "draw": Served._draw,
}
_ANSWERS = {Done: "done", Restarted: "restarted", States: "states", Pictures: "pictures"}


def _checked_ids(ids: Sequence[int], num_envs: int) -> Sequence[int]:
    """Return envs of the batch that a request names, none twice."""
    if any(index >= num_envs for index in ids) or len(set(ids)) < len(ids):
        raise ValueError(f"envs must be of 0 to {num_envs - 1}, none twice, not {list(ids[:9])}")
    return ids


def _varint(number: int) -> bytes:
    """Return a length as Protobuf writes it: seven bits a byte, the lowest first."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)
