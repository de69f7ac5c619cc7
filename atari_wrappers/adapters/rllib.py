"""RLlib on batches of ours: its current API by `register`, its older one by `RLlibVectorEnv`.

The current API (env runners) takes gymnasium's vector envs in next-step mode; the older one has a
vector env class of its own, whose user resets ended envs by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space

from atari_wrappers.adapters.gymnasium import open_env, open_vec
from atari_wrappers.adapters.shared import check_batch, check_settings, info_rows
from atari_wrappers.errors import ResetNeededError, UnsupportedError
from atari_wrappers.recipes import Recipe
from atari_wrappers.settings import Settings, merged
from atari_wrappers.vector.env import VecEnv

try:
    from ray.rllib.env.vector_env import VectorEnv
    from ray.tune.registry import register_env
except ImportError as error:
    raise ImportError(
        f'atari_wrappers.adapters.rllib needs RLlib: pip install "atari-wrappers[rllib]" ({error})'
    ) from error

ResetRows = tuple[list[np.ndarray], list[dict[str, Any]]]
StepRows = tuple[list[np.ndarray], list[float], list[bool], list[bool], list[dict[str, Any]]]


def register(env_id: str, name: str | None = None, **settings: Any) -> str:
    """Register a name for `config.environment(name)` of RLlib's current API.

    With `config.env_runners(gym_env_vectorize_mode="vector_entry_point")` each env runner, also one
    in another process, makes one batch of `num_envs_per_env_runner` envs; with gymnasium's own
    modes it makes single envs of ours. An `env_config` takes precedence over `settings`.

    Observations of gray Atari games are float32 `[84, 84, 4]` between -1 and 1, as RLlib's networks
    expect images and its own Atari wrappers give them.

    Args:
        env_id: Any id that gymnasium knows.
        name: The new name; `atari_wrappers/` and `env_id` if `None`.
        **settings: Of `Settings`; `autoreset` is `"next-step"`, the mode that env runners expect.

    Returns:
        The name.

    Raises:
        UnsupportedError: Env runners cannot use a batch of these settings.
        ValueError: A setting is out of range.
        TypeError: There is none of this name.
    """
    creator = EnvCreator(env_id, settings)
    name = name or f"atari_wrappers/{env_id}"
    register_env(name, creator)
    return name


class EnvCreator:
    """Makes what an env runner asks for: a batch, or one env if its config has no `num_envs`.

    What that config says takes precedence over the settings.
    """

    def __init__(self, env_id: str, settings: Mapping[str, Any]) -> None:
        self.env_id = env_id
        self.settings: dict[str, Any] = {"autoreset": "next-step"} | dict(settings)
        named = dict(self.settings)
        named.pop("render_mode", None)
        _check(merged(None, named))

    def __call__(self, env_config: Mapping[str, Any]) -> gym.vector.VectorEnv | gym.Env:
        """Make it."""
        settings = self.settings | dict(env_config)
        num_envs, mode = settings.pop("num_envs", None), settings.pop("render_mode", None)
        checked = merged(None, settings)
        _check_layout(checked)
        if num_envs is None:
            env = open_env(self.env_id, mode, **settings)
            space = env.observation_space
            if not _is_stack(space, getattr(env.unwrapped, "recipe", None)):
                return env
            space = _network_space(space)
            return gym.wrappers.TransformObservation(env, _network_images, space)
        _check(checked)
        envs = open_vec(self.env_id, num_envs, mode, **settings)
        is_stack = _is_stack(envs.single_observation_space, envs.recipe)
        return NetworkImages(envs) if is_stack else envs


class NetworkImages(gym.vector.VectorObservationWrapper):
    """Turns stacks of gray images, uint8 `[n, stack, height, width]`, into what networks convolve.

    That is float32 `[n, height, width, stack]`, 0 to 255 brought to -1 to 1 by `obs / 128 - 1`.
    """

    def __init__(self, env: gym.vector.VectorEnv) -> None:
        super().__init__(env)
        space = env.single_observation_space
        if not isinstance(space, gym.spaces.Box):
            raise UnsupportedError(f"NetworkImages: {space} is no space of pictures")
        self.single_observation_space = _network_space(space)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def observations(self, observations: np.ndarray) -> np.ndarray:
        """Return them, in new memory."""
        return _network_images(observations)


class RLlibVectorEnv(VectorEnv):
    """A batch of ours behind the vector env class of RLlib's older API.

    `config.environment(name)` takes it where `ray.tune.register_env(name, lambda config:
    RLlibVectorEnv(make_vec(...)))` came before. Lists have an entry per env. Observations of gray
    Atari games are uint8 `[84, 84, 4]`, the batch's memory seen with its axes in another order. An
    env whose episode ended shows its last observation, and the first of the new episode to
    `reset_at`, which has to follow before the next step.

    After a `WorkerError` out of `vector_step`, `restart_at` the envs that it names and step again:
    that completes the step that failed, and ignores its actions. A batch with
    `on_worker_failure="restart"` needs neither.

    Args:
        venv: A batch with the settings `autoreset="same-step"`, `batch_size=0`, `obs_buffers=0` and
            `num_players=1`, the defaults.

    Attributes:
        venv: That batch.

    Raises:
        UnsupportedError: It is another.
    """

    def __init__(self, venv: VecEnv) -> None:
        check_batch(venv, "RLlibVectorEnv", autoreset="same-step", keeps_obs=True)
        self.venv = venv
        self._started: dict[int, tuple[np.ndarray, dict[str, Any]]] = {}
        space = venv.single_observation_space
        self._is_stack = False
        if _is_stack(space, venv.recipe):
            self._is_stack = True
            low, high = map(_channels_last, (space.low, space.high))
            space = gym.spaces.Box(low, high, dtype=np.uint8)
        super().__init__(
            observation_space=space,
            action_space=venv.single_action_space,
            num_envs=venv.num_envs,
        )

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> ResetRows:
        """Start a new game in each env, env `i` with `seed + i`; RLlib seeds envs by this."""
        obs, info = self.venv.reset(seed=seed, options=options)
        self._started.clear()
        return list(self._layout(obs)), info_rows(info, self.num_envs)

    def vector_reset(
        self,
        *,
        seeds: Sequence[int | None] | None = None,
        options: Sequence[dict[str, Any] | None] | None = None,
    ) -> ResetRows:
        """Start a new game in each env.

        Returns:
            Observations and infos.

        Raises:
            UnsupportedError: The options differ between envs.
        """
        common = options[0] if options else None
        if any(other != common for other in options or ()):
            raise UnsupportedError("vector_reset: a batch takes the same options for each env")
        return self.reset(seed=seeds, options=common)

    def reset_at(
        self,
        index: int | None = None,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the first observation and info of one env's new episode.

        It is under way already where the last step ended one, unless a seed or options are given;
        then the info has `lives` alone.
        """
        index = index or 0
        if index in self._started and seed is None and not options:
            return self._started.pop(index)
        obs, info = self.venv.reset_at(index, seed=seed, options=options)
        self._started.pop(index, None)
        return self._layout(obs), {name: value.item() for name, value in info.items()}

    def restart_at(self, index: int | None = None) -> None:
        """Restart one env; envs that shared its process go with it."""
        self.venv.restart_workers([index or 0])

    def vector_step(self, actions: Sequence[Any]) -> StepRows:
        """Step all envs.

        Returns:
            Observations, rewards, terminated, truncated, infos.

        Raises:
            ResetNeededError: An ended env was not reset.
            WorkerError: An env failed; the class says what to do.
        """
        if self._started:
            raise ResetNeededError(f"vector_step: reset_at envs {sorted(self._started)} first")
        # A step that failed is completed.
        is_pending = self.venv.pending == "step"
        result = self.venv.recv() if is_pending else self.venv.step(np.asarray(actions))
        obs, reward, terminated, truncated, info = result
        rows, infos = list(self._layout(obs)), info_rows(info, self.num_envs)
        if "_final_obs" in info:
            final = self._layout(info["final_obs"])
            for index in np.flatnonzero(info["_final_obs"]).tolist():
                self._started[index] = rows[index], {"lives": int(info["lives"][index])}
                rows[index] = final[index]
        return rows, reward.tolist(), terminated.tolist(), truncated.tolist(), infos

    def get_sub_environments(self) -> list[Any]:
        """Return what stands for each env; nothing on `ale`, whose envs are C++."""
        if not self.venv.has_python_envs:
            return []
        envs = self.venv.get_sub_environments()
        for place, env in enumerate(envs if self._is_stack else ()):
            space = self.observation_space  # for which RLlib asks the first of them
            if isinstance(env, gym.Env):
                envs[place] = gym.wrappers.TransformObservation(env, _channels_last, space)
            else:
                env.observation_space = space
        return envs

    def try_render_at(self, index: int | None = None) -> np.ndarray:
        """Return what one env shows: uint8 RGB `[height, width, 3]`."""
        return self.venv.render_at(index or 0)

    def stop(self) -> None:
        """Close the batch."""
        self.venv.close()

    def _layout(self, obs: np.ndarray) -> np.ndarray:
        return _channels_last(obs) if self._is_stack else obs


def _check(settings: Settings) -> None:
    check_settings(settings, "RLlib's env runner", autoreset="next-step", keeps_obs=True)
    _check_layout(settings)


def _check_layout(settings: Settings) -> None:
    if settings.channels_last:
        raise UnsupportedError(
            "RLlib's env runner gets images channels last anyway, and scaled;"
            " leave channels_last at False"
        )


def _is_stack(space: gym.Space[Any], recipe: Recipe | None) -> TypeGuard[gym.spaces.Box]:
    """Whether observations are gray pictures, one behind the other."""
    if recipe is None:
        return False
    return space.shape == (recipe.frame_stack, *recipe.screen_size) and space.dtype == np.uint8


def _channels_last(obs: np.ndarray) -> np.ndarray:
    return np.moveaxis(obs, -3, -1)


def _network_images(obs: np.ndarray) -> np.ndarray:
    images = _channels_last(obs).astype(np.float32, order="C")
    images /= 128.0
    images -= 1.0
    return images


def _network_space(space: gym.spaces.Box) -> gym.spaces.Box:
    return gym.spaces.Box(-1.0, 1.0, _channels_last(space.low).shape, np.float32)
