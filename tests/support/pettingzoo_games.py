"""Two-player games as PettingZoo plays them, with the preprocessing written out by hand."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import cv2
import gymnasium as gym
import numpy as np
import pettingzoo
from ale_py import roms
from any_settings import any_settings
from games import OnBoth

from atari_wrappers.settings import Settings
from atari_wrappers.single_env import make_env

# Who plays the games of `make_game`: "sync", which is PettingZoo's ALE behind Python's rules,
# "native", or "both".
emulator = "sync"

GAMES = {"pong": "atari/pong-v3", "space_invaders": "atari/space_invaders-v2"}
IDS = {"pong": "PongNoFrameskip-v4", "space_invaders": "SpaceInvadersNoFrameskip-v4"}
# Games that remember, or take chance from their seed: whole ones are left to `atari_sweep`.
OTHERS = {
    "ALE/Boxing-v5": "atari/boxing-v2",
    "ALE/DoubleDunk-v5": "atari/double_dunk-v3",
    "ALE/Entombed-v5": "atari/entombed_competitive-v3",
    "ALE/FlagCapture-v5": "atari/flag_capture-v2",
    "ALE/IceHockey-v5": "atari/ice_hockey-v2",
    "ALE/MarioBros-v5": "atari/mario_bros-v3",
    "ALE/Othello-v5": "atari/othello-v3",
    "ALE/SpaceWar-v5": "atari/space_war-v2",
    "ALE/Surround-v5": "atari/surround-v2",
    "ALE/Tennis-v5": "atari/tennis-v3",
    "ALE/VideoCheckers-v5": "atari/video_checkers-v4",
    "ALE/WizardOfWor-v5": "atari/wizard_of_wor-v3",
}
# PettingZoo looks for `roms/<game>.bin` below this folder.
_ROM_FOLDER = str(Path(roms.__file__).parent.parent)


class PettingZooGame:
    """A `parallel_env`, by frames and by agent steps.

    Attributes:
        frame: What both players see now, uint8 `[210, 160, 3]`.
        over: Whether both are out.
        frames: Emulated frames since the reset.
    """

    def __init__(self, game: str, **options: object) -> None:
        self._env = pettingzoo.make(
            "parallel", GAMES.get(game, game), auto_rom_install_path=_ROM_FOLDER, **options
        )
        self._stack = np.zeros((4, 84, 84), np.uint8)

    def reset(self, seed: int | None = None) -> np.ndarray:
        """Start a game; return `start_stack`."""
        views, _ = self._env.reset(seed=seed)
        self._note(views)
        self.over, self.frames = False, 0
        return self.start_stack()

    def start_stack(self) -> np.ndarray:
        """Return the observation of both, with zeros before what is seen now."""
        self._stack[:-1] = 0
        self._stack[-1] = _warp(gray(self.frame))
        return self._for_both()

    def emulate(self, actions: np.ndarray) -> np.ndarray:
        """Play one frame; return the players' rewards."""
        named = dict(zip(self._env.possible_agents, map(int, actions), strict=True))
        views, rewards, terminated, truncated, _ = self._env.step(named)
        assert not any(truncated.values())
        assert len(set(terminated.values())) == 1, "players go out together"
        self._note(views)
        self.frames += 1
        self.over = all(terminated.values())
        return np.array([rewards[agent] for agent in named], np.float64)

    def step(
        self, actions: np.ndarray, pooling: str = "gray", skip: int = 4
    ) -> tuple[np.ndarray, np.ndarray]:
        """Play an agent step; return the observation of both, and their rewards.

        Where a game ends within the skip recipes differ in what they show; here it is the last two
        frames.
        """
        rewards, seen = np.zeros(2), []
        for _ in range(skip):
            rewards += self.emulate(actions)
            seen.append(self.frame if pooling == "rgb" else gray(self.frame))
            if self.over:
                break
        pooled = np.maximum.reduce(seen[-2:])
        self._stack[:-1] = self._stack[1:].copy()
        self._stack[-1] = _warp(gray(pooled) if pooling == "rgb" else pooled)
        return self._for_both(), rewards

    @property
    def all_lives(self) -> list[int]:
        """The lives of each, as the emulator counts them."""
        return [int(lives) for lives in self._env.unwrapped.ale.allLives()]

    @property
    def screen_size(self) -> tuple[int, int]:
        """Height and width of a frame."""
        return self._env.observation_space(self._env.possible_agents[0]).shape[:2]

    @property
    def num_actions(self) -> int:
        """How many actions a player has."""
        return int(self._env.action_space(self._env.possible_agents[0]).n)

    @property
    def lives(self) -> int:
        """The lives that are left, the one in play included, as a game for one counts them."""
        first, second = (int(lives) for lives in self._env.unwrapped.ale.allLives())
        assert first == second
        return first + 1

    def _note(self, views: dict[str, np.ndarray]) -> None:
        first, second = views.values()
        assert np.array_equal(first, second)
        self.frame = first.copy()

    def _for_both(self) -> np.ndarray:
        return np.stack([self._stack, self._stack])


def make_game(env_id: str, **settings: Any) -> Any:
    """Return a game for two on `emulator`."""
    backends = ("sync", "native") if emulator == "both" else (emulator,)
    made = [
        make_env(env_id, any_settings(num_players=2, backend=backend, **settings))
        for backend in backends
    ]
    return OnBoth(*made) if emulator == "both" else made[0]


def gray(frame: np.ndarray) -> np.ndarray:
    """RGB to gray, which on ALE's palette is ALE's own gray."""
    return cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)


def _warp(picture: np.ndarray) -> np.ndarray:
    return cv2.resize(picture, (84, 84), interpolation=cv2.INTER_AREA)


def play(env: gym.Env, steps: int, seed: int = 0) -> list[tuple[bytes, str]]:
    """Play random actions, through all ends; return what was seen and said, to compare."""
    rng = np.random.default_rng(seed)
    trace = []
    for _ in range(steps):
        obs, *said = env.step(rng.integers(0, 6, 2))
        trace.append((obs.tobytes(), repr(said)))
        if said[1] or said[2]:
            env.reset()
    return trace


def replay(env_id: str, settings: Settings, state: bytes, steps: int) -> list[tuple[bytes, str]]:
    """Play on from a pickled state; by its name another process can call it."""
    env = make_env(env_id, settings)
    env.restore_state(pickle.loads(state))
    return play(env, steps)
