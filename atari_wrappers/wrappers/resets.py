"""Where episodes begin and end: no-ops and FIRE at the start, lost lives as ends."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from atari_wrappers.game.env import NEW_GAME
from atari_wrappers.types import EnvReset, EnvStep, Options

NOOP = 0


def action_meanings(env: gym.Env) -> list[str]:
    """Return the names of an ALE env's actions, such as `["NOOP", "FIRE", "RIGHT", "LEFT"]`.

    Raises:
        ValueError: The env names no actions, so it is no ALE env.
    """
    meanings = getattr(env.unwrapped, "get_action_meanings", None)
    if meanings is None:
        raise ValueError(f"{env} has no `get_action_meanings`: this wrapper is for ALE envs")
    return list(meanings())


class NoopReset(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Begin each game with a random number of no-ops, uniform in 1 to `noop_max`.

    The number comes from the env's own `np_random`, so the reset's seed decides it.

    Args:
        env: An ALE env; its action 0 must be NOOP.
        noop_max: The most no-ops, at least 1.

    Raises:
        ValueError: Action 0 is not NOOP, or `noop_max` is below 1.
    """

    def __init__(self, env: gym.Env, noop_max: int = 30) -> None:
        if action_meanings(env)[NOOP] != "NOOP":
            raise ValueError(f"action 0 of {env} is {action_meanings(env)[NOOP]}, not NOOP")
        if noop_max < 1:
            raise ValueError(f"noop_max must be at least 1, not {noop_max}")
        RecordConstructorArgs.__init__(self, noop_max=noop_max)
        gym.Wrapper.__init__(self, env)
        self.noop_max = noop_max

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Start a game and wait; a game that ends meanwhile is started again, without the seed."""
        obs, info = self.env.reset(seed=seed, options=options)
        for _ in range(int(self.unwrapped.np_random.integers(1, self.noop_max + 1))):
            obs, _, terminated, truncated, info = self.env.step(NOOP)
            if terminated or truncated:
                obs, info = self.env.reset(options=options)
        return obs, info


class FireReset(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """After a reset press FIRE (action 1), then action 2, for games that wait for the player.

    Args:
        env: An ALE env with FIRE as action 1 and at least three actions.

    Raises:
        ValueError: The env has no such actions.
    """

    def __init__(self, env: gym.Env) -> None:
        meanings = action_meanings(env)
        if len(meanings) < 3 or meanings[1] != "FIRE":
            raise ValueError(f"{env} needs FIRE as action 1 and a third action; it has {meanings}")
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Reset, then take both actions; an episode that ends meanwhile is started again."""
        obs, info = self.env.reset(seed=seed, options=options)
        for action in (1, 2):
            obs, _, terminated, truncated, info = self.env.step(action)
            if terminated or truncated:
                # As in stable-baselines3 nobody sees its picture.
                _, info = self.env.reset(options=options)
        return obs, info


class EpisodicLife(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """End the episode, but not the game, where a life is lost.

    After a lost life `reset` goes on with the same game by one no-op step. A seed, or the option
    `{"new_game": True}`, starts a new game whatever the old one's state; so does another `reset`
    before the first step of a game, unless that game began because the no-op step ended the last.

    Args:
        env: An env whose infos carry `lives`, as those of ALE do.
    """

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self._lives = 0
        self._game_over = True

    def step(self, action: Any) -> EnvStep:
        """Step; `terminated` is also set where a life was lost and at least one is left."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._game_over = terminated or truncated
        lives = info["lives"]
        # Qbert stays at no lives for some frames before its game is over: 0 is not a lost life.
        terminated = terminated or 0 < lives < self._lives
        self._lives = lives
        return obs, reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: Options = None) -> EnvReset:
        """Go on with the game after a lost life, or start one."""
        options = dict(options or {})
        if options.pop(NEW_GAME, False) or seed is not None or self._game_over:
            obs, info = self.env.reset(seed=seed, options=options)
            self._game_over = True  # no step was taken
        else:
            obs, _, terminated, truncated, info = self.env.step(NOOP)
            if terminated or truncated:
                obs, info = self.env.reset(options=options)
        self._lives = info["lives"]
        return obs, info
