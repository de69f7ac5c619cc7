"""How a run stands, for `train`: a bar by tqdm, or lines where that is not installed."""

from __future__ import annotations

import time
from typing import Any

_LINE_SECONDS = 10.0


class Progress:
    """A bar over agent steps, made with the first update; or nothing."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._bar: Any = None
        self._has_tqdm = True
        self._last = time.monotonic()

    def update(self, step: int, total_steps: int, scalars: dict[str, float | None]) -> None:
        """Show that so many steps are done."""
        if not self._is_shown:
            return
        mean = scalars.get("raw_return_mean_100")
        if self._bar is None and self._has_tqdm:
            self._bar = self._made(step, total_steps)
        if self._bar is not None:
            if mean is not None:
                self._bar.set_postfix_str(f"mean return {mean:.1f}", refresh=False)
            self._bar.update(min(step, total_steps) - self._bar.n)
        elif time.monotonic() - self._last >= _LINE_SECONDS:
            self._last = time.monotonic()
            self.line(f"{step}/{total_steps} steps  mean return {mean}")

    def _made(self, step: int, total_steps: int) -> Any:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            self._has_tqdm = False
            return None
        return tqdm(initial=step, total=total_steps, unit=" steps", unit_scale=True)

    def line(self, text: str) -> None:
        """Print a line, above the bar where there is one."""
        if not self._is_shown:
            return
        if self._bar is None:
            print(text)  # noqa: T201
        else:
            self._bar.write(text)

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
