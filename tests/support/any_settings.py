"""Settings in one breath, with the parts that `make_vec` reaches through a recipe only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from atari_wrappers.recipes import PRESETS, Recipe
from atari_wrappers.settings import Settings


def any_settings(**settings: Any) -> Settings:
    """Return settings, with any part of a recipe among them."""
    hidden = (set(Recipe.names()) - set(Settings.names())) & settings.keys()
    if hidden:
        base = PRESETS[settings.pop("preset", "default")]
        parts = {name: settings.pop(name) for name in hidden}
        if "noop_min" in parts:
            parts["noop_max"] = settings.get("noop_max", base.noop_max)
        settings["recipe"] = replace(base, **parts)
    return Settings(**settings)
