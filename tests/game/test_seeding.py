"""Random numbers: the generators that other libraries use, against what defines them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from games import make_game

import atari_wrappers.ids  # noqa: F401  (registers the games)
from atari_wrappers.game.emulator import Emulator
from atari_wrappers.game.seeding import HashedDraws, RawDraws, make_draws
from atari_wrappers.plain_data import pack, unpack


def test_the_twister_is_that_of_the_cpp_standard() -> None:
    # [rand.predef]: the 10,000th number of a default-constructed mt19937, whose seed is 5489.
    draws = RawDraws(5489)
    numbers = [draws.between(0, 2**32 - 1) for _ in range(10_000)]
    assert numbers[-1] == 4_123_659_995


@pytest.mark.parametrize("seed", [0, 5, 2**31 - 2])
def test_hashed_seeds_are_those_of_gymnasiums_atari_env(seed: int) -> None:
    env = gym.make("ALE/Pong-v5").unwrapped
    env.reset(seed=seed)
    draws = HashedDraws(seed)
    assert draws.ale_seed == env.ale.getInt("random_seed")
    assert draws.generator.bit_generator.state == env.np_random.bit_generator.state


@pytest.mark.parametrize("way", ["hashed", "raw"])
def test_both_ends_are_drawn(way: str) -> None:
    draws = make_draws(way, 3)
    assert {draws.between(2, 5) for _ in range(200)} == {2, 3, 4, 5}
    assert {draws.between(4, 4) for _ in range(5)} == {4}


# 2**32 numbers fall 4 to 3 on such a span: were none drawn again, multiples of 3 would be half of
# what is drawn.
def test_wide_spans_are_uniform() -> None:
    draws = RawDraws(1)
    residues = np.bincount([draws.between(0, 3 * 2**30 - 1) % 3 for _ in range(9000)])
    assert abs(residues - 3000).max() < 300


@pytest.mark.parametrize("way", ["hashed", "raw"])
def test_states_go_on(way: str) -> None:
    draws, other = make_draws(way, 3), make_draws(way, None)
    draws.between(0, 9)
    other.set_state(unpack("draws", 1, pack("draws", 1, draws.state())))
    assert [other.between(0, 99) for _ in range(9)] == [draws.between(0, 99) for _ in range(9)]


@pytest.mark.parametrize("way", ["hashed", "raw"])
def test_entropy_differs(way: str) -> None:
    assert len({make_draws(way, None).ale_seed for _ in range(4)}) == 4


# One load tells the actions of a game for all envs of a process.
@pytest.mark.parametrize("sticky_actions", [0.0, 0.25])
def test_a_new_console_is_loaded_once(
    sticky_actions: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_game("PongNoFrameskip-v4", "gymnasium")
    loads: list[None] = []
    load = Emulator._load

    def counted(self: Emulator) -> None:
        loads.append(None)
        load(self)

    monkeypatch.setattr(Emulator, "_load", counted)
    game = make_game("PongNoFrameskip-v4", "gymnasium", sticky_actions=sticky_actions)
    game.reset(seed=5)
    assert len(loads) == 1
    game.reset()
    game.reset(seed=5)  # what remembers its games is loaded again
    assert len(loads) == 2


def test_what_was_not_reset_can_be_looked_at() -> None:
    for _ in range(2):
        game = make_game("PongNoFrameskip-v4", "gymnasium", sticky_actions=0.25)
        assert game.render().shape == (210, 160, 3)
        assert game.ale.getRAM().shape == (128,)
        assert game.save_state() != b""
