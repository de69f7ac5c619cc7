"""`RustVectorEnv`: a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .checks import Array, check_options, check_render_mode, checked_mask, checked_seeds, count
from .envs import Envs


class RustVectorEnv(VectorEnv[Array, Any, Array]):
    """Environments in Rust, stepped by threads while the GIL is free.

    Observations are fresh arrays, rewards float32 `[num_envs]`. In same-step mode infos have
    `final_obs`, `final_info` and their masks, else nothing. `send` and `recv` are the halves of
    `step`. Errors are those of `RustEnv`, and Gymnasium's `AlreadyPendingCallError` and
    `NoAsyncCallError`.

    Args:
        num_envs: How many.
        render_mode: "rgb_array" for `render`.
        autoreset_mode: When an ended episode is followed by the next one.
        num_threads: Threads that step, the one that waits included; 0 is one for each core. A step
            of some microseconds is over before a thread is woken: 1 is faster then.
        settings: The environments' own.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012
    make: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        num_threads: int = 0,
        **settings: Any,
    ) -> None:
        mode = AutoresetMode(autoreset_mode)
        batch = self.make(
            num_envs=count("num_envs", num_envs, 1),
            autoreset_mode=mode.value,
            num_threads=count("num_threads", num_threads, 0),
            **settings,
        )
        self._envs = Envs(batch, num_envs, mode)
        self.num_envs = num_envs
        self.single_observation_space = self._envs.obs_space
        self.single_action_space = self._envs.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        fps = self._envs.render_fps
        self.metadata = {**self.metadata, "render_fps": fps, "autoreset_mode": mode}
        check_render_mode(render_mode, self.metadata["render_modes"], lambda: self._envs.frame(0))
        self.render_mode = render_mode

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start episodes.

        Args:
            seed: Env `i` gets `seed + i`, or `seed[i]`; without one the random numbers go on.
            options: `{"reset_mask": mask}`, bool `[num_envs]`, restarts those alone.
        """
        seeds = checked_seeds(seed, self.num_envs)
        others = dict(options or {})
        mask = checked_mask(others.pop("reset_mask", None), self.num_envs)
        check_options(others)
        super().reset(seed=None if seed is None else seeds[0])
        return self._envs.reset(seeds, self.np_random, mask), {}

    def send(self, actions: Any) -> None:
        """Begin a step."""
        self._envs.send(actions)

    def recv(self) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Wait for the step that was begun."""
        obs, reward, terminated, truncated, final = self._envs.recv()
        info: dict[str, Any] = {}
        if final is not None:
            mask, final_obs = final
            info = {
                "final_obs": final_obs,
                "_final_obs": mask,
                "final_info": {},
                "_final_info": mask.copy(),
            }
        return obs, reward, terminated, truncated, info

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Take an action in each environment."""
        self._envs.send(actions, call="step")
        return self.recv()

    def render(self) -> tuple[Array, ...] | None:
        """Return a picture of each environment, uint8 `[height, width, 3]`."""
        if self.render_mode is None:
            gymnasium.logger.warn('render: make the environments with render_mode="rgb_array"')
            return None
        frames = [self._envs.frame(index) for index in range(self.num_envs)]
        return tuple(frame for frame in frames if frame is not None)

    def save_state(self) -> list[bytes]:
        """Return of each environment all that its future depends on, as plain data."""
        return self._envs.save_state()

    def restore_state(self, states: Sequence[bytes]) -> Array:
        """Go to states of `save_state`, all or none, and return the observations there."""
        return self._envs.restore_state(states)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._envs.close()
