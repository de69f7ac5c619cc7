"""`Window`: pictures on the desktop."""

from __future__ import annotations

import os
from typing import Any

from gymnasium import error, logger

from .checks import Array


class Window:
    """A window of pygame's that shows pictures at their pace; it may be closed at any time."""

    def __init__(self, title: str, fps: float) -> None:
        try:
            import pygame
        except ImportError:
            message = 'render_mode="human" needs pygame: pip install pygame'
            raise error.DependencyNotInstalled(message) from None
        self._pygame, self._title, self._fps = pygame, title, fps
        self._screen: Any = None
        self._clock = pygame.time.Clock()
        self._is_closed = False

    def show(self, picture: Array) -> None:
        """Show a picture, uint8 `[height, width, 3]`, when it is due."""
        if self._is_closed:
            return
        pygame = self._pygame
        if self._screen is None:
            try:
                self._screen = self._opened(picture.shape[1::-1])
            except pygame.error as problem:
                message = f'render_mode="human": no window can be opened: {problem}'
                raise error.Error(message) from None
            pygame.display.set_caption(self._title)
        self._screen.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        self._clock.tick(self._fps)
        pygame.display.flip()
        if pygame.event.get(pygame.QUIT):
            self.close()

    def _opened(self, size: tuple[int, ...]) -> Any:
        display = self._pygame.display
        display.init()
        # What SDL takes where there is no display, if it was not told what to take. That is no
        # error: those who check an environment try each mode.
        if display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            logger.warn('render_mode="human": there is no display, so that nothing is to be seen')
        return display.set_mode(size)

    def close(self) -> None:
        """Close the window."""
        self._is_closed = True
        if self._screen is not None:
            self._screen = None
            self._pygame.display.quit()
