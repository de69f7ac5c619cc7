"""Gymnasium's classes around a batch of environments in Rust.

Compiled into each extension module that the macro `module!` makes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import error, spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

Array = np.ndarray[Any, np.dtype[Any]]
_MAX_SEED = 2**63 - 1


class ClosedError(error.ClosedEnvironmentError, RuntimeError):
    """The environment was used after `close`."""


class ResetNeededError(error.ResetNeeded, RuntimeError):
    """A step came before the first reset, or after the end of an episode."""


class PendingStepError(error.AlreadyPendingCallError, RuntimeError):
    """A call came before the results of the last step were received."""


class NoPendingStepError(error.NoAsyncCallError, RuntimeError):
    """`recv` was called without a `send` before it."""


class UnsupportedError(ValueError):
    """The environment cannot do what was asked."""


class _Envs:
    """A batch in Rust: its spaces, the order of its calls, arrays for what it writes."""

    def __init__(self, batch: Any, num_envs: int, mode: AutoresetMode) -> None:
        self._batch, self.num_envs, self._mode = batch, num_envs, mode
        about = batch.describe()
        self.obs_space = _obs_space(about)
        self.action_space = _action_space(about)
        self.render_fps: float = about["render_fps"]
        self._was_reset = self._pending = self._closed = False
        self._ended = np.zeros(num_envs, bool)
        self._obs: Array | None = None
        self._action_shape = (num_envs, *(self.action_space.shape or ()))
        self._action_dtype = np.dtype(self.action_space.dtype)

    def _memory(self) -> tuple[Array, Array]:
        """Return an array for observations, and its bytes."""
        obs: Array = np.empty((self.num_envs, *self.obs_space.shape), self.obs_space.dtype)
        return obs, obs.reshape(-1).view(np.uint8)

    def check_open(self, call: str) -> None:
        if self._closed:
            raise ClosedError(f"{call}: the environment is closed")

    def _check_idle(self, call: str) -> None:
        self.check_open(call)
        if self._pending:
            raise PendingStepError(f"{call}: a step is pending; call recv first", "step")

    def _check_reset(self, call: str) -> None:
        if not self._was_reset:
            raise ResetNeededError(f"{call}: call reset first")

    def reset(
        self, seeds: Sequence[int | None], generator: np.random.Generator, mask: Array | None
    ) -> Array:
        self._check_idle("reset")
        chosen = range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist()
        if not self._was_reset:
            if len(chosen) < self.num_envs:
                raise ResetNeededError("reset: the first reset must be of all environments")
            # Without a seed the futures of different batches differ.
            fresh = generator.integers(0, _MAX_SEED, self.num_envs).tolist()
            seeds = [own if seed is None else seed for seed, own in zip(seeds, fresh, strict=True)]
        obs, memory = self._memory()
        self._batch.reset(list(chosen), [seeds[index] for index in chosen], memory)
        self._was_reset = True
        self._ended[list(chosen)] = False
        return obs

    def send(self, actions: Any, *, call: str = "send") -> None:
        self._check_idle(call)
        self._check_reset(call)
        if self._mode == AutoresetMode.DISABLED and self._ended.any():
            ended = np.flatnonzero(self._ended).tolist()
            raise ResetNeededError(
                f"{call}: envs {ended} need a reset, as their episodes have ended"
            )
        checked = self._checked(actions)
        self._obs, memory = self._memory()
        self._batch.send(checked, memory)
        self._pending = True

    def _checked(self, actions: Any) -> Array:
        """Return actions as an array of the space's type; the batch checks their range."""
        try:
            given = np.asarray(actions)
        except ValueError:
            message = f"actions must have the same shape for each env, not {actions!r}"
            raise ValueError(message) from None
        if given.shape != self._action_shape:
            raise ValueError(
                f"actions have shape {list(given.shape)}; {self.num_envs} envs take"
                f" {list(self._action_shape)}"
            )
        if not np.can_cast(given.dtype, self._action_dtype, "same_kind"):
            raise TypeError(f"actions must be {self._action_dtype}, not {given.dtype}")
        return np.ascontiguousarray(given, self._action_dtype)

    def recv(self, *, call: str = "recv") -> tuple[Array, Array, Array, Array, Any]:
        self.check_open(call)
        if not self._pending:
            raise NoPendingStepError(f"{call}: nothing was sent", "step")
        self._pending = False
        reward, terminated, truncated, final = self._batch.recv()
        obs, self._obs = self._obs, None
        assert obs is not None
        self._ended = terminated | truncated
        if final is not None:
            is_final, rows = final
            shape = (self.num_envs, *self.obs_space.shape)
            final = is_final, rows.view(self.obs_space.dtype).reshape(shape)
        return obs, reward, terminated, truncated, final

    def frame(self, index: int) -> Array | None:
        self._check_idle("render")
        frame: Array | None = self._batch.render(index)
        return frame

    def save_state(self) -> list[bytes]:
        self._check_idle("save_state")
        self._check_reset("save_state")
        states: list[bytes] = self._batch.save_state()
        return states

    def restore_state(self, states: Sequence[bytes]) -> Array:
        self._check_idle("restore_state")
        obs, memory = self._memory()
        self._ended = np.array(self._batch.restore_state(list(states), memory))
        self._was_reset = True
        return obs

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._batch.close()


class RustEnv(gymnasium.Env[Array, Any]):
    """One environment in Rust; each step gives fresh arrays, and an info without entries.

    Actions are checked: a wrong shape and a value out of range are a `ValueError`, a wrong kind of
    number is a `TypeError`. Calls out of order are Gymnasium's `ResetNeeded` and
    `ClosedEnvironmentError`, and a `RuntimeError` at once.

    Args:
        render_mode: "rgb_array" for `render`, "human" to watch each step in a window.
        settings: The environment's own.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012
    make: ClassVar[Callable[..., Any]]

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        batch = self.make(num_envs=1, autoreset_mode="Disabled", num_threads=1, **settings)
        self._envs = _Envs(batch, 1, AutoresetMode.DISABLED)
        self.observation_space = self._envs.obs_space
        self.action_space = self._envs.action_space
        self.metadata = {**self.metadata, "render_fps": self._envs.render_fps}
        _check_render_mode(render_mode, self.metadata["render_modes"], self._envs)
        self.render_mode = render_mode
        self._window = None
        if render_mode == "human":
            self._window = Window(type(self).__name__, self._envs.render_fps)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Restarts the random numbers, at least 0; without one they go on.
            options: None are known.
        """
        [checked] = _checked_seeds(seed, 1)
        _check_options(options)
        super().reset(seed=checked)
        [obs] = self._envs.reset([checked], self.np_random, None)
        self._show()
        return obs, {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        self._envs.send(np.asarray(action)[None], call="step")
        [obs], [reward], [terminated], [truncated], _ = self._envs.recv()
        self._show()
        return obs, float(reward), bool(terminated), bool(truncated), {}

    def render(self) -> Array | None:  # type: ignore[override]  # of one mode
        """Return a picture, uint8 `[height, width, 3]`; `None` with a window, which shows it."""
        if self.render_mode is None:
            gymnasium.logger.warn('render: make the environment with render_mode="rgb_array"')
        return self._envs.frame(0) if self.render_mode == "rgb_array" else None

    def _show(self) -> None:
        if self._window is not None:
            frame = self._envs.frame(0)
            assert frame is not None
            self._window.show(frame)

    def save_state(self) -> bytes:
        """Return all that the future depends on, as plain data."""
        return self._envs.save_state()[0]

    def restore_state(self, state: bytes) -> Array:
        """Go to a state that `save_state` returned, and return the observation there."""
        [obs] = self._envs.restore_state([state])
        return obs

    def close(self) -> None:
        """Free the environment, and close its window."""
        self._envs.close()
        if self._window is not None:
            self._window.close()


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
            num_envs=_count("num_envs", num_envs, 1),
            autoreset_mode=mode.value,
            num_threads=_count("num_threads", num_threads, 0),
            **settings,
        )
        self._envs = _Envs(batch, num_envs, mode)
        self.num_envs = num_envs
        self.single_observation_space = self._envs.obs_space
        self.single_action_space = self._envs.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        fps = self._envs.render_fps
        self.metadata = {**self.metadata, "render_fps": fps, "autoreset_mode": mode}
        _check_render_mode(render_mode, self.metadata["render_modes"], self._envs)
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
        seeds = _checked_seeds(seed, self.num_envs)
        others = dict(options or {})
        mask = _checked_mask(others.pop("reset_mask", None), self.num_envs)
        _check_options(others)
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
                pygame.display.init()
                self._screen = pygame.display.set_mode(picture.shape[1::-1])
            except pygame.error as problem:
                message = f'render_mode="human": no window can be opened: {problem}'
                raise error.Error(message) from None
            pygame.display.set_caption(self._title)
        self._screen.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        self._clock.tick(self._fps)
        pygame.display.flip()
        if pygame.event.get(pygame.QUIT):
            self.close()

    def close(self) -> None:
        """Close the window."""
        self._is_closed = True
        if self._screen is not None:
            self._screen = None
            self._pygame.display.quit()


def _obs_space(about: dict[str, Any]) -> spaces.Box:
    shape, dtype = tuple(about["obs_shape"]), np.dtype(about["obs_dtype"])
    low, high = (0, 255) if dtype == np.uint8 else (-np.inf, np.inf)
    if about["obs_bounds"] is not None:
        low, high = (np.array(end).astype(dtype).reshape(shape) for end in about["obs_bounds"])
    return spaces.Box(low, high, shape, dtype.type)


def _action_space(about: dict[str, Any]) -> spaces.Space[Any]:
    if "discrete" in about:
        return spaces.Discrete(about["discrete"])
    if "multi_discrete" in about:
        return spaces.MultiDiscrete(about["multi_discrete"])
    shape, *ends = about["box"]
    low, high = (np.array(end, np.float32).reshape(shape) for end in ends)
    return spaces.Box(low, high, tuple(shape), np.float32)


def _check_render_mode(mode: str | None, modes: Sequence[str], envs: _Envs) -> None:
    if mode not in (None, *modes):
        raise UnsupportedError(f"render_mode must be one of {modes}, not {mode!r}")
    if mode is not None and envs.frame(0) is None:
        raise UnsupportedError(f"render_mode={mode!r}: the environment draws no pictures")


def _check_options(options: dict[str, Any] | None) -> None:
    if options:
        raise UnsupportedError(f"options: the environment knows none of {', '.join(options)}")


def _count(name: str, value: Any, least: int) -> int:
    count = operator.index(value)
    if count < least:
        raise ValueError(f"{name} must be at least {least}, not {count}")
    return count


def _checked_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """Return a seed, or none, for each environment."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, Sequence | np.ndarray):
        if len(seed) != num_envs:
            raise ValueError(f"{len(seed)} seeds for {num_envs} envs")
        given = [None if each is None else operator.index(each) for each in seed]
    else:
        first = operator.index(seed)
        given = list(range(first, first + num_envs))
    for each in given:
        if each is not None and not 0 <= each <= _MAX_SEED:
            raise ValueError(f"seed must be 0 to {_MAX_SEED}, not {each}")
    return given


def _checked_mask(mask: Any, num_envs: int) -> Array | None:
    if mask is None:
        return None
    if not isinstance(mask, np.ndarray) or mask.dtype != bool:
        raise TypeError(f"reset_mask must be an array of bool, not {mask!r}")
    if mask.shape != (num_envs,) or not mask.any():
        raise ValueError(f"reset_mask must be [{num_envs}] with at least one True, not {mask!r}")
    return mask


def register(module: ModuleType, env_id: str, make: Callable[..., Any]) -> None:
    """Put the two classes of an environment into a module, and register them."""
    name = env_id.rpartition("/")[2].partition("-v")[0]
    about = {"make": staticmethod(make), "__module__": module.__name__}
    for suffix, parent in (("", RustEnv), ("Vector", RustVectorEnv)):
        documentation = "\n\n".join(filter(None, (make.__doc__, parent.__doc__)))
        made = type(name + suffix, (parent,), {**about, "__doc__": documentation})
        setattr(module, made.__name__, made)
    for kind in (
        ClosedError,
        NoPendingStepError,
        PendingStepError,
        ResetNeededError,
        UnsupportedError,
    ):
        setattr(module, kind.__name__, kind)
    gymnasium.register(
        env_id,
        entry_point=f"{module.__name__}:{name}",
        vector_entry_point=f"{module.__name__}:{name}Vector",
    )
