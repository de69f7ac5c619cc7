"""The `ale` backend against the plain single env, over whole games, pixels and flags."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv
from games import raw_game

from atari_wrappers import VecEnv

NUM_ENVS = 2
PLAIN = {"noop_max": 0, "fire_reset": False, "backend": "ale"}


class Replay:
    """One env of the batch played by gymnasium's preprocessing, with the true game's record."""

    def __init__(self, game: str, max_frames: int) -> None:
        env = raw_game(game, max_num_frames_per_episode=max_frames)
        env = gym.wrappers.AtariPreprocessing(env, noop_max=0, terminal_on_life_loss=False)
        self._env = gym.wrappers.FrameStackObservation(env, 4, padding_type="zero")
        self.reset()

    def reset(self) -> None:
        self.obs = self._env.reset(seed=0)[0]
        self.total, self.length, self.lives = 0.0, 0, self._ale.lives()

    @property
    def _ale(self) -> gym.Env:
        return self._env.unwrapped.ale

    def step(self, action: int) -> None:
        before = self.lives
        self.obs, self.reward, self.terminated, self.truncated, _ = self._env.step(action)
        self.total += self.reward
        self.length += 1
        self.lives, self.frames = self._ale.lives(), self._ale.getEpisodeFrameNumber()
        self.over = self.terminated or self.truncated
        self.life_lost = 0 < self.lives < before and not self.over

    @property
    def record(self) -> tuple[float, int, int]:
        return self.total, self.length, self.frames


def assert_row_agrees(replay: Replay, env: int, result: tuple, same_step: bool) -> None:
    """Compare one env's row of a step with its replay, which has not restarted yet."""
    obs, reward, terminated, truncated, info = result
    assert info["raw_reward"][env] == replay.reward
    assert reward[env] == np.sign(replay.reward)
    assert terminated[env] == (replay.terminated or replay.life_lost)
    assert truncated[env] == replay.truncated
    assert bool("episode" in info and info["_episode"][env]) == replay.over
    if replay.over:
        assert tuple(info["episode"][key][env] for key in ("r", "l", "frames")) == replay.record
    ended = replay.over or replay.life_lost
    if same_step:
        assert bool("final_obs" in info and info["_final_obs"][env]) == ended
    else:
        assert "final_obs" not in info
    last = info["final_obs"] if same_step and ended else obs
    np.testing.assert_array_equal(last[env], replay.obs)


# Breakout and SpaceInvaders have lives, Pong and Freeway none. A whole game of Freeway lasts 2,048
# steps; the others end within the steps given, by losing or by truncation in mid-skip.
CASES = [
    ("Breakout", 400, 108_000, "same-step"),
    ("Breakout", 400, 108_000, "next-step"),
    ("SpaceInvaders", 900, 108_000, "same-step"),
    ("SpaceInvaders", 300, 501, "same-step"),
    ("SpaceInvaders", 300, 501, "next-step"),
    ("Pong", 1100, 108_000, "same-step"),
    ("Pong", 200, 203, "next-step"),
    ("Freeway", 2100, 108_000, "same-step"),
]


@pytest.mark.parametrize(("game", "steps", "max_frames", "autoreset"), CASES)
def test_ale_plays_as_the_single_env(
    game: str, steps: int, max_frames: int, autoreset: str, open_vec: Callable[..., VecEnv]
) -> None:
    same_step = autoreset == "same-step"
    vec = open_vec(
        f"{game}NoFrameskip-v4",
        NUM_ENVS,
        max_episode_frames=max_frames,
        autoreset=autoreset,
        **PLAIN,
    )
    replays = [Replay(game, max_frames) for _ in range(NUM_ENVS)]
    vec.reset(seed=0)
    rng = np.random.default_rng(1)
    restarting = [False] * NUM_ENVS
    games = 0
    for _ in range(steps):
        actions = rng.integers(vec.single_action_space.n, size=NUM_ENVS)
        result = vec.step(actions)
        for env, replay in enumerate(replays):
            if restarting[env]:
                replay.reset()
                restarting[env] = False
                np.testing.assert_array_equal(result[0][env], replay.obs)
                assert not result[2][env] | result[3][env]
                assert result[1][env] == 0
                continue
            replay.step(int(actions[env]))
            assert_row_agrees(replay, env, result, same_step)
            games += replay.over
            if replay.over and same_step:
                replay.reset()
                np.testing.assert_array_equal(result[0][env], replay.obs)
            elif replay.over:
                restarting[env] = True
            assert result[4]["lives"][env] == replay.lives
    assert games >= NUM_ENVS


@pytest.mark.parametrize("game", ["breakout", "space_invaders", "qbert"])
def test_lost_lives_are_those_that_ale_would_signal(
    game: str, open_vec: Callable[..., VecEnv]
) -> None:
    theirs = AtariVectorEnv(
        game, 4, life_loss_info=True, reward_clipping=False, autoreset_mode="SameStep"
    )
    name = "".join(part.capitalize() for part in game.split("_"))
    ours = open_vec(f"{name}NoFrameskip-v4", 4, backend="ale")
    np.testing.assert_array_equal(ours.reset(seed=5)[0], theirs.reset(seed=5)[0])
    rng = np.random.default_rng(0)
    lost = 0
    for _ in range(400):
        actions = rng.integers(ours.single_action_space.n, size=4)
        mine, other = ours.step(actions), theirs.step(actions)
        np.testing.assert_array_equal(mine[0], other[0])
        np.testing.assert_array_equal(mine[2], other[2])
        np.testing.assert_array_equal(mine[3], other[3])
        lost += int(mine[2].sum())
    assert lost >= 4


def test_without_episodic_life_only_games_end(open_vec: Callable[..., VecEnv]) -> None:
    vec = open_vec("BreakoutNoFrameskip-v4", 4, backend="ale", episodic_life=False)
    vec.reset(seed=0)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(400):
        _, _, terminated, truncated, info = vec.step(rng.integers(4, size=4))
        np.testing.assert_array_equal(
            terminated | truncated, info["_episode"] if "episode" in info else np.zeros(4, bool)
        )
        ends += int(terminated.sum())
    assert ends >= 4


def test_skip_of_one_pools_nothing(open_vec: Callable[..., VecEnv]) -> None:
    vec = open_vec("SpaceInvadersNoFrameskip-v4", 1, frame_skip=1, **PLAIN)
    env = gym.wrappers.AtariPreprocessing(raw_game("SpaceInvaders"), noop_max=0, frame_skip=1)
    vec.reset(seed=0)
    env.reset(seed=0)
    for step in range(200):
        np.testing.assert_array_equal(vec.step([step % 6])[0][0, -1], env.step(step % 6)[0])
