"""Single-env wrappers in the field's names, each usable alone on any ALE env.

They follow OpenAI Baselines' recipe as stable-baselines3 carries it on: its results are the oracle
of the tests.
"""

from atari_wrappers.wrappers.episode import EpisodeRecord
from atari_wrappers.wrappers.frames import FrameStack, MaxAndSkip, WarpFrame
from atari_wrappers.wrappers.images import ImageSaver
from atari_wrappers.wrappers.resets import EpisodicLife, FireReset, NoopReset
from atari_wrappers.wrappers.rewards import ClipReward

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
