"""Games to be recorded, and reading back the files that recording wrote."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import gymnasium as gym
import numpy as np
from PIL import Image

from atari_wrappers.recording.video import SCALE

# Games that are over soon, whatever is played.
SHORT: dict[str, Any] = {"preset": "baselines", "max_episode_frames": 60, "sticky_actions": 0.25}


def play_game(env: gym.Env, actions: Iterator[int], **reset: Any) -> dict[str, Any]:
    """Play until the true game is over, through its lost lives; return the last info and more.

    `episodes` are those of the learner, which lost lives end.
    """
    env.reset(**reset)
    episodes = 1
    while True:
        _, _, terminated, truncated, info = env.step(next(actions))
        if info["game_terminated"] or info["game_truncated"]:
            return {**info, "episodes": episodes}
        if terminated or truncated:
            env.reset()
            episodes += 1


def random_actions(count: int, seed: int = 3) -> Iterator[int]:
    rng = np.random.default_rng(seed)
    while True:
        yield int(rng.integers(count))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read_png(path: Path) -> np.ndarray:
    return np.array(Image.open(path))


def read_video(path: Path) -> tuple[list[np.ndarray], Fraction]:
    """Return the pictures, in their size before it was doubled, and their rate."""
    with av.open(path) as container:
        [stream] = container.streams
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        assert len(frames) == stream.frames
        return [frame[::SCALE, ::SCALE] for frame in frames], stream.average_rate


def assert_same_pictures(decoded: list[np.ndarray], shown: list[np.ndarray]) -> None:
    """Compare a video with what was shown; H.264 loses a little, a frame in the wrong place more.

    Raises:
        AssertionError: They differ in number, or by more than that.
    """
    assert len(decoded) == len(shown)
    for index, (ours, theirs) in enumerate(zip(decoded, shown, strict=True)):
        difference = np.abs(ours.astype(int) - theirs).mean()
        assert difference < 1.5, f"frame {index} differs by {difference} on average"
