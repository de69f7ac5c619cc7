"""An env in a window of the desktop, by Gymnasium's own wrapper, which needs pygame."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import HumanRendering

# Lines for each of the console's, and columns for each: its pixels are nearly twice as wide.
SCALE = (3, 5)


class Enlarged(gym.Wrapper[Any, Any, Any, Any]):
    """Pictures as large as a television's of a game that renders uint8 `[height, width, 3]`."""

    def render(self) -> Any:
        """Return the picture, uint8 `[3 * height, 5 * width, 3]`."""
        picture = np.asarray(super().render())
        lines, columns = SCALE
        return picture.repeat(lines, axis=0).repeat(columns, axis=1)


def in_window(env: gym.Env[Any, Any], *, is_game: bool) -> gym.Env[Any, Any]:
    """Show each step in a window, enlarged if it is a game; `render` returns `None` then."""
    return HumanRendering(Enlarged(env) if is_game else env)
