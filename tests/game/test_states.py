"""A game goes on from a saved state to the last bit, whatever happened meanwhile and wherever."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import games
import gymnasium as gym
import numpy as np
import pytest
from games import make_game
from replay import digest

from atari_wrappers import VecEnv, make_env
from atari_wrappers.errors import ResetNeededError
from atari_wrappers.game.env import AtariGame
from atari_wrappers.plain_data import pack, unpack

REPLAY = Path(__file__).parents[1] / "support" / "replay.py"
SHORT = {"max_episode_frames": 700}
# Assault remembers the games before it; at 0.9, the action before the save acts long after it.
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("BreakoutNoFrameskip-v4", "default", SHORT),
    ("BreakoutNoFrameskip-v4", "baselines", SHORT),
    ("ALE/SpaceInvaders-v5", "gymnasium", SHORT),
    ("AssaultNoFrameskip-v4", "ale", SHORT),
    ("BreakoutNoFrameskip-v4", "envpool", SHORT | {"episodic_life": True}),
    ("SeaquestNoFrameskip-v4", "ale", SHORT | {"sticky_actions": 0.9}),
    # These draw random numbers at their start.
    ("ALE/DoubleDunk-v5", "gymnasium", SHORT | {"sticky_actions": 0.9}),
    ("ALE/Berzerk-v5", "gymnasium", SHORT | {"sticky_actions": 0.9}),
    (
        "BreakoutNoFrameskip-v4",
        "ale",
        SHORT | {"sticky_actions": 0.9, "continuous": True, "grayscale": False},
    ),
]
# A game of each kind of picture and action, the one that remembers, and one with a random start.
IN_OTHER_PROCESSES = (0, 3, 4, 6, 8)


def play(game: AtariGame, steps: int, seed: int) -> None:
    game.action_space.seed(seed)
    game.reset(seed=seed)
    for _ in range(steps):
        _, _, terminated, truncated, _ = game.step(game.action_space.sample())
        if terminated or truncated:
            game.reset()


@cache
def saved(emulator: str, case: int) -> tuple[AtariGame, bytes, str]:
    """Return a game of `CASES` that played on from a state, the state, and what was seen since."""
    assert emulator == games.emulator
    env_id, preset, parts = CASES[case]
    game = make_game(env_id, preset, **parts)
    play(game, 90, seed=3)
    state = game.save_state()
    return game, state, digest(game)


@pytest.mark.xdist_group("saved_games")  # which one process plays
@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_restored_game_replays(case: int) -> None:
    game, state, expected = saved(games.emulator, case)
    game.restore_state(state)
    assert digest(game) == expected
    play(game, 40, seed=4)
    game.restore_state(state)
    assert digest(game) == expected


@pytest.mark.xdist_group("saved_games")
@pytest.mark.usefixtures("each_emulator")
def test_states_are_restored_in_another_process() -> None:
    jobs, expected = [], []
    for case in IN_OTHER_PROCESSES:
        _, state, seen = saved(games.emulator, case)
        jobs.append((games.emulator, *CASES[case], state))
        expected.append(seen)
    done = subprocess.run(
        [sys.executable, str(REPLAY)], input=pickle.dumps(jobs), stdout=subprocess.PIPE, check=True
    )
    assert pickle.loads(done.stdout) == expected


# The action that a sticky one repeats is in no state of ALE's.
@pytest.mark.usefixtures("each_emulator")
def test_sticky_actions_go_on_after_any_action() -> None:
    game = make_game("SeaquestNoFrameskip-v4", "ale", sticky_actions=0.9)
    other = make_game("SeaquestNoFrameskip-v4", "ale", sticky_actions=0.9)
    other.reset(seed=0)
    play(game, 5, seed=0)
    for action in range(12):
        game.step(action)
        state = game.save_state()
        expected = digest(game, 10)
        other.step(action)
        other.restore_state(state)
        assert digest(other, 10) == expected, action
        state = other.save_state()
        other.step(action)
        other.restore_state(state)
        assert digest(other, 10) == digest(game, 10), action


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("grayscale", [True, False])
def test_what_is_shown_is_restored(grayscale: bool) -> None:
    # With no frame between the state and what a reset sees.
    parts = {"after_life_loss": "noops", "noop_max": 0, "noop_min": 0, "fire_reset": "off"}
    game = make_game("SeaquestNoFrameskip-v4", "envpool", episodic_life=True, **parts)
    game.reset(seed=0)
    terminated = False
    while not terminated:
        _, _, terminated, _, _ = game.step(game.action_space.sample())
    state, screen = game.save_state(), game.render()
    expected = game.reset()[0]
    play(game, 50, seed=1)
    game.restore_state(state)
    np.testing.assert_array_equal(game.render(), screen)
    np.testing.assert_array_equal(game.reset()[0], expected)
    np.testing.assert_array_equal(game.render(), screen)


# A step that ends with its first frame shows what the pool has from before.
@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("last_frame", ["pooled", "dropped", "alone"])
def test_pooled_frames_are_restored(last_frame: str) -> None:
    parts = {"noop_min": 1, "noop_max": 1, "fire_reset": "off", "max_episode_frames": 82}
    game = make_game("PongNoFrameskip-v4", "baselines", last_frame=last_frame, **parts)
    play(game, 20, seed=0)
    state = game.save_state()
    expected, _, _, truncated, info = game.step(0)
    assert truncated
    assert info["episode_frames"] == 82
    play(game, 15, seed=1)
    game.restore_state(state)
    np.testing.assert_array_equal(game.step(0)[0], expected)


@pytest.mark.usefixtures("each_emulator")
def test_an_ended_game_is_restored_as_ended() -> None:
    game = make_game("BreakoutNoFrameskip-v4", "default", max_episode_frames=8)
    game.reset(seed=0)
    game.step(0)
    assert game.step(0)[3]
    state = game.save_state()
    play(game, 1, seed=1)
    game.restore_state(state)
    with pytest.raises(ResetNeededError):
        game.step(0)


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize(
    ("env_id", "preset", "parts"),
    [
        ("PongNoFrameskip-v4", "default", {}),
        ("BreakoutNoFrameskip-v4", "envpool", {}),
        ("BreakoutNoFrameskip-v4", "default", {"mode": 4}),
        ("BreakoutNoFrameskip-v4", "default", {"frame_skip": 3}),
    ],
)
def test_states_of_something_else_are_refused(
    env_id: str, preset: str, parts: dict[str, Any]
) -> None:
    game = make_game("BreakoutNoFrameskip-v4", "default")
    game.reset(seed=0)
    other = make_game(env_id, preset, **parts)
    other.reset()
    with pytest.raises(ValueError, match="the state of another game: "):
        game.restore_state(other.save_state())


@pytest.mark.usefixtures("each_emulator")
def test_what_is_no_state_is_refused_and_changes_nothing() -> None:
    game = make_game("BreakoutNoFrameskip-v4", "baselines")
    play(game, 30, seed=1)
    state = game.save_state()
    other = make_game("BreakoutNoFrameskip-v4", "baselines")
    play(other, 10, seed=2)
    before = other.save_state()
    damaged = bytearray(state)
    damaged[-9000] ^= 1
    later = state.replace(b'"version": 1', b'"version": 2')
    cases = [
        (b"", "no state of a game, but b''"),
        (pickle.dumps(1), "no state of a game, but b'"),
        (None, "no state of a game, but a NoneType"),
        (state[:-1], "this state of a game is damaged"),
        (bytes(damaged), "this state of a game is damaged"),
        (later, "this state of a game is damaged"),
        (pack("game", 2, {}), "version=2 instead of 1"),
        (pack("batch", 1, {}), "kind='batch' instead of 'game'"),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError, match=message):
            other.restore_state(bad)
    assert other.save_state() == before
    other.restore_state(state)
    assert other.save_state() == state


@pytest.mark.usefixtures("each_emulator")
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_copies_play_the_same_game(copied: Callable[[AtariGame], AtariGame]) -> None:
    game = make_game("BreakoutNoFrameskip-v4", "baselines")
    fresh = copied(game)
    assert fresh.reset(seed=1)[1] == game.reset(seed=1)[1]
    play(game, 20, seed=3)
    game.spec = gym.spec("ALE/Breakout-v5")
    twin = copied(game)
    assert (twin.spec, twin.np_random_seed) == (game.spec, game.np_random_seed)
    assert twin.action_space.sample() == game.action_space.sample()
    game.step(1)
    assert twin.frame_number < game.frame_number
    twin.step(1)
    assert digest(twin) == digest(game)


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_a_game_that_is_recorded_has_no_copies(backend: str, tmp_path: Path) -> None:
    with make_env("PongNoFrameskip-v4", backend=backend, img_dir=tmp_path) as env:
        env.reset()
        with pytest.raises(pickle.PicklingError, match="its frames go to a recording"):
            copy.deepcopy(env.unwrapped)


# Each value of a state, and one that no game has.
CRAFTED = {
    "made_by": None,
    "made_by.emulator": "ale-py 0.12.0",
    "is_ready": 1,
    "emulator": [],
    "emulator.ale": b"\0" * 100,
    "emulator.frames": -1,
    "emulator.held": [0, 1.0],
    "emulator.screen": np.zeros((210, 160), np.uint8),
    "rules": {"attributes": {}, "draws": {}},
    "rules.attributes.step": 1,
    "rules.attributes.lives": "3",
    "rules.attributes.life_lost": 0,
    "rules.attributes.score": float("nan"),
    "rules.attributes._limit": -1,
    "rules.draws.state.inc": 1 << 200,
    "rules.draws.has_uint32": 2,
    "rules.draws.bit_generator": "MT19937",
    "pictures.older": np.zeros((1, 1), np.uint8),
    "pictures.frames": None,
    "more": 1,
}


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_a_crafted_state_changes_no_env(backend: str, open_vec: Callable[..., VecEnv]) -> None:
    vec = open_vec("BreakoutNoFrameskip-v4", 2, backend=backend, preset="baselines")
    vec.reset(seed=1)
    states = vec.save_state()
    vec.step([1, 2])
    before = vec.save_state()
    outer = unpack("env", 1, states[1])
    crafted = [crafted_state(outer["env"], *change) for change in CRAFTED.items()]
    crafted = [pack("env", 1, outer | {"env": state}) for state in crafted]
    crafted += [
        pack("env", 1, outer | change)
        for change in ({"ended": 0}, {"seed": 1.5}, {"row": {}}, {"x": 1})
    ]
    for state, name in zip(crafted, [*CRAFTED, "ended", "seed", "row", "x"], strict=True):
        with pytest.raises(ValueError, match=r"^env 1: "):
            vec.restore_state([states[0], state])
        assert vec.save_state() == before, name
    vec.restore_state(states)
    assert vec.save_state() == states


def crafted_state(state: bytes, place: str, value: Any) -> bytes:
    """Return a state in which one value was replaced, or put where there is none."""
    values = unpack("game", 1, state)
    *outer, name = place.split(".")
    holder = values
    for each in outer:
        holder = holder[each]
    holder[name] = value
    return pack("game", 1, values)


# Beyond its 624 words numpy's generator reads whatever is in memory there.
def test_a_place_beyond_the_random_numbers_is_refused() -> None:
    game = make_game("BreakoutNoFrameskip-v4", "ale", sticky_actions=0.25)
    game.reset(seed=1)
    state = game.save_state()
    for place, value in (("rules.draws.state.pos", 625), ("emulator.held", [99, 1.0])):
        with pytest.raises(ValueError, match=place):
            game.restore_state(crafted_state(state, place, value))
    ale = unpack("game", 1, state)["emulator"]["ale"]
    for changed in (ale[:-8] + b"9" + ale[-8:], ale[:-300], ale.replace(b"M6502", b"M6503"), b""):
        with pytest.raises(ValueError, match=r"emulator\.ale|an ALE state"):
            game.restore_state(crafted_state(state, "emulator.ale", changed))
    assert game.save_state() == state


def test_no_state_holds_code() -> None:
    """What an older `pickle` would run is read as plain values only."""
    values = {
        "list": [1, None, True, 2**200, -0.5, float("inf"), "é"],
        "dict": {"a": {"b": b"\0\n"}},
        "array": np.arange(6, dtype=np.int16).reshape(2, 3),
        "none": np.zeros((0, 4), np.uint8),
        "scalar": np.float32(0.25),
    }
    read = unpack("test", 3, pack("test", 3, values))
    np.testing.assert_array_equal(read.pop("array"), values.pop("array"), strict=True)
    np.testing.assert_array_equal(read.pop("none"), values.pop("none"), strict=True)
    assert read == values
    with pytest.raises(TypeError):
        pack("test", 3, {"code": print})
    with pytest.raises(TypeError, match="an array of object is no plain data"):
        pack("test", 3, {"code": np.array([print])})
