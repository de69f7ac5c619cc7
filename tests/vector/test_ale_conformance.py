"""The `ale` backend against the plain single env, ALE's own vector env and the `sync` backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv
from games import raw_game
from gymnasium.vector import AutoresetMode

from atari_wrappers import VecEnv
from atari_wrappers.backends.rows import RECORD

NUM_ENVS = 2
PLAIN = {"noop_max": 0, "fire_reset": False, "backend": "ale"}
MODES = {"same-step": AutoresetMode.SAME_STEP, "next-step": AutoresetMode.NEXT_STEP}
OpenVec = Callable[..., VecEnv]


def rom_id(rom: str) -> str:
    return "".join(part.capitalize() for part in rom.split("_")) + "NoFrameskip-v4"


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


# Breakout and SpaceInvaders have lives, Pong and Freeway none. A whole game of Freeway lasts 2,048
# steps; the others end within the steps given, by losing or by truncation in mid-skip.
CASES = [
    ("Breakout", 400, 108_000, "same-step"),
    ("Breakout", 400, 108_000, "next-step"),
    ("SpaceInvaders", 700, 108_000, "same-step"),
    ("SpaceInvaders", 300, 501, "same-step"),
    ("SpaceInvaders", 300, 501, "next-step"),
    ("Pong", 1100, 108_000, "same-step"),
    ("Pong", 200, 203, "next-step"),
    ("Freeway", 2100, 108_000, "same-step"),
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


@pytest.fixture
def open_theirs() -> Iterator[Callable[..., AtariVectorEnv]]:
    opened: list[AtariVectorEnv] = []

    def open_one(*args: Any, autoreset: str = "same-step", **kwargs: Any) -> AtariVectorEnv:
        opened.append(AtariVectorEnv(*args, autoreset_mode=MODES[autoreset], **kwargs))
        return opened[-1]

    yield open_one
    for env in opened:
        env.close()


def assert_same_play(ours: VecEnv, theirs: AtariVectorEnv, steps: int) -> int:
    """Play both with everything that is random; return how many episodes ended."""
    reset, expected = ours.reset(seed=5), theirs.reset(seed=5)
    np.testing.assert_array_equal(reset[0], expected[0])
    np.testing.assert_array_equal(reset[1]["episode_frames"], expected[1]["episode_frame_number"])
    ours.action_space.seed(0)
    ends = 0
    for _ in range(steps):
        actions = ours.action_space.sample()
        mine, other = ours.step(actions), theirs.step(actions)
        for one, another in zip(mine[:4], other[:4], strict=True):
            np.testing.assert_array_equal(one, another)
        np.testing.assert_array_equal(mine[4]["lives"], other[4]["lives"])
        ended = mine[2] | mine[3]
        if "final_obs" in other[4]:
            np.testing.assert_array_equal(mine[4]["_final_obs"], ended)
            over = mine[4].get("_episode", False)  # they do not write the rows of lost lives
            last, expected = mine[4]["final_obs"][over], other[4]["final_obs"][over]
            np.testing.assert_array_equal(last, expected)
        ends += int(ended.sum())
    return ends


# Ours, theirs, and how many episodes end at least in 400 steps of two envs.
PEER_CASES = [
    ("qbert", {}, {}, 1),
    ("breakout", {"autoreset": "next-step"}, {}, 3),
    ("seaquest", {"sticky_actions": 0.25}, {"repeat_action_probability": 0.25}, 1),
    ("space_invaders", {"episodic_life": True}, {"episodic_life": True}, 2),
    (
        "ms_pacman",
        {"episodic_life": True, "autoreset": "next-step", "clip_reward": False},
        {"episodic_life": True, "reward_clipping": False},
        4,
    ),
    ("pong", {"max_episode_frames": 203}, {"max_num_frames_per_episode": 203}, 12),
    (
        "breakout",
        {"max_episode_frames": 150, "autoreset": "next-step", "sticky_actions": 0.25},
        {"max_num_frames_per_episode": 150, "repeat_action_probability": 0.25},
        16,
    ),
    ("pong", {"max_episode_frames": 0}, {"max_num_frames_per_episode": 10**6}, 0),
    ("ms_pacman", {"noop_max": 5, "frame_skip": 1}, {"noop_max": 6, "frameskip": 1}, 0),
    ("freeway", {"fire_reset": False}, {"use_fire_reset": False}, 0),
    (
        "breakout",
        {"continuous": True, "continuous_action_threshold": 0.3},
        {"continuous": True, "continuous_action_threshold": 0.3},
        4,
    ),
    (
        "seaquest",
        {"grayscale": False, "screen_size": (60, 100), "frame_stack": 2, "full_action_space": True},
        {
            "grayscale": False,
            "img_height": 60,
            "img_width": 100,
            "stack_num": 2,
            "full_action_space": True,
        },
        1,
    ),
]


@pytest.mark.parametrize(("rom", "ours", "theirs", "ends"), PEER_CASES)
def test_preset_ale_is_ales_own_vector_env(
    rom: str, ours: dict, theirs: dict, ends: int, open_vec: OpenVec, open_theirs: Callable
) -> None:
    vec = open_vec(rom_id(rom), NUM_ENVS, preset="ale", backend="ale", **ours)
    peer = open_theirs(rom, NUM_ENVS, autoreset=ours.get("autoreset", "same-step"), **theirs)
    assert assert_same_play(vec, peer, 400) >= ends


@pytest.mark.parametrize("rom", ["breakout", "space_invaders", "qbert"])
def test_lost_lives_are_those_that_ale_would_signal(
    rom: str, open_vec: OpenVec, open_theirs: Callable
) -> None:
    theirs = open_theirs(rom, 4, life_loss_info=True)
    assert assert_same_play(open_vec(rom_id(rom), 4, backend="ale"), theirs, 400) >= 4


# `sync` derives nothing: its games count for themselves. No reward comes before the first step of
# these, so that returns agree too.
@pytest.mark.parametrize(
    ("rom", "settings"),
    [
        ("space_invaders", {"sticky_actions": 0.25}),
        ("breakout", {}),
        ("breakout", {"preset": "ale", "episodic_life": True, "sticky_actions": 0.25}),
        ("seaquest", {"max_episode_frames": 301}),
        ("ms_pacman", {"preset": "ale", "autoreset": "next-step", "max_episode_frames": 203}),
        ("pong", {"preset": "ale", "sticky_actions": 0.25, "max_episode_frames": 150}),
    ],
)
def test_ale_and_sync_say_the_same(rom: str, settings: dict, open_vec: OpenVec) -> None:
    ale, sync = (open_vec(rom_id(rom), 2, backend=name, **settings) for name in ("ale", "sync"))
    assert_same((*ale.reset(seed=3),), (*sync.reset(seed=3),))
    rng = np.random.default_rng(0)
    for step in range(400):
        actions = rng.integers(ale.single_action_space.n, size=2)
        assert_same(ale.step(actions), sync.step(actions))
        if step % 100 == 99:
            mask = np.array([step % 200 == 99, True])
            seed = [step, None] if step < 300 else None
            assert_same(ale.reset(seed=seed, mask=mask), sync.reset(seed=seed, mask=mask))


def assert_same(mine: tuple, other: tuple) -> None:
    for one, another in zip(mine[:-1], other[:-1], strict=True):
        np.testing.assert_array_equal(one, another)
    assert_same_info(mine[-1], other[-1], None)


def assert_same_info(mine: dict, other: dict, mask: np.ndarray | None) -> None:
    assert mine.keys() == other.keys()
    for name, value in mine.items():
        rows = mine.get(f"_{name}", mask) if name.startswith("final_") else mask
        if isinstance(value, dict):
            assert_same_info(value, other[name], rows)
            continue
        chosen = slice(None) if rows is None else rows
        np.testing.assert_array_equal(value[chosen], other[name][chosen], name)
        assert value.dtype == other[name].dtype


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_a_masked_reset_leaves_the_others_alone(
    autoreset: str, open_vec: OpenVec, open_theirs: Callable
) -> None:
    """Envs are compared with their like in a batch where nothing but themselves is ever reset."""
    settings = {"preset": "ale", "autoreset": autoreset, "max_episode_frames": 100}
    vec, twin = (open_vec(rom_id("breakout"), 3, backend="ale", **settings) for _ in range(2))
    single = open_theirs("breakout", 1)
    vec.reset(seed=0)
    twin.reset(seed=0)
    rng = np.random.default_rng(0)
    for step in range(120):
        actions = rng.integers(4, size=3)
        mine, other = vec.step(actions), twin.step(actions)
        np.testing.assert_array_equal(mine[0][1:], other[0][1:])
        assert row(mine[4], 1) == row(other[4], 1)
        assert row(mine[4], 2) == row(other[4], 2)
        if step % 17 == 16:
            obs, info = vec.reset(seed=[step, None, None], mask=[True, False, False])
            fresh, expected = single.reset(seed=np.array([step]))
            np.testing.assert_array_equal(obs[:1], fresh)
            np.testing.assert_array_equal(obs[1:], mine[0][1:])
            frames = int(expected["episode_frame_number"][0])
            assert row(info, 0) == (0.0, 5, False, False, 0.0, 0, frames)
            assert row(info, 1) == row(mine[4], 1)


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
