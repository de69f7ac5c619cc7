"""The runners of a batch: `native` (Rust), `ale` (C++), `sync` (this thread), `async` (processes).

A later backend is a subclass of `base.Backend`, and its place in `choose.BACKENDS`.
"""

from atari_wrappers.backends.base import Backend
from atari_wrappers.backends.choose import choose_backend

__all__ = ["Backend", "choose_backend"]
