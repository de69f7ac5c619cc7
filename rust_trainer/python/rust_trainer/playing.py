"""Whole games with a loaded policy, without the trainer: their returns, and a video of one."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rust_trainer.policy import Policy

_NUM_ENVS = 8
_PICTURES = {"render_mode": "rgb_array"}


@dataclass(frozen=True)
class Games:
    """True games that were played to their ends.

    Attributes:
        returns: Raw returns, in the order in which the games ended.
        lengths: In agent steps.
    """

    returns: list[float]
    lengths: list[int]

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(np.mean(self.returns))

    @property
    def std(self) -> float:
        """Standard deviation of the returns, of the population."""
        return float(np.std(self.returns))


def play_games(policy: Policy, episodes: int, *, seed: int, greedy: bool) -> Games:
    """Play true games in a batch of the policy's environments.

    Each environment plays a fixed share of them: were the first that end taken from any, short
    games would be counted too often. In games for two the other side plays at random.

    Args:
        policy: What plays.
        episodes: Games, at least 1.
        seed: Of the games and of what is drawn.
        greedy: Take the best action instead of drawing from the policy.

    Raises:
        Exception: As `atari_wrappers.make_vec`.
    """
    num_envs = min(_NUM_ENVS, episodes)
    left = np.array([(episodes + env) // num_envs for env in range(num_envs)])
    policy.rng = np.random.default_rng(seed)
    games = Games([], [])
    envs = policy.env.make_vec(num_envs)
    try:
        obs, _ = envs.reset(seed=seed)
        state = None
        ended: Any = np.ones(num_envs, bool)
        while left.any():
            actions, state = _act(policy, obs, state, greedy=greedy, episode_start=ended)
            obs, _, terminated, truncated, info = envs.step(actions)
            ended = np.asarray(terminated | truncated).reshape(num_envs, -1).any(1)
            records: Any = info.get("episode")
            for env in np.flatnonzero(info.get("_episode", ())):
                if left[env]:
                    left[env] -= 1
                    games.returns.append(float(np.ravel(records["r"][env])[0]))
                    games.lengths.append(int(np.ravel(records["l"][env])[0]))
    finally:
        envs.close()
    return games


def record_game(policy: Policy, file: Path, *, seed: int, greedy: bool) -> None:
    """Write a video of one game as mp4; in games for two the other side plays at random.

    Raises:
        ImportError: PyAV is missing, of the extra `hub`.
        OSError: The video cannot be written.
        Exception: As `atari_wrappers.make_env`, for an environment that draws no pictures.
    """
    policy.rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".unfinished-") as folder:
        settings: dict[str, Any] = {"video_dir": folder}
        if policy.env.recipe is None:
            settings["env_kwargs"] = _PICTURES
        env = policy.env.make_env(**settings)
        try:
            obs, _ = env.reset(seed=seed)
            state, is_over = None, False
            while not is_over:
                action, state = _act(policy, obs, state, greedy=greedy)
                obs, _, terminated, truncated, _ = env.step(action)
                is_over = bool(np.any(terminated) or np.any(truncated))
        finally:
            env.close()
        video = next(Path(folder).glob("*.mp4"), None)
        if video is None:
            raise OSError(f"no video of the game came to `{file.parent}`; is there room for it?")
        video.replace(file)


def _act(policy: Policy, obs: Any, state: Any, **how: Any) -> tuple[Any, Any]:
    """Choose actions; in games for two those of the second player are random."""
    actions, state = policy.act(obs, state, **how)
    if policy.env.num_players > 1:
        actions[..., 1] = policy.rng.integers(policy.num_actions, size=actions.shape[:-1])
    return actions, state
