"""The `ale` backend against the plain single env, over whole games, pixels, flags and records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from games import raw_game

from atari_wrappers import VecEnv
from atari_wrappers.backends.results import RECORD

NUM_ENVS = 2
PLAIN = {"noop_max": 0, "fire_reset": False, "backend": "ale"}
OpenVec = Callable[..., VecEnv]


class Replay:
    """One env of the batch played by gymnasium's preprocessing, with the true game's record."""

    def __init__(self, game: str, max_frames: int, episodic_life: bool) -> None:
        env = raw_game(game, max_num_frames_per_episode=max_frames)
        env = gym.wrappers.AtariPreprocessing(env, noop_max=0, terminal_on_life_loss=False)
        self._env = gym.wrappers.FrameStackObservation(env, 4, padding_type="zero")
        self._episodic_life = episodic_life
        self.reset()

    def reset(self) -> None:
        self.obs = self._env.reset(seed=0)[0]
        self.total, self.length, self.lives = 0.0, 0, self._ale.lives()
        self.frames = self._ale.getEpisodeFrameNumber()
        self.reward, self.terminated, self.truncated = 0.0, False, False
        self.over = self.life_lost = False

    @property
    def _ale(self) -> Any:
        return self._env.unwrapped.ale

    def step(self, action: int) -> None:
        before = self.lives
        self.obs, self.reward, self.terminated, self.truncated, _ = self._env.step(action)
        self.total += self.reward
        self.length += 1
        self.lives, self.frames = self._ale.lives(), self._ale.getEpisodeFrameNumber()
        self.over = self.terminated or self.truncated
        dropped = 0 < self.lives < before
        self.life_lost = self._episodic_life and dropped and not self.over

    @property
    def record(self) -> tuple[float, int, int]:
        return self.total, self.length, self.frames

    def row(self, lives: int) -> tuple[Any, ...]:
        """Return what an info's row should be, in the order of `RECORD`."""
        flags = (self.terminated, self.truncated)
        return self.reward, lives, *flags, *self.record


def row(info: dict[str, Any], env: int) -> tuple[Any, ...]:
    return tuple(info[name][env] for name in RECORD)


def assert_row_agrees(replay: Replay, env: int, result: tuple, same_step: bool) -> None:
    """Compare one env's row of a step with its replay, which has not restarted yet."""
    obs, reward, terminated, truncated, info = result
    assert row(info, env) == replay.row(lives=info["lives"][env])
    assert info["env_id"].tolist() == [0, 1]
    assert reward[env] == np.sign(replay.reward)
    assert terminated[env] == (replay.terminated or replay.life_lost)
    assert truncated[env] == replay.truncated
    assert bool("episode" in info and info["_episode"][env]) == replay.over
    if replay.over:
        assert tuple(info["episode"][key][env] for key in ("r", "l", "frames")) == replay.record
    ended = replay.over or replay.life_lost
    for name in ("final_obs", "final_info"):
        assert bool(name in info and info[f"_{name}"][env]) == (ended and same_step)
    if ended and same_step:
        np.testing.assert_array_equal(info["final_obs"][env], replay.obs)
        assert row(info["final_info"], env) == replay.row(lives=replay.lives)
    else:
        np.testing.assert_array_equal(obs[env], replay.obs)


# Breakout and SpaceInvaders have lives, Pong none. All end within the steps given, by losing or by
# truncation in mid-skip.
CASES = [
    ("Breakout", 400, 108_000, "same-step"),
    ("Breakout", 400, 108_000, "next-step"),
    ("SpaceInvaders", 300, 501, "same-step"),
    ("Pong", 200, 203, "next-step"),
]


@pytest.mark.parametrize(("game", "steps", "max_frames", "autoreset"), CASES)
def test_ale_plays_as_the_single_env(
    game: str, steps: int, max_frames: int, autoreset: str, open_vec: OpenVec
) -> None:
    same_step = autoreset == "same-step"
    parts = {"max_episode_frames": max_frames, "episodic_life": same_step}
    vec = open_vec(f"{game}NoFrameskip-v4", NUM_ENVS, autoreset=autoreset, **parts, **PLAIN)
    replays = [Replay(game, max_frames, same_step) for _ in range(NUM_ENVS)]
    vec.reset(seed=0)
    rng = np.random.default_rng(1)
    games = 0
    for _ in range(steps):
        actions = rng.integers(vec.single_action_space.n, size=NUM_ENVS)
        result = vec.step(actions)
        for env, replay in enumerate(replays):
            if replay.over and not same_step:
                replay.reset()
            else:
                replay.step(int(actions[env]))
            assert_row_agrees(replay, env, result, same_step)
            games += replay.over
            if replay.over and same_step:
                replay.reset()
                np.testing.assert_array_equal(result[0][env], replay.obs)
            assert result[4]["lives"][env] == replay.lives
    assert games >= NUM_ENVS


def test_without_episodic_life_only_games_end(open_vec: OpenVec) -> None:
    vec = open_vec("BreakoutNoFrameskip-v4", 4, backend="ale", episodic_life=False)
    vec.reset(seed=0)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(400):
        _, _, terminated, truncated, info = vec.step(rng.integers(4, size=4))
        over = info["game_terminated"] | info["game_truncated"]
        np.testing.assert_array_equal(terminated | truncated, over)
        np.testing.assert_array_equal(over, info.get("_episode", np.zeros(4, bool)))
        ends += int(terminated.sum())
    assert ends >= 4


def test_skip_of_one_pools_nothing(open_vec: OpenVec) -> None:
    vec = open_vec("SpaceInvadersNoFrameskip-v4", 1, frame_skip=1, **PLAIN)
    env = gym.wrappers.AtariPreprocessing(raw_game("SpaceInvaders"), noop_max=0, frame_skip=1)
    vec.reset(seed=0)
    env.reset(seed=0)
    for step in range(200):
        np.testing.assert_array_equal(vec.step([step % 6])[0][0, -1], env.step(step % 6)[0])


def test_returns_agree_in_a_game_that_scores_during_its_no_ops(open_vec: OpenVec) -> None:
    game, plays = "SkiingNoFrameskip-v4", {}
    limits = {"max_episode_frames": 300, "clip_reward": False}
    for backend in ("ale", "sync"):
        vec = open_vec(game, NUM_ENVS, backend=backend, **limits)
        infos = [vec.reset(seed=3)[1], *(vec.step([1, 2])[4] for _ in range(100))]
        assert any("episode" in info for info in infos)
        plays[backend] = [info["episode_return"] for info in infos]
        assert infos[1]["episode_return"].tolist() == infos[1]["raw_reward"].tolist()
    np.testing.assert_array_equal(plays["ale"], plays["sync"])
    reset = open_vec(game, NUM_ENVS, preset="baselines").reset(seed=3)[1]
    assert (reset["episode_return"] < 0).all(), "as Monitor counts"
