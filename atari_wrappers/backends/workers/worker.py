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
from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.env_runner import EnvRunner
from atari_wrappers.backends.workers.memory import BatchMemory, SharedFd
from atari_wrappers.backends.workers.messages import (
    CHUNK,
    DONE,
    Failure,
    Frame,
    Inbox,
    Kind,
    dumps,
    frame,
    write_all,
)
from atari_wrappers.request import BatchRequest
from atari_wrappers.single_env import build_env

# Seconds that a worker whose host is gone has to come out of an env, and to close its envs.
ORPHAN_SECONDS = 5.0
# What a terminal, a service manager or a batch system sends to every process of a run. The host
# decides what comes of it; workers end with the host.
RUN_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
_UNSET = SharedFd(-1)


@dataclass(frozen=True, slots=True)
class WorkerArguments:
    """What a worker is started with.

    Attributes:
        request: The `BatchRequest`, pickled: what it names may not be found here.
        number: The worker's place among all.
        indices: Its envs.
        mode: When an ended env restarts.
        sizes: The numbers that `BatchMemory` takes.
        memory: The batch's shared memory.
        commands: Where it reads frames from.
        reports: Where it writes frames to.
        trace: Where tracebacks go when the process crashes, or is asked by SIGUSR1.
    """

    request: bytes
    number: int
    indices: range
    mode: AutoresetMode
    sizes: dict[str, int]
    memory: SharedFd
    commands: SharedFd = _UNSET
    reports: SharedFd = _UNSET
    trace: SharedFd = _UNSET


def run(arguments: WorkerArguments) -> None:
    """Run a worker; the process ends with it."""
    _leave_signals_to_host()
    faulthandler.enable(arguments.trace.fd, all_threads=False)
    faulthandler.register(signal.SIGUSR1, arguments.trace.fd, all_threads=False)
    with contextlib.suppress(ImportError):
        import cv2

        cv2.setNumThreads(1)
    commands = arguments.commands.fd
    threading.Thread(target=_end_with_host, args=(commands,), daemon=True).start()
    worker = Worker(arguments)
    with contextlib.suppress(BrokenPipeError):  # how the end of the host shows, too
        worker.serve()
    worker.close()


def _leave_signals_to_host() -> None:
    """Go on when the run is told to end.

    A group of its own keeps the worker, and the programs that its envs start, from what is sent to
    the host's group; and the kernel continues a stopped worker of it when the host dies.
    """
    os.setpgid(0, 0)
    for number in RUN_SIGNALS:
        # SIG_IGN would be handed on to the programs that envs start, and they could not be ended.
        signal.signal(number, lambda *_: None)
        signal.siginterrupt(number, False)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # sent to writers of another group by some ttys
    signal.pthread_sigmask(signal.SIG_UNBLOCK, RUN_SIGNALS)


def _end_with_host(commands: int) -> None:
    """End this process when the host is gone, even out of an env that never returns."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})  # asks what the envs' thread does
    watch = select.poll()
    watch.register(commands, 0)  # its hang-up only
    watch.poll()
    time.sleep(ORPHAN_SECONDS)
    os._exit(1)


class Worker:
    """A block of envs and the pipes to the host."""

    def __init__(self, arguments: WorkerArguments) -> None:
        self._arguments = arguments
        self._spaces: tuple[gym.Space[Any], gym.Space[Any]] | None = None
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
        """Make the envs, then do what the host says, until it closes its end of the pipe.

        Raises:
            BrokenPipeError: The host is gone.
        """
        for index in self._arguments.indices:
            env = self._make(index)
            if env is not None:
                self._envs[index] = env
        inbox = Inbox()
        while data := os.read(self._arguments.commands.fd, CHUNK):
            for message in inbox.feed(data):
                self._handlers[message.kind](message)

    def close(self) -> None:
        """Close the envs."""
        for env in [*self._envs.values(), *(runner.env for runner in self._runners.values())]:
            with contextlib.suppress(Exception):  # nobody is left to hear of it
                env.close()

    def _write(self, data: bytes) -> None:
        write_all(self._arguments.reports.fd, data)

    def _fail(self, index: int, error: BaseException) -> None:
        self._write(frame(Kind.FAILED, env=index, payload=pickle.dumps(Failure.of(error))))

    def _make(self, index: int) -> gym.Env | None:
        """Make an env and tell its spaces, unless they are those told last; or that it failed."""
        try:
            request: BatchRequest = pickle.loads(self._arguments.request)
            env = build_env(request.of(index), index)
            spaces = (env.observation_space, env.action_space)
            payload = b"" if spaces == self._spaces else pickle.dumps(spaces)
        except BaseException as error:
            self._fail(index, error)
            return None
        self._spaces = spaces
        self._write(frame(Kind.MADE, env=index, payload=payload))
        return env

    def _attach(self, message: Frame) -> None:
        """Map the shared memory; envs with a seed there come in place of ones that failed."""
        space, action_space, seeds = pickle.loads(message.payload)
        arguments = self._arguments
        self._memory = BatchMemory(arguments.memory.fd, space, action_space, **arguments.sizes)
        for index, env in self._envs.items():
            runner = self._run_env(index, env)
            if seeds is not None:
                runner.replace(env, seeds[index])
        self._envs.clear()

    def _run_env(self, index: int, env: gym.Env) -> EnvRunner:
        self._runners[index] = EnvRunner(env, self._memory.rows, index, self._arguments.mode)
        return self._runners[index]

    def _replace(self, message: Frame) -> None:
        index = message.env
        if index in self._runners:
            with contextlib.suppress(Exception):  # it failed before
                self._runners.pop(index).env.close()
        env = self._make(index)
        if env is not None:
            self._run_env(index, env).replace(env, pickle.loads(message.payload))

    def _step_all(self, message: Frame) -> None:
        extras = {}
        for index in self._arguments.indices:
            if found := self._step(index, message.buffer):
                extras[index] = found
        self._write(frame(Kind.DONE, payload=pickle.dumps(extras)) if extras else DONE)

    def _step_each(self, message: Frame) -> None:
        for index in np.frombuffer(message.payload, np.int32).tolist():
            self._report(index, self._step(index, message.buffer))

    def _step(self, index: int, buffer: int) -> bytes | None:
        action = self._memory.actions[index].copy()
        return self._do(index, lambda runner: runner.step(action, buffer))

    def _reset(self, message: Frame) -> None:
        requests, options = pickle.loads(message.payload)
        for index, seed in requests:
            reset = methodcaller("reset", seed, pickle.loads(options), message.buffer)
            self._report(index, self._do(index, reset))

    def _do(self, index: int, work: Callable[[EnvRunner], dict[str, Any]]) -> bytes | None:
        """Do one env's work; return its pickled extras, or tell that it failed."""
        runner = self._runners.get(index)
        if runner is None:  # it could not be restarted, as was told
            return None
        self._memory.busy[self._arguments.number] = index
        try:
            extras = work(runner)
            payload = dumps(extras, "its info") if extras else b""
        except BaseException as error:
            self._fail(index, error)
            return None
        self._memory.done[index] = True
        return payload

    def _report(self, index: int, payload: bytes | None) -> None:
        if payload is not None:
            self._write(frame(Kind.READY, env=index, payload=payload))

    def _ask(self, message: Frame) -> None:
        method, requests = pickle.loads(message.payload)
        answers: dict[int, bytes | Failure] = {}
        for index, arguments in requests.items():
            self._memory.busy[self._arguments.number] = index
            try:
                value = getattr(self._runners[index], method)(*pickle.loads(arguments))
                answers[index] = dumps(value, f"the result of `{method}`")
            except BaseException as error:
                answers[index] = Failure.of(error)
        self._write(frame(Kind.ANSWER, payload=pickle.dumps(answers)))
