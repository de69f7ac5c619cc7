"""Batches of `scripted:Trouble-v0` in worker processes, and the same envs without trouble."""

from __future__ import annotations

from typing import Any

import numpy as np
from scripted import TROUBLES, DiceEnv

NUM_ENVS = 4
NOTHING = [0] * NUM_ENVS
# Trouble that an env makes; what the report says; whether its whole process goes.
RAISING = {
    "raise": r"env 1 raised ArithmeticError: the dice fell off the table in {doing}",
    "unpicklable": "env 1 raised UnpicklableError: this and that in {doing}",
    "sys.exit": "env 1 raised SystemExit: the dice are gone in {doing}",
}
ENDING = {
    "die": r"worker 0, .*\(envs 0, 1\) was killed by SIGKILL while env 1 was in {doing}",
    "leave": "exited with status 7 while env 1 was in {doing}",
    "crash": "was killed by SIGSEGV while env 1 was in {doing}",
    "loop": r"has not answered for 3 s \(running\) and was killed while env 1 was in {doing}",
    "stop": r"has not answered for 3 s \(stopped\) and was killed while env 1 was in {doing}",
}


class Oracle:
    """The same envs stepped one by one, each restarted by hand as the mode says.

    In `disabled` mode an ended env restarts before its next step.
    """

    def __init__(self, mode: str = "same-step", seed: int = 0) -> None:
        self._mode = mode
        self._envs = [DiceEnv() for _ in range(NUM_ENVS)]
        self._ended = [False] * NUM_ENVS
        self.obs = [env.reset(seed=seed + index)[0] for index, env in enumerate(self._envs)]

    def step(self, index: int) -> tuple[np.ndarray, float, bool]:
        """Step one env, as a batch would; its observation, reward and end."""
        env, had_ended = self._envs[index], self._ended[index]
        if had_ended and self._mode != "same-step":
            self.obs[index] = env.reset()[0]
        if had_ended and self._mode == "next-step":
            self._ended[index] = False
            return self.obs[index], 0.0, False
        self.obs[index], reward, ended, _, _ = env.step(0)
        self._ended[index] = ended
        if ended and self._mode == "same-step":
            self.obs[index] = env.reset()[0]
        return self.obs[index], reward, ended


def assert_as_alone(result: Any, oracle: Oracle, envs: list[int]) -> None:
    """Compare a step's rows to those of envs that nothing happened to."""
    for index in envs:
        obs, reward, ended = oracle.step(index)
        np.testing.assert_array_equal(result[0][index], obs, f"env {index}")
        assert (result[1][index], result[2][index]) == (reward, ended), f"env {index}"
        assert not result[3][index]


def trouble(kind: str, env: int = 1) -> list[int]:
    """Actions of which one makes trouble."""
    return [TROUBLES.index(kind) if index == env else 0 for index in range(NUM_ENVS)]
