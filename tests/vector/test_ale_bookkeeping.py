"""What the `ale` backend derives from ALE's reports, for cases that real games show too seldom."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from atari_wrappers import Settings
from atari_wrappers.backends import ale
from atari_wrappers.ids import resolve

Row = dict[str, Any]


class ScriptedAle:
    """`AtariVectorEnv` of one env, whose steps come from a script of rows."""

    single_observation_space = gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)
    single_action_space = gym.spaces.Discrete(4)
    rows: list[Row]

    def __init__(self, *_args: Any, **_settings: Any) -> None:
        self._next = 1

    def reset(self, **_kwargs: Any) -> tuple[np.ndarray, Row]:
        return self._obs(), self._info(self.rows[0])

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
        info = {"lives": row["lives"], **frames}
        return {key: np.array([value], np.int32) for key, value in info.items()}


def play(
    rows: list[Row], monkeypatch: pytest.MonkeyPatch, autoreset: str = "same-step"
) -> list[tuple[Any, ...]]:
    monkeypatch.setattr(ScriptedAle, "rows", rows, raising=False)
    monkeypatch.setattr(ale, "AtariVectorEnv", ScriptedAle)
    backend = ale.AleBackend(resolve("PongNoFrameskip-v4"), 1, Settings(autoreset=autoreset))
    backend.reset(None, {})
    return [backend.recv() for _ in rows[1:]]


def row(lives: int, frame: int, start: int = 0, **report: Any) -> Row:
    return {"lives": lives, "frame": frame, "episode_frame": frame - start, **report}


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
    truncation, restart, loss, over = play(rows, monkeypatch, "next-step")
    assert [step[2][0] for step in (truncation, restart, loss, over)] == [False, False, True, True]
    assert [step[4]["episode"]["l"][0] for step in (truncation, over)] == [1, 2]
    assert [step[4]["episode"]["frames"][0] for step in (truncation, over)] == [6, 6]


def test_game_that_ends_with_lives_left_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(3, 0), row(3, 4, start=4, terminated=True, reward=-2)]
    [(_, reward, terminated, _, info)] = play(rows, monkeypatch)
    assert (reward[0], terminated[0], info["raw_reward"][0]) == (-1.0, True, -2.0)
    assert info["_episode"][0]
    assert info["episode"]["r"][0] == -2.0
