"""What EnvPool's tests ask of its Atari pools.

EnvPool 1.2.5, `envpool/atari/`, and of `envpool/dummy/` what needs no C++ env. Each test names its
source. That the `envpool` recipe shows EnvPool's own pictures is tested with the recipes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from backends import LOCAL

from atari_wrappers import VecEnv

OpenVec = Callable[..., VecEnv]
# One raw frame per observation: what EnvPool's tests of whole screens ask for.
RAW = {"frame_stack": 1, "frame_skip": 1, "screen_size": (210, 160), "noop_max": 0}


def resets(vec: VecEnv, seed: int) -> list[bytes]:
    """Return what five resets show, the first of them seeded."""
    return [vec.reset(seed=seed if turn == 0 else None)[0].tobytes() for turn in range(5)]


def test_seeds_decide_resets_and_make_them_vary(open_any: OpenVec) -> None:
    """`atari_envpool_test.py::test_seed_determinism`, `seed_test_utils.py::check_seeded_resets`."""
    settings = {"noop_max": 29, "frame_stack": 1, "frame_skip": 1}
    vec = open_any("SpaceInvadersNoFrameskip-v4", 2, **settings)
    twin = open_any("SpaceInvadersNoFrameskip-v4", 2, **settings)
    seeded = resets(vec, 11)
    assert resets(twin, 11) == seeded
    assert resets(vec, 43) != seeded
    assert len(set(seeded)) > 1, "resets follow one another with other numbers of no-ops"
    half = len(seeded[0]) // 2
    assert any(shown[:half] != shown[half:] for shown in seeded), "the two envs differ"


def test_mode_and_difficulty_change_what_is_seen(open_atari: OpenVec) -> None:
    """`atari_envpool_test.py::test_mode_and_difficulty_change_reset_observation`."""
    for game, setting in (("Breakout", {"difficulty": 1}), ("Freeway", {"mode": 1})):
        seen = []
        for chosen in ({}, setting):
            vec = open_atari(f"{game}NoFrameskip-v4", 1, grayscale=False, **RAW, **chosen)
            vec.reset(seed=0)
            seen.append([vec.step([0])[0] for _ in range(8)])
        assert any((plain != other).any() for plain, other in zip(*seen, strict=True)), game


# Lives are counted by each backend: where there are none and where ALE counts them in its own way,
# `sync` and `async` do as in Breakout.
@pytest.mark.parametrize(
    ("game", "backend"),
    [
        *(("Breakout", backend) for backend in LOCAL),
        *((game, backend) for game in ("Pong", "WizardOfWor") for backend in ("ale", "native")),
    ],
)
def test_a_game_ends_with_its_last_life_only(game: str, backend: str, open_vec: OpenVec) -> None:
    """`atari_envpool_test.py::test_reset_life` (EnvPool #171)."""
    settings = {"backend": backend, "full_action_space": True, "episodic_life": True}
    vec = open_vec(f"{game}NoFrameskip-v4", 2, **settings)
    _, info = vec.reset(seed=0)
    full = info["lives"].copy()
    rng = np.random.default_rng(0)
    lost = games = 0
    before = full
    for _ in range(2500):
        _, _, terminated, truncated, info = vec.step(rng.integers(18, size=2))
        over = info["game_terminated"]
        last = info.get("final_info", info)["lives"]
        if full.max() > 0:
            assert (last[over] == 0).all(), "no game ends while lives are left"
            assert (info["lives"][over] == full[over]).all(), "the next one has all its lives"
            fell = ~over & (last < before) & (last > 0)
            assert terminated[fell].all(), "a lost life ends the episode"
            lost += int(fell.sum())
        assert not truncated.any()
        before = np.where(over, full, info["lives"])
        games += int(over.sum())
        if games and (lost or full.max() == 0):
            break
    else:
        pytest.fail("no game ended")


def test_an_explicit_reset_brings_all_lives(open_any: OpenVec) -> None:
    """`atari_envpool_test.py::test_explicit_reset_with_episodic_life_gymnasium` (EnvPool #301)."""
    vec = open_any("BreakoutNoFrameskip-v4", 2, episodic_life=True)
    left = [5]
    for turn in range(6):
        _, info = vec.reset(seed=42 if turn == 0 else None)
        assert info["lives"].tolist() == [5, 5]
        for _ in range(20 * turn):
            info = vec.step([1, 1])[4]
        left += info["lives"].tolist()
    assert min(left) < 5, "no reset came after a lost life"


def test_envs_are_stepped_in_parts(open_atari: OpenVec) -> None:
    """`atari_envpool_test.py::test_partial_step`: each env keeps its own count of steps."""
    limit, num_envs = 10, 5
    vec = open_atari("DefenderNoFrameskip-v4", num_envs, max_episode_steps=limit)
    even, odd = np.arange(num_envs)[::2], np.arange(num_envs)[1::2]

    def step(ids: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        _, _, _, truncated, info = vec.step(np.zeros(len(ids), int), env_id=ids)
        np.testing.assert_array_equal(info["env_id"], ids)
        return truncated, info

    for _ in range(3):
        vec.reset()
        step(odd)
        for _ in range(limit - 2):
            assert not step(np.arange(num_envs))[0].any()
        truncated, info = step(np.arange(num_envs))
        np.testing.assert_array_equal(info["env_id"][truncated], odd)
        assert step(even)[0].all()


def test_colours_are_resized_like_gray(open_atari: OpenVec) -> None:
    """`atari_envpool_test.py::test_no_gray_scale`; colours are our last axis."""
    small = open_atari("BreakoutNoFrameskip-v4", 1, grayscale=False)
    whole = open_atari("BreakoutNoFrameskip-v4", 1, grayscale=False, screen_size=(210, 160))
    assert small.single_observation_space.shape == (4, 84, 84, 3)
    assert whole.single_observation_space.shape == (4, 210, 160, 3)
    pairs = [(small.reset(seed=0)[0], whole.reset(seed=0)[0])]
    pairs += [(small.step([1])[0], whole.step([1])[0]) for _ in range(4)]
    for resized, raw in pairs:
        for frame in range(4):
            expected = cv2.resize(raw[0, frame], (84, 84), interpolation=cv2.INTER_AREA)
            np.testing.assert_array_equal(resized[0, frame], expected)


@pytest.mark.parametrize(("num_envs", "batch_size"), [(8, 3), (10, 7)])
def test_batches_answer_who_sent_the_actions(
    num_envs: int, batch_size: int, open_hosted: OpenVec
) -> None:
    """`atari_envpool_test.py::test_benchmark`, `dummy_py_envpool_test.py::test_envpool`."""
    vec = open_hosted(
        "peer_envs:Counting-v0", num_envs, batch_size=batch_size, autoreset="next-step"
    )
    vec.reset_async()
    steps = np.full(num_envs, -1)  # the first answer is the reset's
    sent = np.zeros(num_envs, int)
    for turn in range(100_000):
        obs, reward, _, _, info = vec.recv()
        ids = info["env_id"]
        assert (ids.dtype, len(ids), len(set(ids.tolist()))) == (np.int32, batch_size, batch_size)
        steps[ids] += 1
        np.testing.assert_array_equal(obs, steps[ids] % 4)
        np.testing.assert_array_equal(reward, np.where(obs == 0, 0, sent[ids]))
        sent[ids] = (ids + turn) % 4
        # Those received last are those that a send without ids is for.
        vec.send(sent[ids], env_id=ids if turn % 2 else None)
        if steps.min() >= 5:
            break
    else:
        pytest.fail(f"some envs starve: {steps}")


def test_sizes_say_whether_batches_are_partial(open_hosted: OpenVec) -> None:
    """`api_test.py::test_metadata`."""
    vec = open_hosted("peer_envs:Counting-v0", 4)
    assert (vec.num_envs, vec.batch_size) == (4, 4)
    vec = open_hosted("peer_envs:Counting-v0", 8, batch_size=4)
    assert (vec.num_envs, vec.batch_size) == (8, 4)


def test_results_have_their_types_from_the_first_one_on(open_any: OpenVec) -> None:
    """`api_test.py::test_lowlevel_step`, `::test_highlevel_step`."""
    vec = open_any(
        "PongNoFrameskip-v4",
        4,
        max_episode_frames=400,
        autoreset="next-step",
        episodic_life=False,
    )
    vec.reset_async(seed=0)
    obs, info = vec.reset_wait()
    ended = np.zeros(4, bool)
    for _ in range(120):
        assert (obs.dtype, obs.shape) == (np.uint8, (4, 4, 84, 84))
        for name, dtype in {
            "env_id": np.int32,
            "lives": np.int32,
            "raw_reward": np.float32,
        }.items():
            assert (info[name].dtype, info[name].shape) == (dtype, (4,)), name
        assert info["env_id"].tolist() == [0, 1, 2, 3]
        vec.send(np.zeros(4, np.int32))
        obs, reward, terminated, truncated, info = vec.recv()
        assert (reward.dtype, terminated.dtype, truncated.dtype) == (np.float32, bool, bool)
        done = terminated | truncated
        assert not (ended & done).any(), "a restarted env has not ended"
        ended = done
        if ended.any():
            break
    else:
        pytest.fail("no game ended")
    vec.step(np.zeros(4, int))


@pytest.mark.parametrize("game", ["Pong", "MsPacman"])
def test_a_picture_is_the_raw_observation_in_colour(game: str, open_hosted: OpenVec) -> None:
    """`atari_render_test.py`: both of its tests."""
    vec = open_hosted(f"{game}NoFrameskip-v4", 2, grayscale=False, fire_reset=False, **RAW)
    obs, _ = vec.reset(seed=0)
    for _ in range(3):
        frames = vec.render()
        for index, frame in enumerate(frames):
            assert (frame.dtype, frame.shape) == (np.uint8, (210, 160, 3))
            np.testing.assert_array_equal(frame, obs[index, 0])
            np.testing.assert_array_equal(vec.render_at(index), frame)
        obs = vec.step([2, 3])[0]
