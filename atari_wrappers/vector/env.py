"""`VecEnv`: a batch of envs behind one contract, whichever backend runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from atari_wrappers.backends.base import Backend, ResetResult, StepResult
from atari_wrappers.backends.results import RECORD, spread
from atari_wrappers.errors import ResetNeededError, UnsupportedError
from atari_wrappers.game.env import NEW_GAME
from atari_wrappers.request import BatchRequest
from atari_wrappers.vector.actions import action_check
from atari_wrappers.vector.checks import (
    check_buffer,
    checked_index,
    checked_indices,
    checked_mask,
    checked_seeds,
    checked_timeout,
)
from atari_wrappers.vector.inspection import Inspection
from atari_wrappers.vector.pending import PendingCalls


class VecEnv(Inspection, VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` envs stepped together.

    A step gives, for `n` envs (all of them, or `batch_size`):

    - obs: `[n, *single_observation_space.shape]`, C-contiguous; for Atari uint8, by default
      `[n, 4, 84, 84]`, oldest frame first.
    - reward: float32 `[n]`, clipped to its sign if so set.
    - terminated, truncated: bool `[n]`: the episode that the learner sees. With `episodic_life` a
      lost life sets `terminated` while the game goes on.
    - info, every array `[n]`, whatever the learner sees:
      `env_id` int32, the rows' envs, in order where they are all; `raw_reward` float32, not
      clipped; `lives` int32, those left in `obs` (0 where the game has none); `game_terminated`,
      `game_truncated` bool, the true end of a game in this step, never a lost life;
      `episode_return` float64, `episode_length` int64 and `episode_frames` int64: the sum of raw
      rewards, the agent steps and the emulator frames (no-ops and FIRE included) of the game that
      this step belonged to, so far.
    - Where true games ended, also `_episode`, bool `[n]`, which tells where `episode` counts:
      `{"r": float64, "l": int64, "frames": int64}`, their return, steps and frames, and 0
      elsewhere.
    - In same-step mode, where episodes ended, also `_final_obs` and `_final_info`, bool `[n]`,
      which tell the rows of `final_obs` and `final_info` that hold the ended episode's last
      observation and its last info. Other rows are not defined.
    - Where an env was made anew after a failure, also `worker_restarted`, bool `[n]`.

    With two players reward, `raw_reward` and `episode_return` are `[n, 2]`.

    Every array is fresh and never written to again, but for observations with `out` or
    `obs_buffers`. With `obs_buffers=k` the array that a call returned is overwritten by the `k`-th
    call after it at the earliest, and stays readable after `close`.

    In next-step mode the step after an end only restarts the env: its action is ignored and its
    reward 0. On ids that are no Atari games frames are steps. Rewards of frames that no agent step
    covers (no-ops, FIRE, the continuation after a lost life) are in `episode_return` on `sync` and
    `async`; on `ale` they are not, as ALE does not report them.

    After a `WorkerError` the batch goes on (`restart_workers`); after any other exception out of an
    env it is closed, for its rows are no longer in step.

    Args:
        request: What is to be made.
        backend: What runs it, as `choose_backend` returned it.

    Attributes:
        backend: The name of the backend in use.
        settings: What the batch was made with.
        recipe: How games become episodes, each part with its value; `None` where they are none of
            Atari, and the first env's where they differ.
        batch_size: Envs per `recv`.
        has_python_envs: Whether there are Python envs to call, to save and to look into.
        shares_python_envs: Whether `get_sub_environments` returns these envs themselves.
    """

    def __init__(self, request: BatchRequest, backend: type[Backend]) -> None:
        env_id, settings = request.env_id, request.settings
        self.backend = backend.name
        self.has_python_envs = backend.has_python_envs
        self.shares_python_envs = backend.shares_python_envs
        self.settings = settings
        self.recipe = request.recipe
        self.num_envs = num_envs = request.num_envs
        self.batch_size = settings.batch_size or num_envs
        self.spec = env_id.spec
        self.metadata = {"autoreset_mode": settings.autoreset_mode}
        self.render_mode = env_id.render_mode
        self.closed = True  # nothing to close yet
        self._backend: Backend = backend(request)
        self.single_observation_space = self._backend.single_observation_space
        self.single_action_space = self._backend.single_action_space
        try:
            self._check_actions = action_check(self.single_action_space, num_envs)
        except UnsupportedError:
            self._backend.close(terminate=True)
            raise
        self._open()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._is_atari = env_id.is_atari
        self._resets_by_hand = settings.autoreset_mode == AutoresetMode.DISABLED
        self._ended = np.zeros(num_envs, bool)
        self._pending = PendingCalls(num_envs, self.batch_size)
        self._resets_all = True

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
        mask: Any = None,
        out: np.ndarray | None = None,
    ) -> ResetResult:
        """Restart every env with a new game, or those of `mask`.

        Args:
            seed: Env `i` gets `seed + i`, or `seed[i]`; all seeds lie in `[0, 2**31 - 1)`. Where
                there is none (`None`) the random numbers go on.
            options: For the envs; `ale` takes none. `reset_mask` is the same as `mask`.
            mask: Bool `[num_envs]`, at least one `True`: restart these envs only. One that waits
                after a lost life goes on as the recipe says, unless it gets a seed.
            out: Where to write obs to, all `num_envs` rows.

        Returns:
            obs and info of all envs, as after a step.

        Raises:
            ValueError: A seed is out of range, or their number wrong; the mask or `out` does not
                fit; or the options are no use.
            PendingStepError: A step or a reset was begun and not waited for.
            ResetNeededError: A mask comes before the first whole reset.
            WorkerError: An env failed.
            ClosedError: The batch was closed.
        """
        check_buffer(out, self.observation_space.shape, self.observation_space.dtype)
        self.reset_async(seed, options, mask)
        return self.reset_wait(out=out)

    def reset_async(
        self,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
        mask: Any = None,
    ) -> None:
        """Begin what `reset` does, without waiting for it; `reset_wait` does.

        With a `batch_size` below `num_envs`, `recv` may take the results of a whole reset by parts.
        """
        self._expect_open()
        self._pending.check_idle("reset")
        seeds = checked_seeds(seed, self.num_envs)
        if not isinstance(options, dict | None):
            raise TypeError(f"options must be a dict, not {options!r}")
        options = dict(options or {})
        if mask is not None and "reset_mask" in options:
            raise ValueError("a mask is given twice: as `mask`, and in options as `reset_mask`")
        mask = options.pop("reset_mask", mask)
        if options and not self._backend.takes_reset_options:
            raise ValueError(
                f'backend "{self.backend}" takes no reset options, not {sorted(options)}'
            )
        indices = None
        if mask is not None:
            mask = checked_mask(mask, self.num_envs)
            if not (self._pending.was_reset or mask.all()):
                raise ResetNeededError("reset: the first reset must be of all envs")
            indices = np.flatnonzero(mask).tolist() if self._pending.was_reset else None
            seeds = None if seeds is None else [seeds[index] for index in np.flatnonzero(mask)]
        elif self._is_atari and self._backend.takes_reset_options:
            options[NEW_GAME] = True
        self._guard(self._backend.reset, indices, seeds, options)
        self._pending.begin("reset", indices)
        self._resets_all = indices is None

    def reset_wait(
        self, timeout: float | None = None, *, out: np.ndarray | None = None
    ) -> ResetResult:
        """Wait for the reset that `reset_async` began.

        Raises:
            NoPendingStepError: No reset was begun, or `recv` has taken of it.
            TimeoutError: It was not done within `timeout` seconds; it goes on.
        """
        check_buffer(out, self.observation_space.shape, self.observation_space.dtype)
        timeout = None if timeout is None else checked_timeout(timeout)
        self._expect_open()
        count = self._pending.check_reset_wait()
        result = self._guard(self._backend.recv, count, out if self._resets_all else None, timeout)
        self._note(result)
        obs, info = result[0], result[4]
        if not self._resets_all:
            obs, _, _, _, whole = self._guard(self._backend.current, out)
            info = spread(info, self.num_envs) | whole
        self._pending.turn = None
        return obs, info

    def reset_at(
        self, index: int, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> ResetResult:
        """Restart one env.

        Args:
            index: Which.
            seed: For this env.
            options: As in `reset`.

        Returns:
            The env's row of obs, and of each array that info always has but `env_id`.

        Raises:
            Exception: As `reset`.
        """
        index = checked_index(index, self.num_envs)
        mask = np.arange(self.num_envs) == index
        seeds = None if seed is None else [seed if here else None for here in mask]
        obs, info = self.reset(seed=seeds, options=options, mask=mask)
        return obs[index].copy(), {name: info[name][index] for name in RECORD}

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Begin a step with one action per env, and return without waiting for it.

        Args:
            actions: Integers `[n]`, or `[n, *single_action_space.shape]`.
            env_id: Which `n` envs they are for; `None`: those received last, after a reset all.

        Raises:
            ValueError: The shape is wrong, an action out of range, or an env named twice; nothing
                was sent.
            TypeError: The actions are no integers; nothing was sent.
            PendingStepError: The envs were sent and not received.
            ResetNeededError: There was no reset yet, or an ended env waits for one.
            ClosedError: The batch was closed.
        """
        self._expect_open()
        pending = self._pending
        ids = pending.turn
        if env_id is not None:
            ids = checked_indices(env_id, self.num_envs, "env_id")
        pending.check_step(ids)
        checked = self._check_actions(actions, ids)
        if self._resets_by_hand:
            self._check_none_ended(ids)
        self._guard(self._backend.send, checked, ids)
        pending.begin("step", ids)

    def recv(self, out: np.ndarray | None = None, timeout: float | None = None) -> StepResult:
        """Wait for `batch_size` envs of those sent, and return their results (see the class).

        Args:
            out: Where to write obs to: as many rows as come back.
            timeout: Seconds to wait at most; `sync` and `ale` do not look at it.

        Raises:
            NoPendingStepError: Nothing was sent, or fewer envs than a batch takes.
            TimeoutError: They were not ready in time; call again.
            WorkerError: An env failed.
            ClosedError: The batch was closed.
        """
        self._expect_open()
        count = self._pending.check_recv()
        if out is not None:
            self._check_out(out, count)
        if timeout is not None:
            timeout = checked_timeout(timeout)
        result = self._guard(self._backend.recv, count, out, timeout)
        self._note(result)
        return result

    def step(
        self, actions: Any, env_id: Any = None, *, out: np.ndarray | None = None
    ) -> StepResult:
        """Do `send`, then `recv`; an `out` that does not fit is refused before either."""
        if out is not None:
            pending = self._pending
            ids = pending.turn if env_id is None else env_id
            count = pending.next_count(self.num_envs if ids is None else np.size(ids))
            self._check_out(out, count)
        self.send(actions, env_id)
        return self.recv(out)

    def step_async(self, actions: Any) -> None:
        """Do what `send` does."""
        self.send(actions)

    def step_wait(self, timeout: float | None = None) -> StepResult:
        """Do what `recv` does."""
        return self.recv(timeout=timeout)

    def _check_out(self, out: Any, count: int) -> None:
        shape = (count, *self.observation_space.shape[1:])
        check_buffer(out, shape, self.observation_space.dtype)

    def _check_none_ended(self, env_ids: Sequence[int] | None) -> None:
        chosen = np.arange(self.num_envs) if env_ids is None else np.asarray(env_ids)
        ended = chosen[self._ended[chosen]].tolist()
        if ended:
            raise ResetNeededError(
                f"send: envs {ended} need a reset, as their episodes have ended; reset has a `mask`"
            )

    def _note(self, result: StepResult) -> None:
        ids = result[4]["env_id"]
        self._pending.end(ids)
        if self._resets_by_hand:
            self._ended[ids] = result[2] | result[3]
