"""Atari games in batches, emulated in Rust by threads of their own while the GIL is free.

What `atari_wrappers` builds its backend `native` on; `_atari_core.pyi` says what there is.
"""

from atari_core._atari_core import AtariVecEnv, actions, obstacle

__version__ = "0.1.0"

__all__ = ["AtariVecEnv", "actions", "obstacle"]
