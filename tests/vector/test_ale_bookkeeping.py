"""What the `ale` backend derives from ALE's reports, for cases that real games show too seldom."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from atari_wrappers import Settings
from atari_wrappers.backends import ale
from atari_wrappers.backends.ale import AleBackend
from atari_wrappers.backends.results import RECORD
from atari_wrappers.request import request_batch

Row = dict[str, Any]
OF_GAME = ("episode_return", "episode_length", "episode_frames")


class ScriptedAle:
    """`AtariVectorEnv` of one env, whose steps come from a script of rows."""

    single_observation_space = gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)
    single_action_space = gym.spaces.Discrete(4)
    rows: list[Row]

    def __init__(self, *_args: Any, **_settings: Any) -> None:
        self._next = 1

    def reset(self, **_kwargs: Any) -> tuple[np.ndarray, Row]:
        return self._obs(), self._info(self.rows[0])

    def send(self, _actions: np.ndarray) -> None:
        pass

    def recv(self) -> tuple[Any, ...]:
        row = self.rows[self._next]
        self._next += 1
        info = self._info(row)
        terminated, truncated = row.get("terminated", False), row.get("truncated", False)
        if terminated or truncated:
            info["final_obs"] = self._obs() + 100
        flags = np.array([terminated]), np.array([truncated])
        return self._obs(), np.array([row.get("reward", 0)], np.int32), *flags, info

    def _obs(self) -> np.ndarray:
        return np.full((1, 4, 84, 84), self._next, np.uint8)

    def _info(self, row: Row) -> Row:
        frames = {"frame_number": row["frame"], "episode_frame_number": row["episode_frame"]}
        info = {"env_id": 0, "lives": row["lives"], **frames}
        return {key: np.array([value], np.int32) for key, value in info.items()}


def open_scripted(
    rows: list[Row], monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[AleBackend, tuple[Any, ...]]:
    """Return the backend of a script, and what its reset brought."""
    monkeypatch.setattr(ScriptedAle, "rows", rows, raising=False)
    monkeypatch.setattr(ale, "AtariVectorEnv", ScriptedAle)
    backend = AleBackend(request_batch("PongNoFrameskip-v4", 1, Settings(**settings)))
    backend.reset(None, None, {}, None)
    return backend, backend.recv(1, None, None)


def step(backend: AleBackend, out: np.ndarray | None = None) -> tuple[Any, ...]:
    backend.send(np.zeros(1, np.int64), None, None)
    return backend.recv(1, out, None)


def play(
    rows: list[Row], monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> list[tuple[Any, ...]]:
    backend, _ = open_scripted(rows, monkeypatch, **settings)
    return [step(backend) for _ in rows[1:]]


def row(lives: int, frame: int, start: int = 0, **report: Any) -> Row:
    return {"lives": lives, "frame": frame, "episode_frame": frame - start, **report}


def of_game(info: Row) -> tuple[float, int, int]:
    return tuple(info[name][0] for name in OF_GAME)


def test_a_drop_to_no_lives_is_not_a_lost_life(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = play([row(1, 0), row(0, 4), row(0, 8)], monkeypatch)
    assert [bool(step[2][0]) for step in steps] == [False, False]
    assert all("final_obs" not in step[4] for step in steps)


def test_truncation_of_a_game_with_bonus_lives_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    # The new game's 3 lives are fewer than the old one's 5.
    rows = [row(5, 0), row(5, 4, reward=7), row(3, 6, start=6, truncated=True), row(3, 10, start=6)]
    _, truncation, after = play(rows, monkeypatch)
    assert (truncation[2][0], truncation[3][0]) == (False, True)
    record = {key: value[0] for key, value in truncation[4]["episode"].items()}
    assert record == {"r": 7.0, "l": 2, "frames": 6}
    assert (truncation[4]["final_obs"] == 100 + 3).all(), "ALE's own row"
    assert not after[2][0]


def test_restarting_step_of_next_step_mode_loses_no_life(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(5, 0), row(5, 6, truncated=True), row(3, 6, start=6), row(2, 10, start=6)]
    rows.append(row(2, 12, start=6, terminated=True))
    steps = play(rows, monkeypatch, autoreset="next-step")
    truncation, restart, loss, over = steps
    assert [bool(step[2][0]) for step in steps] == [False, False, True, True]
    assert [step[4]["episode"]["l"][0] for step in (truncation, over)] == [1, 2]
    assert [of_game(step[4]) for step in steps] == [(0, 1, 6), (0, 0, 0), (0, 1, 4), (0, 2, 6)]
    assert [bool(step[4]["game_terminated"][0]) for step in steps] == [False, False, False, True]
    assert restart[4]["lives"][0] == 3
    assert not any("final_obs" in step[4] for step in (truncation, loss, over))


def test_a_life_lost_in_the_first_step_of_a_game_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(1, 0), row(3, 6, start=3, terminated=True), row(2, 10, start=3)]
    over, loss = play(rows, monkeypatch)
    assert over[4]["game_terminated"][0]
    assert (loss[2][0], loss[4]["game_terminated"][0]) == (True, False)
    assert loss[4]["final_info"]["lives"][0] == 2


def test_game_that_ends_with_lives_left_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(3, 0), row(3, 4, start=4, terminated=True, reward=-2)]
    [(_, reward, terminated, _, info)] = play(rows, monkeypatch)
    assert (reward[0], terminated[0], info["raw_reward"][0]) == (-1.0, True, -2.0)
    assert info["_episode"][0]
    assert info["episode"]["r"][0] == -2.0


def test_rows_of_a_step_are_of_the_game_that_it_belonged_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [row(1, 5), row(1, 9, reward=3), row(3, 14, start=11, terminated=True, reward=1)]
    rows.append(row(3, 18, start=11, reward=2))
    steps = play(rows, monkeypatch)
    assert [of_game(step[4]) for step in steps] == [(3, 1, 9), (4, 2, 11), (2, 1, 7)]
    assert [step[4]["lives"][0] for step in steps] == [1, 3, 3]
    final = steps[1][4]["final_info"]
    assert of_game(final) == (4, 2, 11)
    assert (final["lives"][0], final["raw_reward"][0], final["game_terminated"][0]) == (0, 1, True)


# What is known of a game's last lives: ALE reports the next game's.
@pytest.mark.parametrize(
    ("settings", "end", "lives"),
    [
        ({}, {"terminated": True}, 0),
        ({}, {"truncated": True}, 4),
        ({"preset": "ale", "episodic_life": True}, {"terminated": True}, 3),
        ({"preset": "ale", "episodic_life": True}, {"truncated": True}, 4),
    ],
)
def test_last_lives_of_a_game(
    settings: dict, end: dict, lives: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(4, 0), row(5, 6, start=4, **end)]
    [(*_, info)] = play(rows, monkeypatch, **settings)
    assert (info["final_info"]["lives"][0], info["lives"][0]) == (lives, 5)


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_a_lost_life_that_begins_a_new_game_ends_the_old_one(
    autoreset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    same_step = autoreset == "same-step"
    seen = {"lives": 3, "frame": 9, "start": 7} if same_step else {"lives": 1, "frame": 7}
    rows = [row(2, 0), row(2, 4, reward=1), row(**seen, terminated=True, reward=1)]
    rows += [] if same_step else [row(3, 9, start=7)]
    rows += [row(3, 13, start=7, reward=4)]
    steps = play(rows, monkeypatch, preset="ale", episodic_life=True, autoreset=autoreset)
    loss, last = steps[1], steps[-1]
    assert (loss[2][0], loss[4]["game_terminated"][0]) == (True, True)
    assert ["episode" in step[4] for step in steps[:3]] == [False, True, False]
    assert [int(values[0]) for values in loss[4]["episode"].values()] == [2, 2, 7]
    assert (of_game(loss[4]), of_game(last[4])) == ((2, 2, 7), (4, 1, 6))
    assert ("final_obs" in loss[4]) == same_step


def test_the_last_life_ends_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(1, 0), row(1, 6, start=4, terminated=True)]
    [(_, _, terminated, _, info)] = play(rows, monkeypatch, preset="ale", episodic_life=True)
    assert (terminated[0], info["game_terminated"][0], info["_episode"][0]) == (True, True, True)


@pytest.mark.parametrize("clip_reward", [True, False])
def test_what_is_handed_out_can_be_written_to(
    clip_reward: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(3, 0), row(3, 4, reward=1), row(3, 8, reward=1), row(2, 12), row(2, 16, reward=1)]
    rows += [row(3, 20, start=18, terminated=True), row(3, 24, start=18), row(3, 28, start=18)]
    clean = play(rows, monkeypatch, clip_reward=clip_reward)
    backend, result = open_scripted(rows, monkeypatch, clip_reward=clip_reward)
    for expected in clean:
        arrays = flat(result)
        for one, other in combinations(arrays, 2):
            assert not np.shares_memory(one, other)
        for array in arrays:
            array[...] = 1
        result = step(backend)
        for mine, other in zip(flat(result), flat(expected), strict=True):
            np.testing.assert_array_equal(mine, other)


def flat(values: Iterable[Any]) -> list[np.ndarray]:
    """Return the arrays among `values`, and those in its dicts."""
    return [
        array
        for value in values
        for array in (flat(value.values()) if isinstance(value, dict) else [value])
    ]


def test_lent_buffers_come_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(3, 4 * frame) for frame in range(7)]
    backend, reset = open_scripted(rows, monkeypatch, obs_buffers=3)
    arrays = [reset[0], *(step(backend)[0] for _ in range(6))]
    assert [array is arrays[place % 3] for place, array in enumerate(arrays)] == [True] * 7
    assert [array[0, 0, 0, 0] for array in arrays] == [7, 5, 6, 7, 5, 6, 7]


def test_out_receives_what_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, _ = open_scripted([row(3, 0), row(3, 4)], monkeypatch, obs_buffers=2)
    out = np.zeros((1, 4, 84, 84), np.uint8)
    assert step(backend, out)[0] is out
    assert (out == 2).all()


def test_a_reset_brings_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (_, reward, terminated, truncated, info) = open_scripted([row(3, 9)], monkeypatch)
    assert (reward[0], terminated[0], truncated[0]) == (0.0, False, False)
    assert set(info) == {*RECORD, "env_id"}
    assert {name: info[name].dtype for name in RECORD} == RECORD
    assert of_game(info) == (0, 0, 9)
