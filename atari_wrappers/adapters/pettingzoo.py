"""Games for two as environments of PettingZoo's parallel API: `parallel_env`, and `env` for turns.

They are played as `make_vec(num_players=2)` plays them, on the console in Rust where a game is
proved there, with everything that its settings offer: no SuperSuit is needed in front.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from atari_wrappers.adapters.shared import info_rows
from atari_wrappers.errors import ResetNeededError, UnsupportedError
from atari_wrappers.factory import make_vec
from atari_wrappers.keywords import SettingKeywords

try:
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.utils import parallel_to_aec
except ImportError as error:
    raise ImportError(
        "atari_wrappers.adapters.pettingzoo needs PettingZoo:"
        f' pip install "atari-wrappers[pettingzoo]" ({error})'
    ) from error

# PettingZoo's own.
AGENTS = ["first_0", "second_0"]

Obs = dict[str, np.ndarray]
Infos = dict[str, dict[str, Any]]


def env(env_id: str, **settings: Any) -> AECEnv[str, np.ndarray, Any]:
    """Make what `parallel_env` makes with players who act one after the other."""
    made: AECEnv[str, np.ndarray, Any] = parallel_to_aec(parallel_env(env_id, **settings))
    return made


# mypy finds no types in PettingZoo; the name is its word.
class parallel_env(ParallelEnv[str, np.ndarray, Any]):  # type: ignore[misc]  # noqa: N801
    """A game for two, whose players are called `first_0` and `second_0`.

    Each observes uint8 `[frame_stack, height, width]`, oldest frame first, and takes one of its
    `Discrete` actions; rewards are floats. Both end at once. An info has of its player what
    `VecEnv` says of both: `raw_reward`, `episode_return`, and of an ended game `episode` with `r`,
    `l` and `frames`.

    Args:
        env_id: A game for two, such as "ALE/Pong-v5".
        render_mode: "rgb_array": `render` returns the screen.
        **settings: Of `Settings`; `num_players` is 2, and `autoreset` `"disabled"`.

    Attributes:
        venv: The batch of one game that plays.

    Raises:
        UnknownEnvError: Nothing is registered under the id.
        UnsupportedError: It is no game for two, or cannot be played as the settings say.
        ValueError: A setting is out of range.
        TypeError: There is none of this name.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 60,
        "is_parallelizable": True,
    }

    def __init__(
        self, env_id: str, render_mode: str | None = None, **settings: Unpack[SettingKeywords]
    ) -> None:
        if settings.get("autoreset") is AutoresetMode.DISABLED:
            settings["autoreset"] = "disabled"
        for name, own in (("num_players", 2), ("autoreset", "disabled")):
            if settings.get(name, own) != own:
                raise UnsupportedError(
                    f"{name} must be {own!r} in PettingZoo's API, not {settings.get(name)!r}"
                )
        if render_mode not in (None, "rgb_array"):
            raise UnsupportedError(f'render_mode must be "rgb_array", not {render_mode!r}')
        if settings.get("batch_size"):
            raise UnsupportedError("PettingZoo's API has one game: leave batch_size at 0")
        played: Any = {**settings, "num_players": 2, "autoreset": "disabled"}
        self.venv = make_vec(env_id, 1, **played)
        of_game = {"name": str(env_id), "render_fps": self.venv.metadata["render_fps"]}
        self.metadata = {**self.metadata, **of_game}
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        both, actions = self.venv.single_observation_space, self.venv.single_action_space
        assert isinstance(both, gym.spaces.Box)
        assert isinstance(actions, gym.spaces.MultiDiscrete)
        shown = list(zip(both.low, both.high, strict=True))
        self.observation_spaces = {
            name: gym.spaces.Box(low, high, dtype=np.uint8)
            for name, (low, high) in zip(AGENTS, shown, strict=True)
        }
        self.action_spaces = {
            name: gym.spaces.Discrete(int(count))
            for name, count in zip(AGENTS, actions.nvec, strict=True)
        }

    def observation_space(self, agent: str) -> gym.Space[Any]:
        """Return the space of what a player observes."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gym.Space[Any]:
        """Return the space of a player's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, Infos]:
        """Start a game.

        Args:
            seed: Restarts the random numbers; without one they go on.
            options: None are known, and those of other environments change nothing.
        """
        obs, info = self.venv.reset(seed=seed)
        self.agents = list(AGENTS)
        return _by_player(obs[0]), _infos(info)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[Obs, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Take an action of each player.

        Raises:
            ResetNeededError: The game is over, or did not begin.
            ValueError: An action is missing, or out of its space.
        """
        if not self.agents:
            raise ResetNeededError("step: nobody plays; call reset first")
        if set(actions) != set(AGENTS):
            raise ValueError(
                f"step: actions of {', '.join(AGENTS)} are needed, not of"
                f" {', '.join(map(str, actions)) or 'nobody'}"
            )
        for name, action in actions.items():
            if not self.action_spaces[name].contains(action):
                space = self.action_spaces[name]
                raise ValueError(f"step: the action of {name}, {action!r}, is outside of {space}")
        both = np.array([[int(actions[name]) for name in AGENTS]])
        obs, reward, terminated, truncated, info = self.venv.step(both)
        is_over, is_cut = bool(terminated[0]), bool(truncated[0])
        if is_over or is_cut:
            self.agents = []
        return (
            _by_player(obs[0]),
            dict(zip(AGENTS, reward[0].tolist(), strict=True)),
            dict.fromkeys(AGENTS, is_over),
            dict.fromkeys(AGENTS, is_cut),
            _infos(info),
        )

    def render(self) -> np.ndarray | None:
        """Return the screen, uint8 RGB `[height, width, 3]`."""
        if self.render_mode is None:
            gym.logger.warn('render: make the environment with render_mode="rgb_array"')
            return None
        return self.venv.render_at(0)

    def close(self) -> None:
        """Close the batch."""
        self.agents = []
        self.venv.close()


def _by_player(rows: np.ndarray) -> Obs:
    return dict(zip(AGENTS, rows, strict=True))


def _infos(info: Mapping[str, Any]) -> Infos:
    """Divide what is said of the game between its players."""
    [said] = info_rows(info, 1)
    if info.get("_episode", [False])[0]:
        [said["episode"]] = info_rows(info["episode"], 1)
    return {name: _of_player(said, player) for player, name in enumerate(AGENTS)}


def _of_player(said: Mapping[str, Any], player: int) -> dict[str, Any]:
    own = {}
    for name, value in said.items():
        if isinstance(value, Mapping):
            own[name] = _of_player(value, player)
        else:
            is_of_both = isinstance(value, np.ndarray) and value.shape == (len(AGENTS),)
            own[name] = value[player].item() if is_of_both else value
    return own
