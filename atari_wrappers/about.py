"""Which version this is, and on which machines it runs: importing it elsewhere says so."""

from __future__ import annotations

import platform
import sys

__version__ = "0.1.0"


def check_machine(system: str, machine: str) -> str | None:
    """Return a warning about a machine on which this was never tried.

    Args:
        system: What `sys.platform` says.
        machine: What `platform.machine()` says.

    Raises:
        ImportError: Nothing here runs on that system.
    """
    if system != "linux":
        name = {"darwin": "macOS", "win32": "Windows"}.get(system, system)
        raise ImportError(f"atari_wrappers {__version__} runs on Linux only, and this is {name}")
    if machine not in ("x86_64", "AMD64"):
        return (
            f"atari_wrappers {__version__} was tested on x86-64 only, and this is {machine}: there"
            " is no wheel of atari_core, so the backend native is missing unless you build it"
        )
    return None


_warning = check_machine(sys.platform, platform.machine())
if _warning is not None:
    import warnings

    warnings.warn(_warning, stacklevel=2)
