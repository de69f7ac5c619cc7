"""stable-baselines3's `VecEnv` around a batch of ours, and a shortcut that makes both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium as gym
import numpy as np

from atari_wrappers.adapters.shared import check_batch, info_rows
from atari_wrappers.checks import SEED_END, checked_seed
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.factory import make_vec
from atari_wrappers.ids import EnvSource, listed, resolve
from atari_wrappers.keywords import SettingKeywords
from atari_wrappers.vector.checks import checked_indices
from atari_wrappers.vector.env import VecEnv

try:
    from stable_baselines3.common import vec_env as sb3
    from stable_baselines3.common.env_util import is_wrapped
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import base_vec_env
except ImportError as error:
    raise ImportError(
        "atari_wrappers.adapters.stable_baselines3 needs stable-baselines3:"
        ' pip install "atari-wrappers[sb3]"'
    ) from error


def make_vec_env(
    env_id: EnvSource | Sequence[EnvSource],
    num_envs: int | None = None,
    *,
    seed: int | None = None,
    **settings: Unpack[SettingKeywords],
) -> StableBaselines3VecEnv:
    """Make a batch for stable-baselines3, by default preprocessed as its own `make_atari_env` does.

    Args:
        env_id: Any id that gymnasium knows, or a callable that makes an env; or a list of them.
        num_envs: How many envs; `None` for as many as are listed, or one.
        seed: Env `i` of the next reset gets `seed + i`; `None` for random seeds.
        **settings: Of `Settings`; for Atari games the default of `preset` is `"baselines"`.

    Returns:
        The batch; observations are `[num_envs, 4, 84, 84]`, as `CnnPolicy` takes them.

    Raises:
        Exception: As `atari_wrappers.make_vec`.
    """
    if settings.get("recipe") is None and any(resolve(each).is_atari for each in listed(env_id)):
        settings.setdefault("preset", "baselines")
    venv = make_vec(env_id, num_envs, **settings)
    try:
        adapter = StableBaselines3VecEnv(venv)
        adapter.seed(seed)
    except BaseException:
        venv.close()
        raise
    return adapter


class StableBaselines3VecEnv(sb3.VecEnv):
    """A batch of ours behind stable-baselines3's interface.

    A step returns the batch's observations without a copy; rewards float32 `[num_envs]`; dones
    bool `[num_envs]`; and a list of one dict per env:

    - `TimeLimit.truncated` bool; `terminal_observation`, the last one of an episode that ended.
    - `raw_reward`, `lives`, `game_terminated`, `game_truncated`, `episode_return`,
      `episode_length`, `episode_frames` and the other infos of `VecEnv`, of this step.
    - `episode`, if a true game ended, as stable-baselines3's `Monitor` below its Atari wrappers
      reports it: `r` the raw return; `l` the length in emulator frames (in steps for other envs);
      `t` seconds since this object was made. Therefore `env_is_wrapped(Monitor)` is true, and
      `evaluate_policy` counts games, not lives.

    `reset` starts a new game in each env, even if stable-baselines3 would continue the game after a
    lost life.

    Args:
        venv: A batch with the settings `autoreset="same-step"`, `batch_size=0` and
            `num_players=1`, the defaults.

    Attributes:
        venv: That batch.

    Raises:
        UnsupportedError: It is another.
    """

    def __init__(self, venv: VecEnv) -> None:
        check_batch(venv, "stable-baselines3", autoreset="same-step", keeps_obs=False)
        self.venv = venv
        self._start = time.monotonic()
        super().__init__(venv.num_envs, venv.single_observation_space, venv.single_action_space)
        self.metadata = {**self.metadata, **venv.metadata}

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seeds of the next reset: `seed + i` for env `i`, or by chance if `None`.

        `numpy.random.seed` decides what chance brings, as it does in stable-baselines3.
        """
        seed = checked_seed(seed)
        if seed is None:
            seed = int(np.random.randint(SEED_END - self.num_envs))  # noqa: NPY002
        return super().seed(seed)

    def reset(self) -> np.ndarray:
        """Start a new game in each env, with the seeds and options that were set; return obs.

        Raises:
            UnsupportedError: The options differ between envs.
        """
        options = self._options[0]
        if any(other != options for other in self._options):
            self._reset_options()
            raise UnsupportedError(
                "reset: a batch takes the same options for each env; those given are forgotten"
            )
        obs, info = self.venv.reset(seed=self._seeds, options=options or None)
        self.reset_infos: list[dict[str, Any]] = info_rows(info, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        """Begin a step."""
        self.venv.send(actions)

    def step_wait(self) -> base_vec_env.VecEnvStepReturn:
        """Wait for the step; the class says what it returns."""
        obs, rewards, terminated, truncated, info = self.venv.recv()
        infos = info_rows(info, self.num_envs)
        for row, is_cut in zip(infos, (truncated & ~terminated).tolist(), strict=True):
            row["TimeLimit.truncated"] = is_cut
        if "_final_obs" in info:
            for index in np.flatnonzero(info["_final_obs"]):
                infos[index]["terminal_observation"] = info["final_obs"][index]
                self.reset_infos[index] = {"lives": int(info["lives"][index])}
        seconds = round(time.monotonic() - self._start, 6)
        for index in np.flatnonzero(info.get("_episode", ())):
            infos[index]["episode"] = {
                "r": round(float(info["episode"]["r"][index]), 6),
                "l": int(info["episode"]["frames"][index]),
                "t": seconds,
            }
        return obs, rewards, terminated | truncated, infos

    def close(self) -> None:
        """Close the batch."""
        self.venv.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return what each env shows: uint8 RGB `[height, width, 3]`."""
        return list(self.venv.render())

    def has_attr(self, attr_name: str) -> bool:
        """Return whether each env has the attribute; those of C++ (`ale`) have none."""
        if not self.venv.has_python_envs:
            return False
        return all(self.venv.call("has_wrapper_attr", attr_name))

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of each env; a method is returned, not called.

        Raises:
            AttributeError: There is none.
            UnsupportedError: The backend has no Python envs (`ale`).
        """
        indices = self._chosen(indices)
        if attr_name == "render_mode":
            return [self.venv.render_mode] * len(indices)
        return list(self.venv.call("get_wrapper_attr", attr_name, indices=indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of each env to the same value."""
        indices = self._chosen(indices)
        self.venv.set_attr(attr_name, [value] * len(indices), indices)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of each env."""
        indices = self._chosen(indices)
        return list(self.venv.call(method_name, *method_args, indices=indices, **method_kwargs))

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: Any = None) -> list[bool]:
        """Return whether each env has the wrapper; as for `Monitor`, the class tells.

        Raises:
            UnsupportedError: The envs are in other processes (`async`).
        """
        indices = self._chosen(indices)
        if issubclass(wrapper_class, Monitor) or not self.venv.has_python_envs:
            return [issubclass(wrapper_class, Monitor)] * len(indices)
        if not self.venv.shares_python_envs:
            raise UnsupportedError(
                f'backend "{self.venv.backend}" cannot tell whether its envs have a'
                f' {wrapper_class.__name__}; use backend="sync"'
            )
        envs = self.venv.get_sub_environments()
        return [is_wrapped(envs[index], wrapper_class) for index in indices]

    def _chosen(self, indices: Any) -> list[int]:
        return checked_indices(indices, self.num_envs, from_end=True)
