"""One Atari game as a gymnasium env, preprocessed by a recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from ale_py import ALEInterface

from atari_wrappers.emulator import SCREEN, Emulator
from atari_wrappers.ids import EnvId
from atari_wrappers.playing import Play
from atari_wrappers.pooling import Stack, copied
from atari_wrappers.recipes import Recipe


class AtariGame(gym.Env[np.ndarray, Any]):
    """An Atari game that observes uint8 `[frame_stack, height, width]`, oldest frame first."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 60}  # noqa: RUF012

    def __init__(
        self,
        env_id: EnvId,
        recipe: Recipe,
        env_index: int = 0,
        on_frame: Callable[[], None] | None = None,
    ) -> None:
        self.spec = env_id.spec
        self.render_mode = "rgb_array"
        self.env_index, self._recipe = env_index, recipe
        self._emulator = Emulator(env_id, recipe, on_frame)
        self._play = Play(self._emulator, recipe)
        self._stack = Stack(recipe)
        self._screen: np.ndarray | None = None
        self.observation_space = gym.spaces.Box(0, 255, self._stack.frames.shape, np.uint8)
        self.action_space = gym.spaces.Discrete(len(self._emulator.actions))

    @property
    def ale(self) -> ALEInterface:
        """ALE's interface."""
        return self._emulator.ale

    def get_action_meanings(self) -> list[str]:
        """Return the names of the actions, in order."""
        return [action.name for action in self._emulator.actions]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        new_game = seed is not None or bool((options or {}).get("new_game"))
        play = self._play
        goes_on = play.life_lost and not play.is_over and self._recipe.after_life_loss == "go-on"
        if goes_on and not new_game:
            play.life_lost = False
            return self._stack.frames.copy(), self._info(0.0)
        self._stack.restart(play.new_game(seed))
        return self._stack.frames.copy(), self._info(0.0)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one step."""
        play = self._play
        reward = play.step(self._emulator.actions[action])
        self._stack.push(play.pool.pooled(play.is_full))
        terminated = play.terminated or play.life_lost
        info = self._info(reward)
        if self._recipe.clip_reward:
            reward = float(np.sign(reward))
        return self._stack.frames.copy(), reward, terminated, play.truncated, info

    def _info(self, reward: float) -> dict[str, Any]:
        play = self._play
        return {
            "raw_reward": reward,
            "lives": play.lives,
            "game_terminated": play.terminated,
            "game_truncated": play.truncated,
            "episode_return": play.score,
            "episode_length": play.steps,
            "episode_frames": self._emulator.frames,
        }

    def render(self) -> np.ndarray:
        """Return the screen: uint8 RGB `[210, 160, 3]`."""
        screen = np.empty((*SCREEN, 3), np.uint8)
        self._emulator.grab(screen)
        return screen

    def save_state(self) -> Any:
        """Return the whole state."""
        play = self._play
        return {
            "ale": self.ale.cloneState(include_rng=True),
            "draws": play.draws.state(),
            "pool": copied(play.pool.buffers),
            "stack": self._stack.frames.copy(),
        }

    def restore_state(self, state: Any) -> None:
        """Go to a saved state."""
        raise NotImplementedError
