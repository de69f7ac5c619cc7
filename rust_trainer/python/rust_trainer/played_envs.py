"""The environments that a policy plays in: what `atari_wrappers` makes by a run's settings."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import gymnasium

    from atari_wrappers import VecEnv

# The settings that decide what is observed and done, in learning and in playing.
OF_RECIPES = (
    "fire_reset",
    "obs_type",
    "noop_max",
    "frame_skip",
    "frame_stack",
    "sticky_actions",
    "full_action_space",
    "continuous",
    "continuous_action_threshold",
    "max_episode_frames",
)
_PLAYERS = 2


@dataclass(frozen=True)
class EnvPlan:
    """Which environments, as plain data.

    Attributes:
        env_id: The id, as Gymnasium knows it.
        settings: Keyword arguments of `atari_wrappers.make_env` and `make_vec`: whole games with
            their raw rewards, preprocessed as those that were learned from.
        num_players: 2 where a network plays both sides of a game for two.
    """

    env_id: str
    settings: dict[str, Any]
    num_players: int = 1

    @staticmethod
    def of(settings: dict[str, Any]) -> EnvPlan:
        """Return the plan of a run's settings."""
        kept: dict[str, Any] = {
            "preset": settings.get("recipe", "default"),
            "episodic_life": False,
            "clip_reward": False,
        }
        named = {name: settings.get(name, "recipe") for name in OF_RECIPES}
        kept |= {name: value for name, value in named.items() if value != "recipe"}
        num_players = int(settings.get("num_players", 1))
        if num_players > 1:
            kept["num_players"] = num_players
        env_id = settings.get("env_id", "SpaceInvadersNoFrameskip-v4")
        return EnvPlan(env_id, kept, num_players)

    @property
    def recipe(self) -> dict[str, Any] | None:
        """Every part of the recipe by which a game is preprocessed; `None` for other envs.

        `atari_wrappers.recipes.Recipe` documents the parts.

        Raises:
            ImportError: The package atari_wrappers is missing.
        """
        from atari_wrappers import Settings
        from atari_wrappers.request import request_env

        recipe = request_env(self.env_id, Settings(**self.settings)).recipe
        return None if recipe is None else dataclasses.asdict(recipe)

    def action_meanings(self) -> list[str] | None:
        """Return the names of discrete actions, such as `"FIRE"`, where the env has them."""
        env = self.make_env()
        try:
            meanings = env.unwrapped.get_action_meanings()  # type: ignore[attr-defined]
        except AttributeError:
            return None
        finally:
            env.close()
        return [str(meaning) for meaning in meanings]

    def make_env(self, **overrides: Any) -> gymnasium.Env[Any, Any]:
        """Make one environment; Atari games run on `atari_core` where that can play them.

        Args:
            **overrides: Any setting of `atari_wrappers.Settings`, in place of these.

        Raises:
            Exception: As `atari_wrappers.make_env`.
        """
        import atari_wrappers

        settings = self.settings | overrides
        if "backend" not in settings and self._is_native(settings):
            settings["backend"] = "native"
        env: gymnasium.Env[Any, Any] = atari_wrappers.make_env(self.env_id, **settings)
        return env

    def _is_native(self, settings: dict[str, Any]) -> bool:
        """Say whether `atari_core` can play one environment that is made so."""
        from atari_wrappers import Settings
        from atari_wrappers.game.native import obstacles
        from atari_wrappers.request import request_env

        own = {name: value for name, value in settings.items() if name in Settings.names()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come once it is made
            return not any(obstacles(request_env(self.env_id, Settings(**own))))

    def make_vec(self, num_envs: int, **overrides: Any) -> VecEnv:
        """Make a batch of environments; see `make_env`."""
        import atari_wrappers

        return atari_wrappers.make_vec(self.env_id, num_envs, **self.settings | overrides)

    def rows(self, given: NDArray[Any], obs_shape: tuple[int, ...], largest: int) -> NDArray[Any]:
        """Return observations `[..., *obs_shape]`, or those of both players, as `[rows, ...]`.

        Args:
            given: Numbers from 0 to `largest`, of any dtype.
            obs_shape: Of one observation that the network sees.
            largest: What the plane that tells the second player has.

        Raises:
            ValueError: They have another shape.
        """
        if self.num_players == _PLAYERS and given.shape[-len(obs_shape) :] != obs_shape:
            given = _with_indicator(given, obs_shape, largest)
        axes = given.ndim - len(obs_shape)
        if given.shape[max(axes, 0) :] != obs_shape or axes > self.num_players:
            raise ValueError(
                f"an observation has the shape {obs_shape}, or one axis more in front: not"
                f" {given.shape}"
            )
        kind = np.uint8 if given.dtype == np.uint8 else np.float32
        return np.ascontiguousarray(given.reshape(-1, *obs_shape), kind)


def _with_indicator(given: NDArray[Any], obs_shape: tuple[int, ...], largest: int) -> NDArray[Any]:
    """Tell the players of `[..., 2, planes, ...]` who they are, by one plane more for each."""
    seen = (_PLAYERS, obs_shape[0] - 1, *obs_shape[1:])
    if given.shape[-len(seen) :] != seen:
        raise ValueError(
            f"observations of both players have the shape {seen}, or one axis more in front: not"
            f" {given.shape}"
        )
    plane = np.zeros((_PLAYERS, 1, *obs_shape[1:]), given.dtype)
    plane[1] = largest
    axis = given.ndim - len(obs_shape)
    return np.concatenate(
        [given, np.broadcast_to(plane, (*given.shape[:axis], 1, *obs_shape[1:]))], axis
    )
