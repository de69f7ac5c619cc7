"""`VecEnv`: a batch of envs behind one interface, whichever backend runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from atari_wrappers.backends.base import Backend
from atari_wrappers.backends.results import RECORD
from atari_wrappers.checks import dtype_of
from atari_wrappers.game.env import NEW_GAME
from atari_wrappers.recipes import Recipe
from atari_wrappers.request import BatchRequest
from atari_wrappers.settings import Settings
from atari_wrappers.types import EnvReset, ResetResult, StepResult
from atari_wrappers.vector.actions import action_check, as_array
from atari_wrappers.vector.batch import Batch
from atari_wrappers.vector.checks import (
    as_buffer,
    check_buffer,
    checked_index,
    checked_indices,
    checked_mask,
    checked_options,
    checked_seeds,
    checked_timeout,
)
from atari_wrappers.vector.lifetime import Access, Lifetime
from atari_wrappers.vector.order import CallOrder


class VecEnv(Batch):
    """`num_envs` envs stepped together.

    A step gives, for `n` envs (all of them, or `batch_size`):

    - obs: `[n, *single_observation_space.shape]`, C-contiguous; for Atari uint8, by default
      `[n, 4, 84, 84]`, oldest frame first. `atari_wrappers.types` has the types of all five.
    - reward: float32 `[n]`, clipped to its sign if so set.
    - terminated, truncated: bool `[n]`: the episode that the learner sees. With `episodic_life` a
      lost life sets `terminated` while the game goes on.
    - info, every array `[n]`, whatever the learner sees:
      `env_id` int32, the rows' envs, in order where they are all; `raw_reward` float32, not
      clipped; `lives` int32, those left in `obs` (0 where the game has none); `game_terminated`,
      `game_truncated` bool, the true end of a game in this step, never a lost life;
      `episode_return` float64, `episode_length` int64 and `episode_frames` int64: the sum of raw
      rewards, the agent steps and the emulator frames (no-ops and FIRE included) of this step's
      game so far.
    - If true games ended, also `episode`: `{"r": float64, "l": int64, "frames": int64}`, their
      return, steps and frames, and 0 in other rows; `_episode`, bool `[n]`, marks their rows.
    - In same-step mode, if episodes ended, also `final_obs` and `final_info`, the last observation
      and the last info of each ended episode; `_final_obs` and `_final_info`, bool `[n]`, mark
      their rows. Other rows are undefined.
    - If an env was restarted after a failure, also `worker_restarted`, bool `[n]`.

    With two players reward, `raw_reward` and `episode_return` are `[n, 2]`.

    Every array is fresh and never written to again, except observations with `out` or
    `obs_buffers`. With `obs_buffers=k` an array is overwritten by the `k`-th call after the one
    that returned it, at the earliest, and stays readable after `close`.

    In next-step mode the step after an end only restarts the env: its action is ignored and its
    reward is 0. For envs other than Atari games, frames are steps. `episode_return` excludes the
    rewards of no-ops and FIRE at a game's start, unless the recipe includes them (`baselines` and
    `cleanrl` do).

    After a `WorkerError` the batch continues with `restart_workers`, and after an interrupt such as
    Ctrl-C with a reset of all envs. Any other exception of an env closes it, because its rows are
    no longer in step.

    Args:
        request: What is to be made.
        backend: What runs it, as `choose_backend` returned it.

    Attributes:
        autoreset_mode: When an ended env restarts, also in `metadata`, as gymnasium's batches say.
        backend: The name of the backend in use.
        settings: What the batch was made with.
        recipe: How games become episodes, each part with its value; the first env's if they differ,
            `None` if that is no Atari game.
        batch_size: Envs per `recv`.
        has_python_envs: Whether there are Python envs to call, to save and to look into.
        shares_python_envs: Whether `get_sub_environments` returns these envs themselves.
    """

    backend: str
    settings: Settings
    recipe: Recipe | None
    num_envs: int
    batch_size: int
    spec: EnvSpec | None
    single_observation_space: gym.Space[Any]
    single_action_space: gym.Space[Any]
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    has_python_envs: bool
    shares_python_envs: bool

    def __init__(self, request: BatchRequest, backend: type[Backend]) -> None:
        env_id, settings = request.env_id, request.settings
        self.backend = backend.name
        self.has_python_envs = backend.has_python_envs
        self.shares_python_envs = backend.shares_python_envs
        self.settings, self.recipe, self._request = settings, request.recipe, request
        self.num_envs = num_envs = request.num_envs
        self.batch_size = settings.batch_size or num_envs
        self.spec = env_id.spec
        opened = backend(request)
        by_hand = settings.autoreset_mode == AutoresetMode.DISABLED
        self._backend = opened
        self._order = CallOrder(opened, num_envs, self.batch_size, resets_by_hand=by_hand)
        self._lifetime = Lifetime(opened, str(self))
        self._access = Access(self._lifetime, self._order, str(self))
        self.single_observation_space = opened.single_observation_space
        self.single_action_space = opened.single_action_space
        try:
            self._check_actions = action_check(
                self.single_action_space, num_envs, clips=settings.clip_actions
            )
            self._describe()
        except BaseException:
            self.close()
            raise
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        has_games = any(each.recipe is not None for each in request.envs)
        self._new_game = {NEW_GAME: True} if has_games and opened.takes_reset_options else {}
        # Whose options are known: wrappers, and a server's envs, may have others.
        is_open = bool(settings.wrappers) or backend.name == "remote"
        self._are_games = not is_open and all(each.recipe is not None for each in request.envs)
        self._seeds = [-1] * num_envs

    def reset(  # type: ignore[override]  # infos of gymnasium's have any keys
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
        mask: Any = None,
        out: Any = None,
    ) -> ResetResult:
        """Restart every env with a new game, or those of `mask`.

        Args:
            seed: Env `i` gets `seed + i`, or `seed[i]`; all seeds lie in `[0, 2**31 - 1)`. Without
                a seed (`None`) an env's random numbers continue.
            options: For the envs; `ale` takes none. `reset_mask` is the same as `mask`.
            mask: Bool `[num_envs]`, at least one `True`: restart these envs only. After a lost
                life, an env continues its game as the recipe says, unless it gets a seed.
            out: Where to write the observations of all `num_envs` envs.

        Returns:
            obs and info of all envs, as after a step.

        Raises:
            ValueError: A seed is out of range, or their number is wrong; the mask or `out` does not
                fit; or the backend takes no options.
            PendingStepError: A step or a reset is pending.
            ResetNeededError: A mask was given before the first reset of all envs.
            WorkerError: An env failed.
            ClosedError: The batch was closed.
        """
        with self._access:
            self.reset_async(seed, options, mask, out=out)
            return self.reset_wait()

    def reset_async(
        self,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
        mask: Any = None,
        *,
        out: Any = None,
    ) -> None:
        """Begin what `reset` does; `reset_wait` waits for it.

        With a `batch_size` below `num_envs`, and without `out`, `recv` may take the results of a
        whole reset by parts.
        """
        with self._access:
            order = self._order
            order.check_idle("reset")
            out = as_buffer(out)
            self._check_out(out, self.num_envs)
            seeds = checked_seeds(seed, self.num_envs)
            options, mask = checked_options(options, mask)
            if options and not self._backend.takes_reset_options:
                raise ValueError(
                    f'backend "{self.backend}" takes no reset options, not {sorted(options)}'
                )
            unknown = [name for name in options if self._are_games and name != NEW_GAME]
            if unknown:
                raise ValueError(
                    f"a reset of Atari games has no option {', '.join(map(repr, unknown))};"
                    f' there are "{NEW_GAME}" and "reset_mask"'
                )
            indices = None
            if mask is not None:
                mask = checked_mask(mask, self.num_envs)
                if not mask.all():
                    order.check_was_reset("reset", "the first reset must be of all envs")
                indices = np.flatnonzero(mask).tolist() if order.was_reset else None
            else:
                options |= self._new_game
            chosen = range(self.num_envs) if indices is None else indices
            seeds = None if seeds is None else [seeds[index] for index in chosen]
            self._lifetime.do(self._backend.reset, indices, seeds, options, out)
            order.was_reset = True
            for index, seed in zip(chosen, seeds or (), strict=False):
                self._seeds[index] = self._seeds[index] if seed is None else seed

    def reset_wait(self, timeout: float | None = None, *, out: Any = None) -> ResetResult:
        """Wait for the reset that `reset_async` began.

        Raises:
            NoPendingStepError: No reset was begun, or `recv` has taken of it.
            StepTimeoutError: It was not done within `timeout` seconds; it goes on.
        """
        with self._access:
            count = self._order.check_reset_wait()
            out = as_buffer(out)
            self._check_late_out("reset_wait", out, self.num_envs)
            timeout = None if timeout is None else checked_timeout(timeout)
            result = self._receive(count, out, timeout, every=True)
            return result[0], result[4]

    def reset_at(
        self, index: int, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> EnvReset:
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
        arrays = cast("dict[str, Any]", info)
        return self._row(obs, index), {name: arrays[name][index] for name in RECORD}

    def _row(self, obs: Any, index: int) -> Any:
        return obs[index].copy()

    def send(self, actions: Any, env_id: Any = None, *, out: Any = None) -> None:
        """Begin a step with one action per env, and return without waiting for it.

        Args:
            actions: Integers `[n]`, or `[n, *single_action_space.shape]`.
            env_id: Which `n` envs they are for; `None`: those received last, or all after a reset.
                With `None`, `num_envs` actions are for all envs; with a `batch_size`, the envs
                received last take theirs.
            out: Where the next `recv` writes its observations.

        Raises:
            ValueError: The shape is wrong, an action is out of range, an env is named twice, or
                `out` does not fit; nothing was sent.
            TypeError: The actions are no integers; nothing was sent.
            PendingStepError: A step of the envs is pending, or another `out` is not filled yet.
            ResetNeededError: There was no reset yet, or an ended env needs one.
            ClosedError: The batch was closed.
        """
        with self._access:
            self._send("send", actions, env_id, out)

    def _send(
        self, call: str, actions: Any, env_id: Any, out: Any, *, receives: bool = False
    ) -> None:
        order = self._order
        ids = order.turn if env_id is None else checked_indices(env_id, self.num_envs, "env_id")
        actions = as_array(actions)
        if env_id is None and ids is not None and actions.shape[:1] == (self.num_envs,):
            is_whole = self.batch_size == self.num_envs
            ids, actions = (None, actions) if is_whole else (ids, actions[ids])
        sent = None if ids is None else len(ids)
        order.check_step(ids, call)
        order.check_out(call, is_given=out is not None)
        if receives:
            order.check_completes(sent, call)
        if out is not None:
            out = as_buffer(out)
            self._check_out(out, order.rows_after(sent, call))
        self._lifetime.do(self._backend.send, self._check_actions(actions, ids), ids, out)

    def recv(self, out: Any = None, timeout: float | None = None) -> StepResult:
        """Wait for `batch_size` envs of those sent, and return their results (see the class).

        Args:
            out: Where to write the observations, if `send` got no `out`.
            timeout: Seconds to wait at most; only `async` uses it.

        Raises:
            NoPendingStepError: Nothing was sent, or fewer envs than a batch has.
            StepTimeoutError: They were not ready in time; call again.
            WorkerError: An env failed.
            ClosedError: The batch was closed.
        """
        with self._access:
            return self._recv("recv", out, timeout)

    def _recv(self, call: str, out: Any, timeout: float | None) -> StepResult:
        count = self._order.check_recv(call)
        if out is not None:
            out = as_buffer(out)
            self._check_late_out(call, out, count)
        if timeout is not None:
            timeout = checked_timeout(timeout)
        return self._receive(count, out, timeout)

    def _receive(
        self, count: int, out: Any, timeout: float | None, *, every: bool = False
    ) -> StepResult:
        result = cast(
            "StepResult", self._lifetime.do(self._backend.recv, count, out, timeout, every=every)
        )
        self._note(result)
        return result

    def step(  # type: ignore[override]
        self, actions: Any, env_id: Any = None, *, out: Any = None
    ) -> StepResult:
        """Do `send`, then `recv`."""
        with self._access:
            self._send("step", actions, env_id, out, receives=True)
            return self._recv("step", None, None)

    def step_async(self, actions: Any) -> None:
        """Do what `send` does."""
        with self._access:
            self._send("step_async", actions, None, None)

    def step_wait(self, timeout: float | None = None) -> StepResult:
        """Do what `recv` does."""
        with self._access:
            return self._recv("step_wait", None, timeout)

    def drop_pending(self) -> None:
        """Wait for all pending steps and resets, and discard their results.

        Raises:
            WorkerError: An env failed.
            ClosedError: The batch was closed.
        """
        with self._access:
            ticket = self._backend.ticket
            while ticket.kind is not None:
                # A reset as `reset_wait` takes it: its `out` has a row for each env of the batch.
                is_reset = ticket.kind == "reset"
                count = ticket.count if is_reset else min(ticket.count, self.batch_size)
                self._receive(count, None, None, every=is_reset)
            self._order.turn = None

    @property
    def pending(self) -> Literal["step", "reset"] | None:
        """What is pending; the rest of a reset received by parts counts as a step."""
        with self._access:
            return self._backend.ticket.kind

    @property
    def num_in_flight(self) -> int:
        """How many envs were begun and not received yet."""
        with self._access:
            return self._backend.ticket.count

    @property
    def turn(self) -> list[int] | None:
        """The envs whose actions `send` takes by default: `None` for all."""
        return self._order.turn

    def _check_late_out(self, call: str, out: Any, num_rows: int) -> None:
        if out is not None and self._backend.ticket.out is not None:
            raise ValueError(f"{call}: out was given before, when what is received was begun")
        self._check_out(out, num_rows)

    def _check_out(self, out: Any, num_rows: int) -> None:
        space = self.single_observation_space
        check_buffer(out, (num_rows, *(space.shape or ())), dtype_of(space))
