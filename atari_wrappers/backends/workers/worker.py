"""What runs in a worker process: a block of envs, served until the host is gone."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import reduction
from typing import Any

import cv2
import gymnasium as gym
import numpy as np

from atari_wrappers.backends.env_runner import EnvRunner, get_or_call
from atari_wrappers.backends.workers.memory import BatchMemory
from atari_wrappers.backends.workers.messages import (
    DONE,
    Failure,
    Frame,
    Kind,
    frame,
    read_frame,
    write_all,
)
from atari_wrappers.request import BatchRequest
from atari_wrappers.settings import Settings
from atari_wrappers.single_env import build_env

# Seconds that a worker whose host is gone has to come out of an env, and to close its envs.
ORPHAN_SECONDS = 5.0


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


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker is started with.

    Attributes:
        request: The `BatchRequest`, pickled: what it names may not be found here.
        settings: As they were given.
        number: The worker's place among `num_workers`.
        indices: Its envs, of `num_envs`.
        num_buffers: Observation arrays.
        commands: Where it reads frames from.
        reports: Where it writes frames to.
        memory: The batch's shared memory.
        trace: Where tracebacks go when the process crashes, or is asked by SIGUSR1.
    """

    request: bytes
    settings: Settings
    number: int
    num_workers: int
    indices: range
    num_envs: int
    num_buffers: int
    commands: SharedFd
    reports: SharedFd
    memory: SharedFd
    trace: SharedFd


def run(plan: Plan) -> None:
    """Run a worker; the process ends with it."""
    # The terminal sends Ctrl-C to workers as well. The host decides when they end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    faulthandler.enable(plan.trace.fd, all_threads=False)
    faulthandler.register(signal.SIGUSR1, plan.trace.fd, all_threads=False)
    cv2.setNumThreads(1)
    threading.Thread(target=_end_with_host, args=(plan.commands.fd,), daemon=True).start()
    worker = Worker(plan)
    with contextlib.suppress(EOFError, BrokenPipeError):  # how the end of the host shows
        worker.serve()
    worker.close()


def _end_with_host(commands: int) -> None:
    """End this process when the host is gone, even out of an env that never returns."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})  # asks what the envs' thread does
    watch = select.poll()
    watch.register(commands, 0)  # its hang-up only
    watch.poll()
    time.sleep(ORPHAN_SECONDS)
    os._exit(1)


class Worker:
    """A block of envs and the pipes to the host.

    Args:
        plan: What it was started with.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._indices = plan.indices
        self._envs: dict[int, gym.Env] = {}
        self._runners: dict[int, EnvRunner] = {}
        self._handlers: dict[int, Callable[[Frame], None]] = {
            Kind.ATTACH: self._attach,
            Kind.STEP: self._step_all,
            Kind.STEP_EACH: self._step_each,
            Kind.RESET: self._reset,
            Kind.REPLACE: self._replace,
            Kind.ASK: self._ask,
        }

    def serve(self) -> None:
        """Make the envs, then do what the host says.

        Raises:
            EOFError: The host is gone, or wants the worker to end.
            BrokenPipeError: Likewise.
        """
        for index in self._indices:
            self._make(index)
        commands = self._plan.commands.fd
        while True:
            message = read_frame(commands)
            self._handlers[message.kind](message)

    def close(self) -> None:
        """Close the envs."""
        for env in [*self._envs.values(), *(slot.env for slot in self._runners.values())]:
            with contextlib.suppress(Exception):  # nobody is left to hear of it
                env.close()

    def _write(self, data: bytes) -> None:
        write_all(self._plan.reports.fd, data)

    def _fail(self, index: int, error: BaseException) -> None:
        self._write(frame(Kind.FAILED, env=index, payload=pickle.dumps(Failure.of(error))))

    def _make(self, index: int) -> None:
        try:
            env = self._build(index)
            spaces = pickle.dumps((env.observation_space, env.action_space))
        except BaseException as error:
            self._fail(index, error)
        else:
            self._envs[index] = env
            self._write(frame(Kind.MADE, env=index, payload=spaces))

    def _build(self, index: int) -> gym.Env:
        request: BatchRequest = pickle.loads(self._plan.request)
        return build_env(request.of(index), index)

    def _attach(self, message: Frame) -> None:
        """Map the shared memory; envs with a seed there come in place of ones that were lost."""
        plan = self._plan
        space, action_space, seeds = pickle.loads(message.payload)
        self._memory = BatchMemory(
            plan.memory.fd,
            plan.num_envs,
            plan.num_workers,
            space,
            action_space,
            plan.settings.num_players,
            plan.num_buffers,
        )
        for index, env in self._envs.items():
            slot = self._runners[index] = self._new_slot(index, env)
            if seeds is not None:
                slot.replace(env, seeds[index])
        self._envs.clear()

    def _new_slot(self, index: int, env: gym.Env) -> EnvRunner:
        return EnvRunner(env, self._memory.rows, index, self._plan.settings.autoreset_mode)

    def _replace(self, message: Frame) -> None:
        index = message.env
        if index in self._runners:
            with contextlib.suppress(Exception):  # it failed before
                self._runners.pop(index).env.close()
        try:
            env = self._build(index)
        except BaseException as error:
            self._fail(index, error)
            return
        slot = self._runners[index] = self._new_slot(index, env)
        slot.replace(env, pickle.loads(message.payload))
        self._write(frame(Kind.MADE, env=index))

    def _step_all(self, message: Frame) -> None:
        extras = {}
        for index in self._indices:
            try:
                found = self._step(index, message.buffer)
            except BaseException as error:
                self._fail(index, error)
            else:
                if found:
                    extras[index] = found
        self._write(frame(Kind.DONE, payload=pickle.dumps(extras)) if extras else DONE)

    def _step_each(self, message: Frame) -> None:
        for index in np.frombuffer(message.payload, np.int32).tolist():
            self._do(index, lambda index=index: self._step(index, message.buffer))

    def _step(self, index: int, buffer: int) -> bytes:
        """Step an env; return its pickled extras, nothing if there are none."""
        memory = self._memory
        memory.busy[self._plan.number] = index
        extras = self._runners[index].step(memory.actions[index].copy(), buffer)
        return self._finish(index, extras)

    def _reset(self, message: Frame) -> None:
        requests, options = pickle.loads(message.payload)

        def reset(index: int, seed: int | None) -> bytes:
            self._memory.busy[self._plan.number] = index
            extras = self._runners[index].reset(seed, pickle.loads(options), message.buffer)
            return self._finish(index, extras)

        for index, seed in requests:
            self._do(index, lambda index=index, seed=seed: reset(index, seed))

    def _finish(self, index: int, extras: dict[str, Any]) -> bytes:
        payload = pickle.dumps(extras) if extras else b""
        self._memory.done[index] += 1
        return payload

    def _do(self, index: int, work: Callable[[], bytes]) -> None:
        """Do one env's work and report it."""
        try:
            payload = work()
        except BaseException as error:
            self._fail(index, error)
        else:
            self._write(frame(Kind.READY, env=index, payload=payload))

    def _ask(self, message: Frame) -> None:
        what, requests = pickle.loads(message.payload)
        answers: dict[int, bytes | Failure] = {}
        for index, arguments in requests.items():
            try:
                value = self._answer(what, index, pickle.loads(arguments), message.buffer)
                answers[index] = pickle.dumps(value)
            except BaseException as error:
                answers[index] = Failure.of(error)
        self._write(frame(Kind.ANSWER, payload=pickle.dumps(answers)))

    def _answer(self, what: str, index: int, arguments: Sequence[Any], buffer: int) -> Any:
        slot = self._runners[index]
        if what == "call":
            return get_or_call(slot.env, *arguments)
        if what == "attribute":
            attribute = slot.env.get_wrapper_attr(*arguments)
            return (True, None) if callable(attribute) else (False, attribute)
        if what == "set_attr":
            return slot.env.set_wrapper_attr(*arguments)
        if what == "save":
            return slot.save(buffer)
        return slot.load(*arguments, buffer)
