"""What worker processes are started with."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, replace
from multiprocessing import reduction
from typing import Any

import cloudpickle
import gymnasium as gym

from atari_wrappers.backends.workers.memory import BatchMemory
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.request import BatchRequest
from atari_wrappers.settings import Settings


class SharedFd:
    """A file descriptor that goes along to a process as it is started, and to nothing else."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __reduce__(self) -> tuple[Any, ...]:
        """Have `multiprocessing` hand the descriptor on."""
        return _received_fd, (reduction.DupFd(self.fd),)


def _received_fd(carrier: Any) -> SharedFd:
    fd = carrier.detach()
    os.set_inheritable(fd, False)  # a program that an env starts must not keep the pipes open
    return SharedFd(fd)


_UNSET = SharedFd(-1)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker is started with.

    Attributes:
        request: The `BatchRequest`, pickled: what it names may not be found here.
        settings: As they were given, but for what may take `cloudpickle`.
        number: The worker's place among `num_workers`.
        indices: Its envs, of `num_envs`.
        num_buffers: Observation arrays.
        memory: The batch's shared memory.
        commands: Where it reads frames from.
        reports: Where it writes frames to.
        trace: Where tracebacks go when the process crashes, or is asked by SIGUSR1.
    """

    request: bytes
    settings: Settings
    number: int
    num_workers: int
    indices: range
    num_envs: int
    num_buffers: int
    memory: SharedFd
    commands: SharedFd = _UNSET
    reports: SharedFd = _UNSET
    trace: SharedFd = _UNSET

    def map_memory(self, space: gym.Space, action_space: gym.Space) -> BatchMemory:
        """Return the arrays in the shared memory, of envs that have these spaces."""
        fd, players = self.memory.fd, self.settings.num_players
        sizes = self.num_envs, self.num_workers
        return BatchMemory(fd, *sizes, space, action_space, players, self.num_buffers)


def make_plans(request: BatchRequest, num_buffers: int, memory: int) -> list[Plan]:
    """Divide the envs of a batch among workers (0: one per core) as evenly as can be.

    Raises:
        UnsupportedError: What makes the envs cannot be pickled.
    """
    settings, num_envs = request.settings, request.num_envs
    count = min(settings.num_workers or len(os.sched_getaffinity(0)), num_envs)
    bounds = [num_envs * number // count for number in range(count + 1)]
    pickled = _pickled(request)
    return [
        Plan(
            request=pickled,
            settings=replace(settings, env_kwargs=None, wrappers=()),
            number=number,
            num_workers=count,
            indices=range(first, end),
            num_envs=num_envs,
            num_buffers=num_buffers,
            memory=SharedFd(memory),
        )
        for number, (first, end) in enumerate(itertools.pairwise(bounds))
    ]


def _pickled(request: BatchRequest) -> bytes:
    """Return the request for worker processes, functions of the main module included."""
    try:
        return cloudpickle.dumps(request)
    except Exception as error:
        raise UnsupportedError(
            f'backend "async" sends what makes `{request.env_id.name}` to worker processes, and it'
            f' cannot be pickled ({error}); use backend="sync"'
        ) from error
