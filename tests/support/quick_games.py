"""What a recipe's games show and when they end, looked up on the emulator that is quick.

The conformance tests hold its games equal to ALE's.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any, NamedTuple

from games import make_quick


@cache
def pictures_of(
    env_id: str, preset: str, steps: int, seed: int, reset_every: int = 0, **parts: Any
) -> int:
    """Return the checksum of the pictures that `assert_alike` sees of a recipe."""
    game = make_quick(env_id, preset, **parts)
    game.action_space.seed(seed)
    game.reset(seed=seed)
    checksum = 0
    for step in range(steps):
        obs, _, terminated, truncated, _ = game.step(game.action_space.sample())
        checksum = zlib.crc32(obs, checksum)
        if terminated or truncated:
            game.reset()
        elif reset_every and step % reset_every == reset_every - 1:
            game.reset(seed=seed + step)
    return checksum


def assert_each_shows(pictures: int, parts: dict[str, Any], env_id: str, *played: Any) -> None:
    """Check that without any one of these parts `pictures_of` what is played are others.

    MsPacman has no FIRE: of `fire_reset` nothing may be seen there.
    """
    for name in parts.keys() - {"noop_min", "continuous_action_threshold"}:  # parts of others
        left_out = {name, "continuous_action_threshold"} if name == "continuous" else {name}
        others = {other: parts[other] for other in parts if other not in left_out}
        is_seen = (name, "MsPacman" in env_id) != ("fire_reset", True)
        assert (pictures != pictures_of(env_id, *played, **others)) == is_seen, name


class End(NamedTuple):
    """When something first happened in a game: frames and steps until then, and of its reset."""

    frames: int
    steps: int
    reset_frames: int


def first_end(env_id: str, preset: str, seed: int, is_life: bool, **parts: Any) -> End:
    """Return when, with the actions of `assert_alike`, the first game ends or life is lost."""
    game = make_quick(env_id, preset, **parts)
    game.action_space.seed(seed)
    _, info = game.reset(seed=seed)
    reset_frames = info["episode_frames"]
    for _ in range(3000):
        _, _, ended, _, info = game.step(game.action_space.sample())
        if ended and game.ale.game_over() != is_life:
            return End(info["episode_frames"], info["episode_length"], reset_frames)
        if ended:
            game.reset()
    raise AssertionError("it did not happen")
