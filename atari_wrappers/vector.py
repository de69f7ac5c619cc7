"""`VecEnv`: a batch of envs behind one contract, whichever backend runs them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from atari_wrappers.actions import action_check
from atari_wrappers.backends import Backend, open_backend
from atari_wrappers.backends.base import ResetResult, StepResult
from atari_wrappers.errors import (
    ClosedError,
    NoPendingStepError,
    PendingStepError,
    ResetNeededError,
    UnsupportedError,
)
from atari_wrappers.ids import EnvId
from atari_wrappers.settings import Settings
from atari_wrappers.wrappers.resets import NEW_GAME

# ALE's vector env takes 32-bit seeds. One bound for all backends, so that a seed is never valid
# on one of them only.
_SEED_END = 2**31 - 1

_T = TypeVar("_T")


class VecEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` envs stepped together.

    Every array that is handed out is fresh and never written to again. A step gives:

    - obs: `[num_envs, *single_observation_space.shape]`, C-contiguous; for Atari uint8
      `[num_envs, 4, 84, 84]`, oldest frame first.
    - reward: float32 `[num_envs]`, clipped to its sign if so set.
    - terminated, truncated: bool `[num_envs]`. With `episodic_life` a lost life sets `terminated`
      while the game goes on.
    - info: always `raw_reward`, float32 `[num_envs]`, unclipped, and `lives`, int32 `[num_envs]`,
      those left in `obs` (0 where the game has none). Where a true game ended in this step (all
      lives, or by truncation) `_episode`, bool `[num_envs]`, tells which rows of `episode` count:
      `{"r": float64, "l": int64, "frames": int64}`, each `[num_envs]`: the sum of its raw rewards,
      its agent steps, and its emulator frames with no-ops and FIRE; other rows are 0. On ids that
      are no Atari games frames are steps. In same-step mode, where an env had `terminated` or
      `truncated`, `_final_obs`, bool `[num_envs]`, tells which rows of `final_obs` hold the ended
      episode's last observation; what other rows hold is not defined.

    In next-step mode the step after an end only restarts the env: its action is ignored and its
    reward 0. Rewards of frames that no agent step covers (no-ops, FIRE, the continuation after a
    lost life) are in `r` on `sync` and `async`; on `ale` they are not, as ALE does not report them.

    After an exception out of an env the batch is closed, for its rows are no longer in step.

    Args:
        env_id: What `ids.resolve` returned.
        num_envs: Envs in the batch, at least 1.
        settings: How they are made.
        backend: `"ale"`, `"sync"` or `"async"`, as `choose_backend` returned it.

    Attributes:
        backend: The name of the backend in use.
    """

    def __init__(self, env_id: EnvId, num_envs: int, settings: Settings, backend: str) -> None:
        self.backend = backend
        self.num_envs = num_envs
        self.spec = env_id.spec
        self.metadata = {"autoreset_mode": settings.autoreset_mode}
        self.closed = True  # nothing to close yet
        self._runner: Backend = open_backend(backend, env_id, num_envs, settings)
        self.single_observation_space = self._runner.single_observation_space
        self.single_action_space = self._runner.single_action_space
        try:
            self._check_actions = action_check(self.single_action_space, num_envs)
        except UnsupportedError:
            self._runner.close(terminate=True)
            raise
        self.closed = False
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._keeps_games = backend != "ale" and env_id.is_atari and settings.episodic_life
        self._resets_by_hand = settings.autoreset_mode == AutoresetMode.DISABLED
        self._ended = np.zeros(num_envs, bool)
        self._was_reset = False
        self._pending = False
        self._failure: BaseException | None = None

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> ResetResult:
        """Restart every env with a new game.

        Args:
            seed: Env `i` gets `seed + i`, or `seed[i]`; all seeds lie in `[0, 2**31 - 1)`. With
                `None` the random numbers go on where they are.
            options: For the envs of `sync` and `async`. There, with `autoreset="disabled"`, a bool
                array `[num_envs]` under `reset_mask` restarts these envs only, and after a lost
                life continues their games.

        Returns:
            obs, and info with `raw_reward` (zeros) and `lives`, as after a step.

        Raises:
            ValueError: A seed is out of range, or their number wrong; or the options are no use.
            PendingStepError: A step was sent and not received.
            ClosedError: The batch was closed.
        """
        self._expect_open()
        if self._pending:
            raise PendingStepError("reset: a step is pending; call recv first")
        seeds = None if seed is None else _seeds(seed, self.num_envs)
        options = self._checked_options(options)
        mask = options.get("reset_mask")
        if mask is None and self._keeps_games:
            options[NEW_GAME] = True
        result = self._guard(lambda: self._runner.reset(seeds, options))
        self._ended &= False if mask is None else ~mask
        self._was_reset = True
        return result

    def send(self, actions: Any) -> None:
        """Begin a step with one action per env, and return without waiting for it.

        Args:
            actions: Integers `[num_envs]`, or `[num_envs, *single_action_space.shape]`.

        Raises:
            ValueError: The shape is wrong or an action out of range; nothing was sent.
            TypeError: The actions are no integers; nothing was sent.
            PendingStepError: A step was sent and not received.
            ResetNeededError: There was no reset yet, or an ended env waits for one.
            ClosedError: The batch was closed.
        """
        if self.closed or self._pending or not self._was_reset:
            self._refuse_send()
        checked = self._check_actions(actions)
        if self._resets_by_hand and self._ended.any():
            raise ResetNeededError(f"envs {np.flatnonzero(self._ended).tolist()} need a reset")
        try:
            self._runner.send(checked)
        except BaseException as error:
            self._fail(error)
        self._pending = True

    def recv(self) -> StepResult:
        """Wait for the step that `send` began, and return its result (see the class).

        Raises:
            NoPendingStepError: Nothing was sent.
            ClosedError: The batch was closed.
            Exception: Whatever an env raised.
        """
        if not self._pending:
            self._expect_open()
            raise NoPendingStepError("recv: nothing was sent")
        try:
            result = self._runner.recv()
        except BaseException as error:
            self._fail(error)
        self._pending = False
        if self._resets_by_hand:
            self._ended = result[2] | result[3]
        return result

    def step(self, actions: Any) -> StepResult:
        """Do `send`, then `recv`."""
        self.send(actions)
        return self.recv()

    def close(self, **kwargs: Any) -> None:
        """Free everything; a second call does nothing. A pending step is given up."""
        del kwargs
        if not self.closed:
            self.closed = True
            self._runner.close(terminate=self._pending)
            self._pending = False

    def _checked_options(self, options: dict[str, Any] | None) -> dict[str, Any]:
        options = dict(options or {})
        if options and self.backend == "ale":
            raise ValueError(f'backend "ale" takes no reset options, not {sorted(options)}')
        if "reset_mask" in options:
            if not self._resets_by_hand:
                raise ValueError(
                    'reset_mask needs autoreset="disabled": ended envs restart themselves'
                )
            mask = options["reset_mask"] = np.array(options["reset_mask"])
            if mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
                raise ValueError(
                    f"reset_mask must be bool [{self.num_envs}] with at least one True,"
                    f" not {mask.dtype} {list(mask.shape)}: {mask}"
                )
        return options

    def _refuse_send(self) -> NoReturn:
        self._expect_open()
        if self._pending:
            raise PendingStepError("send: a step is pending; call recv first")
        raise ResetNeededError("send: call reset first")

    def _expect_open(self) -> None:
        if self.closed:
            reason = "" if self._failure is None else f" after {self._failure!r}"
            raise ClosedError(f"{self} was closed{reason}") from self._failure

    def _guard(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> NoReturn:
        self._failure = error
        self.closed = True
        self._pending = False
        self._runner.close(terminate=True)
        raise error


def _seeds(seed: int | Sequence[int], num_envs: int) -> list[int]:
    """Return one seed per env."""
    if isinstance(seed, Sequence | np.ndarray):
        seeds = [operator.index(value) for value in seed]
    else:
        seeds = [operator.index(seed) + index for index in range(num_envs)]
    if len(seeds) != num_envs:
        raise ValueError(f"{len(seeds)} seeds for {num_envs} envs")
    for value in seeds:
        if not 0 <= value < _SEED_END:
            raise ValueError(f"seed {value} lies outside of [0, {_SEED_END})")
    return seeds
