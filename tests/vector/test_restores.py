"""Every game goes on from a saved state, in the batch that saved it and in one of another past."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
from ale_py import roms

from atari_core import actions
from atari_wrappers import VecEnv

OpenVec = Callable[..., VecEnv]
Played = list[tuple[np.ndarray, ...]]

# While these think for some frames, ale-py shows what its states do not hold.
THINKING = {"ALE/TicTacToe3D-v5", "ALE/VideoCheckers-v5"}
# Steps before each save: right after the reset, in the first frames, and in the game.
BEFORE = (0, 1, 20)
STEPS = 10


def ids_by_actions() -> dict[int, list[str]]:
    """Return the games with as many actions, which may share a batch."""
    groups = defaultdict(list)
    for env_id in sorted(gym.registry):
        if env_id.startswith("ALE/") and "obs_type" not in gym.spec(env_id).kwargs:
            rom = roms.get_rom_path(gym.spec(env_id).kwargs["game"])
            groups[len(actions(str(rom), full=False))].append(env_id)
    return groups


GROUPS = ids_by_actions()


def play(vec: VecEnv, steps: int, seed: int) -> Played:
    """Play seeded random actions and return what was seen."""
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(steps):
        actions = rng.integers(vec.single_action_space.n, size=vec.num_envs)
        obs, reward, terminated, truncated, info = vec.step(actions)
        record = [
            info[name] for name in ("lives", "raw_reward", "episode_return", "episode_frames")
        ]
        seen.append((obs, reward, terminated, truncated, *record))
    return seen


@pytest.mark.parametrize("backend", ["native", "sync"])
@pytest.mark.parametrize("mode", ["next-step", "disabled"])
def test_a_state_of_a_step_that_restarted_goes_on_in_other_modes(
    mode: str, backend: str, open_vec: OpenVec
) -> None:
    game = {"backend": backend, "max_episode_frames": 40}
    vec, other = (
        open_vec("BreakoutNoFrameskip-v4", 1, autoreset=each, **game)
        for each in ("same-step", mode)
    )
    vec.reset(seed=0)
    while not vec.step([1])[3][0]:
        pass
    other.reset(seed=5)
    other.restore_state(vec.save_state())
    for _ in range(3):
        np.testing.assert_array_equal(other.step([2])[0], vec.step([2])[0])


def assert_same(seen: Played, expected: Played, ids: list[str], hides: set[str]) -> None:
    """Compare the games, and what they show but for those whose states do not hold it."""
    for step, (ours, theirs) in enumerate(zip(seen, expected, strict=True)):
        for what, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            rows = np.array([np.array_equal(*row) for row in zip(one, other, strict=True)])
            differing = [env_id for env_id, same in zip(ids, rows, strict=True) if not same]
            assert not set(differing) - (hides if what == 0 else set()), (step, what, differing)


def test_no_game_is_left_out() -> None:
    assert sum(map(len, GROUPS.values())) == 104


# Those with 5 and 6 actions are Tetris and Q*bert, among others; those that think have 5 and 10.
@pytest.mark.parametrize(
    ("group", "obs_type", "backend"),
    [
        *((group, "screen", "sync") for group in GROUPS),
        *((group, "ram", "sync") for group in (5, 10)),
        (5, "screen", "async"),
    ],
)
def test_every_game_goes_on(group: int, obs_type: str, backend: str, open_vec: OpenVec) -> None:
    ids, hides = GROUPS[group], THINKING if obs_type == "screen" else set()
    # Without sticky actions, and with: what ALE took last is to be restored then, too.
    sticky = 0.0 if obs_type == "ram" else 0.25
    settings = {"backend": backend, "preset": "gymnasium", "sticky_actions": sticky}
    settings["obs_type"] = obs_type
    vec, other = (open_vec(ids, **settings) for _ in range(2))
    vec.reset(seed=1)
    other.reset(seed=2)
    for seed, steps in enumerate(BEFORE):
        play(vec, steps, seed)
        play(other, 3, seed)
        states = vec.save_state()
        expected = play(vec, STEPS, seed=9)
        for batch in (vec, other):
            batch.restore_state(states)
            assert_same(play(batch, STEPS, seed=9), expected, ids, hides)
