"""ALE's own vector env: C++ threads in this process, the fastest way to run Atari games.

Its recipe is the `ale` one, which differs from the single-env wrappers' in small ways: the maximum
is taken of gray frames, the no-ops follow FIRE, and a game goes on after a lost life without
another no-op or FIRE.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode

from atari_wrappers.backends.base import Info, ResetResult, StepResult
from atari_wrappers.ids import EnvId
from atari_wrappers.settings import Settings


class AleBackend:
    """`AtariVectorEnv`, with lost lives, raw rewards and true games told apart.

    ALE reports neither lost lives nor clipped rewards here: its `episodic_life` restarts the whole
    game, and clipping hides the score. Both are derived from what it does report, so that its
    `terminated` and `truncated` mean the end of a game and nothing else.
    """

    def __init__(self, env_id: EnvId, num_envs: int, settings: Settings) -> None:
        self._env = AtariVectorEnv(
            env_id.rom,
            num_envs,
            num_threads=settings.num_threads,
            max_num_frames_per_episode=settings.max_episode_frames,
            repeat_action_probability=settings.sticky_actions,
            full_action_space=settings.full_action_space,
            autoreset_mode=settings.autoreset_mode,
            img_height=settings.screen_size,
            img_width=settings.screen_size,
            stack_num=settings.frame_stack,
            frameskip=settings.frame_skip,
            noop_max=settings.noop_max,
            episodic_life=False,
            life_loss_info=False,
            reward_clipping=False,
            use_fire_reset=settings.fire_reset,
        )
        self.single_observation_space = self._env.single_observation_space
        self.single_action_space = self._env.single_action_space
        self._num_envs = num_envs
        self._same_step = settings.autoreset_mode == AutoresetMode.SAME_STEP
        self._episodic_life = settings.episodic_life
        self._clip_reward = settings.clip_reward is not False

    def reset(self, seeds: list[int] | None, options: dict[str, Any]) -> ResetResult:
        """Restart every env."""
        del options  # ALE has none, and VecEnv lets none through
        obs, info = self._env.reset(seed=None if seeds is None else np.array(seeds))
        self._lives = info["lives"]
        self._start = info["frame_number"] - info["episode_frame_number"]
        self._lives_bytes = self._lives.tobytes()
        self._returns = np.zeros(self._num_envs)
        self._step = 0
        self._first_step = np.zeros(self._num_envs, np.int64)
        self._restarting = np.zeros(self._num_envs, bool)
        self._any_restarting = False
        return obs, {
            "raw_reward": np.zeros(self._num_envs, np.float32),
            "lives": self._lives.copy(),
        }

    def send(self, actions: np.ndarray) -> None:
        """Hand the actions to ALE's threads."""
        self._env.send(actions)

    def recv(self) -> StepResult:
        """Wait for ALE's threads; the GIL is free meanwhile.

        Most steps end nothing. They are told by bytes: within a step, with the caches full of
        frames, each numpy operation costs 2 µs and more.
        """
        obs, reward, terminated, truncated, ale_info = self._env.recv()
        raw_reward = reward.astype(np.float32)
        lives = ale_info["lives"]
        info: Info = {"raw_reward": raw_reward, "lives": lives.copy()}
        self._returns += reward
        self._step += 1

        any_over = b"\x01" in terminated.tobytes() or b"\x01" in truncated.tobytes()
        lives_bytes = lives.tobytes()
        if any_over or lives_bytes != self._lives_bytes:
            self._lives_bytes = lives_bytes
            terminated = self._mark_ends(info, obs, terminated, truncated, ale_info)
        elif self._any_restarting:
            self._restarting = np.zeros(self._num_envs, bool)
        self._any_restarting = any_over
        reward = np.sign(raw_reward) if self._clip_reward else raw_reward.copy()
        return obs, reward, terminated, truncated, info

    def _mark_ends(
        self,
        info: Info,
        obs: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
        ale_info: Info,
    ) -> np.ndarray:
        """Add to `info` the games and lives that ended; return `terminated` with the latter."""
        lives = ale_info["lives"]
        game_over = terminated | truncated
        any_over = np.count_nonzero(game_over) > 0
        life_lost = self._lives_lost(lives, game_over) if self._episodic_life else None
        if any_over:
            info["episode"] = self._finish(game_over, ale_info)
            info["_episode"] = game_over
        if self._same_step and (any_over or life_lost is not None):
            self._add_final_obs(info, obs, game_over, life_lost, ale_info)
        self._lives = lives
        self._restarting = game_over
        return terminated if life_lost is None else terminated | life_lost

    def close(self, *, terminate: bool) -> None:
        """Join ALE's threads; they end with their interface, which `AtariVectorEnv.close` keeps."""
        del terminate  # a step ends by itself within milliseconds
        self._env.close()
        del self._env

    def _lives_lost(self, lives: np.ndarray, game_over: np.ndarray) -> np.ndarray | None:
        """Return where a life was lost and the game goes on; `None` for nowhere."""
        dropped = lives < self._lives
        if not np.count_nonzero(dropped):
            return None
        # Where a game has just begun, `lives` are the new game's and compare with nothing.
        lost = dropped & (lives > 0) & ~game_over & ~self._restarting
        return lost if np.count_nonzero(lost) else None

    def _finish(self, game_over: np.ndarray, ale_info: Info) -> Info:
        """Return the record of the games that ended, and begin their successors'."""
        frames = ale_info["episode_frame_number"]
        if self._same_step:
            # What ALE counts is the new game already. `frame_number` runs through all games, so
            # where a game began is their difference, and its length that of two beginnings.
            start = ale_info["frame_number"] - frames
            frames = start - self._start
            self._start = start
        record = {
            "r": np.where(game_over, self._returns, 0.0),
            "l": np.where(game_over, self._step - self._first_step, 0),
            "frames": np.where(game_over, frames, 0).astype(np.int64),
        }
        self._returns[game_over] = 0.0
        # In next-step mode the step that restarts an env by itself is no step of the new game.
        self._first_step[game_over] = self._step if self._same_step else self._step + 1
        return record

    def _add_final_obs(
        self,
        info: Info,
        obs: np.ndarray,
        game_over: np.ndarray,
        life_lost: np.ndarray | None,
        ale_info: Info,
    ) -> None:
        # ALE fills a fresh array, and only the rows where a game ended.
        final_obs = ale_info.get("final_obs")
        if final_obs is None:
            final_obs = np.empty_like(obs)
        mask = game_over
        if life_lost is not None:
            final_obs[life_lost] = obs[life_lost]
            mask = game_over | life_lost
        info["final_obs"] = final_obs
        info["_final_obs"] = mask
