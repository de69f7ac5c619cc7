"""Single-env wrappers in the field's names, for those who compose by hand; each also works alone.

They follow OpenAI Baselines' recipe as stable-baselines3 carries it on, whose results are the
oracle of the tests. `make_vec` does not use them for Atari games: `game.AtariGame` follows recipes,
faster, and with `preset="baselines"` gives what these give together (a test compares whole games).
"""

from atari_wrappers.wrappers.episode import ClipReward, EpisodeRecord
from atari_wrappers.wrappers.frames import FrameStack, MaxAndSkip, WarpFrame
from atari_wrappers.wrappers.images import ImageSaver
from atari_wrappers.wrappers.resets import EpisodicLife, FireReset, NoopReset

__all__ = [
    "ClipReward",
    "EpisodeRecord",
    "EpisodicLife",
    "FireReset",
    "FrameStack",
    "ImageSaver",
    "MaxAndSkip",
    "NoopReset",
    "WarpFrame",
]
