"""A display without a screen, and what it shows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture
def display() -> Iterator[str]:
    """The name of a display without a screen."""
    if not shutil.which("Xvfb") or not shutil.which("xwd"):
        pytest.skip("Xvfb or xwd is not installed")
    read, write = os.pipe()
    # It lets nobody in from elsewhere, and stays when its last window closes.
    command = ["Xvfb", "-nolisten", "tcp", "-noreset", "-displayfd", str(write)]
    command += ["-screen", "0", "1024x768x24"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as number:
        name = f":{number.readline().strip()}"
    yield name
    server.terminate()
    server.wait(timeout=30)


def screenshot(display: str) -> np.ndarray:
    """Return what a display shows, uint8 `[height, width, 3]`."""
    env = os.environ | {"DISPLAY": display}
    dump = subprocess.run(["xwd", "-root", "-silent"], env=env, capture_output=True, check=True)
    header = np.frombuffer(dump.stdout[:100], ">u4")
    begin, width, height, stride = header[0] + 12 * header[19], header[4], header[5], header[12]
    rows = np.frombuffer(dump.stdout, np.uint8, height * stride, begin).reshape(height, stride)
    pixel = header[11] // 8  # 3 or 4 bytes: blue, green, red, and perhaps one more
    return rows[:, : pixel * width].reshape(height, width, pixel)[:, :, 2::-1]
