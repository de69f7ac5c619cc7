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
from typing import Any

import cv2
import gymnasium as gym
import numpy as np

from atari_wrappers.backends.env_runner import EnvRunner, get_or_call, set_attr
from atari_wrappers.backends.workers.messages import (
    DONE,
    Failure,
    Frame,
    Kind,
    frame,
    read_frame,
    write_all,
)
from atari_wrappers.backends.workers.plan import Plan
from atari_wrappers.request import BatchRequest
from atari_wrappers.single_env import build_env

# Seconds that a worker whose host is gone has to come out of an env, and to close its envs.
ORPHAN_SECONDS = 5.0
# What a terminal, a service manager or a batch system sends to every process of a run. The host
# decides what comes of it; workers end with the host.
RUN_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def run(plan: Plan) -> None:
    """Run a worker; the process ends with it."""
    _leave_signals_to_host()
    faulthandler.enable(plan.trace.fd, all_threads=False)
    faulthandler.register(signal.SIGUSR1, plan.trace.fd, all_threads=False)
    cv2.setNumThreads(1)
    threading.Thread(target=_end_with_host, args=(plan.commands.fd,), daemon=True).start()
    worker = Worker(plan)
    with contextlib.suppress(EOFError, BrokenPipeError):  # how the end of the host shows
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
    """A block of envs and the pipes to the host.

    Args:
        plan: What it was started with.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._spaces: tuple[gym.Space, gym.Space] | None = None
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
        plan = self._plan
        for index in plan.indices:
            self._make(index)
        commands = plan.commands.fd
        while True:
            message = read_frame(commands)
            self._handlers[message.kind](message)

    def close(self) -> None:
        """Close the envs."""
        for env in [*self._envs.values(), *(runner.env for runner in self._runners.values())]:
            with contextlib.suppress(Exception):  # nobody is left to hear of it
                env.close()

    def _write(self, data: bytes) -> None:
        write_all(self._plan.reports.fd, data)

    def _fail(self, index: int, error: BaseException) -> None:
        self._write(frame(Kind.FAILED, env=index, payload=pickle.dumps(Failure.of(error))))

    def _make(self, index: int) -> None:
        """Make an env; tell its spaces unless they are those that were told last."""
        try:
            env = self._build(index)
            spaces = (env.observation_space, env.action_space)
            payload = b"" if spaces == self._spaces else pickle.dumps(spaces)
        except BaseException as error:
            self._fail(index, error)
        else:
            self._spaces = spaces
            self._envs[index] = env
            self._write(frame(Kind.MADE, env=index, payload=payload))

    def _build(self, index: int) -> gym.Env:
        request: BatchRequest = pickle.loads(self._plan.request)
        return build_env(request.of(index), index)

    def _attach(self, message: Frame) -> None:
        """Map the shared memory; envs with a seed there come in place of ones that failed."""
        *spaces, seeds = pickle.loads(message.payload)
        self._memory = self._plan.map_memory(*spaces)
        for index, env in self._envs.items():
            runner = self._run_env(index, env)
            if seeds is not None:
                runner.replace(env, seeds[index])
        self._envs.clear()

    def _run_env(self, index: int, env: gym.Env) -> EnvRunner:
        mode = self._plan.settings.autoreset_mode
        self._runners[index] = EnvRunner(env, self._memory.rows, index, mode)
        return self._runners[index]

    def _replace(self, message: Frame) -> None:
        index = message.env
        if index in self._runners:
            with contextlib.suppress(Exception):  # it failed before
                self._runners.pop(index).env.close()
        try:
            env = self._build(index)
        except BaseException as error:
            self._fail(index, error)
        else:
            self._run_env(index, env).replace(env, pickle.loads(message.payload))
            self._write(frame(Kind.MADE, env=index))

    def _step_all(self, message: Frame) -> None:
        extras = {}
        for index in self._plan.indices:
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
            arguments = (seed, pickle.loads(options), message.buffer)
            self._report(index, self._do(index, lambda runner, a=arguments: runner.reset(*a)))

    def _do(self, index: int, work: Callable[[EnvRunner], dict[str, Any]]) -> bytes | None:
        """Do one env's work; return its pickled extras, or tell that it failed."""
        runner = self._runners.get(index)
        if runner is None:  # it could not be made anew, as was told
            return None
        self._memory.busy[self._plan.number] = index
        try:
            extras = work(runner)
            payload = pickle.dumps(extras) if extras else b""
        except BaseException as error:
            self._fail(index, error)
            return None
        self._memory.done[index] = True
        return payload

    def _report(self, index: int, payload: bytes | None) -> None:
        if payload is not None:
            self._write(frame(Kind.READY, env=index, payload=payload))

    def _ask(self, message: Frame) -> None:
        what, requests = pickle.loads(message.payload)
        answers: dict[int, bytes | Failure] = {}
        for index, arguments in requests.items():
            self._memory.busy[self._plan.number] = index
            try:
                value = self._answer(what, index, pickle.loads(arguments), message.buffer)
                answers[index] = pickle.dumps(value)
            except BaseException as error:
                answers[index] = Failure.of(error)
        self._write(frame(Kind.ANSWER, payload=pickle.dumps(answers)))

    def _answer(self, what: str, index: int, arguments: Sequence[Any], buffer: int) -> Any:
        runner = self._runners[index]
        if what == "call":
            return get_or_call(runner.env, *arguments)
        if what == "attribute":
            attribute = runner.env.get_wrapper_attr(*arguments)
            return (True, None) if callable(attribute) else (False, attribute)
        if what == "set_attr":
            return set_attr(runner.env, *arguments)
        if what == "show":
            return runner.share_obs(buffer)
        if what == "save":
            return runner.save(buffer)
        if what == "check_state":
            return runner.check_state(*arguments)
        return runner.load(*arguments, buffer)
