"""`TorchVecEnv`: a batch whose observations, rewards and ends are torch tensors.

On the CPU they are over the memory that the envs write to. On another device they come out of
pinned memory by copies that do not block. Only who asks for tensors imports this, and torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from atari_wrappers.backends.base import Backend
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.request import BatchRequest
from atari_wrappers.types import Info
from atari_wrappers.vector.env import VecEnv

try:
    import torch
except ImportError as error:
    raise ImportError('output="torch" needs torch: pip install torch') from error

TorchReset = tuple[torch.Tensor, Info]
TorchStep = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, Info]


class TorchVecEnv(VecEnv):
    """A `VecEnv` whose obs, reward, terminated and truncated are tensors.

    Dtypes and shapes are those of `VecEnv`. So is `final_obs` in the infos a tensor; what else is
    there stays NumPy's. `out` is a tensor of `device`, on the CPU also an array; actions, `env_id`
    and masks may be tensors of any device.

    On the CPU no number is copied. On another device obs are written to pinned memory, of which
    there is enough for two steps, and the copy to the device is queued: what follows on the same
    stream sees it done.

    Args:
        request: What is to be made.
        backend: What runs it, as `choose_backend` returned it.
        device: Where tensors are, such as `"cpu"` or `"cuda:0"`.

    Attributes:
        device: The same.

    Raises:
        UnsupportedError: There is no such device.
    """

    def __init__(self, request: BatchRequest, backend: type[Backend], device: Any = "cpu") -> None:
        try:
            self.device: torch.device = torch.device(device)
            torch.empty(0, device=self.device)
        except (AssertionError, RuntimeError) as error:
            raise UnsupportedError(f"device={device!r}: {error}".splitlines()[0]) from error
        super().__init__(request, backend)
        is_here = self.device.type == "cpu"
        self._staging = None if is_here else Staging(self.observation_space, self.device)
        self._out: torch.Tensor | None = None  # of the device, for what is in flight
        # How many rows come of what all envs are asked, if `recv` does not take it by parts.
        self._whole_rows = self.num_envs if self.batch_size == self.num_envs else None

    def _send(
        self, call: str, actions: Any, env_id: Any, out: Any, *, receives: bool = False
    ) -> None:
        actions, env_id = _as_array(actions), _as_array(env_id)
        place = self._place(out, self._whole_rows if env_id is None else None)
        super()._send(call, actions, env_id, place, receives=receives)
        self._note_place(place, out)

    def reset_async(
        self, seed: Any = None, options: Any = None, mask: Any = None, *, out: Any = None
    ) -> None:
        """Begin what `reset` does; see `VecEnv.reset_async`."""
        if isinstance(options, dict) and "reset_mask" in options:
            options = options | {"reset_mask": _as_array(options["reset_mask"])}
        place = self._place(out, self._whole_rows)
        super().reset_async(seed, options, _as_array(mask), out=place)
        self._note_place(place, out)

    def reset(self, **options: Any) -> TorchReset:  # type: ignore[override]
        """Restart every env with a new game, or some; see `VecEnv.reset`."""
        return super().reset(**options)  # type: ignore[return-value]

    def step(self, actions: Any, env_id: Any = None, *, out: Any = None) -> TorchStep:  # type: ignore[override]
        """Do `send`, then `recv`; see `VecEnv.step`."""
        return super().step(actions, env_id, out=out)  # type: ignore[return-value]

    def recv(self, out: Any = None, timeout: float | None = None) -> TorchStep:  # type: ignore[override]
        """Wait for `batch_size` envs of those sent; see `VecEnv.recv`."""
        return super().recv(out, timeout)  # type: ignore[return-value]

    def reset_wait(self, timeout: float | None = None, *, out: Any = None) -> TorchReset:  # type: ignore[override]
        """Wait for the reset that `reset_async` began; see `VecEnv.reset_wait`."""
        place, target = self._late_place(out, self.num_envs)
        obs, info = super().reset_wait(timeout, out=place)
        return self._obs(obs, target), self._with_tensors(info)

    def _recv(self, call: str, out: Any, timeout: float | None) -> TorchStep:  # type: ignore[override]
        place, target = self._late_place(out, self._order.check_recv(call))
        obs, *arrays, info = super()._recv(call, place, timeout)
        reward, terminated, truncated = (self._tensor(array) for array in arrays)
        return self._obs(obs, target), reward, terminated, truncated, self._with_tensors(info)

    def _row(self, obs: torch.Tensor, index: int) -> torch.Tensor:
        return obs[index].clone()

    def restore_state(  # type: ignore[override]
        self, states: Sequence[bytes], indices: Any = None, *, plain: bool = False
    ) -> TorchReset:
        """Bring envs to saved states; see `VecEnv.restore_state`."""
        obs, info = super().restore_state(states, indices, plain=plain)
        return self._tensor(obs), info

    def _place(self, out: Any, num_rows: int | None) -> Any:
        """Return where the envs are to write what is begun now; it may be said later (`None`)."""
        if self._staging is None:
            return out
        if out is not None:
            num_rows = self._staging.check(out)
        return None if num_rows is None else self._staging.take(num_rows)

    def _note_place(self, place: Any, out: Any) -> None:
        """Note the caller's `out`, now that what was begun is to be written to its place."""
        if place is not None:
            self._out = out

    def _late_place(self, out: Any, num_rows: int) -> tuple[Any, Any]:
        """Return where to write what comes now, `None` if that was said, and the device's `out`."""
        if self._staging is None:
            return out, None
        is_said = self._backend.ticket.out is not None
        is_twice = out is not None and self._out is not None
        if is_twice or not is_said:
            return self._place(out, num_rows), out  # which is refused if it is said twice
        if out is None:
            return None, self._out
        self._staging.check(out, num_rows)
        return None, out

    def _obs(self, obs: np.ndarray, out: torch.Tensor | None) -> torch.Tensor:
        self._out = None
        if self._staging is None:
            return torch.from_numpy(obs)
        return self._staging.to_device(obs, out)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        tensor = torch.from_numpy(array)
        return tensor if self._staging is None else tensor.to(self.device)

    def _with_tensors(self, info: Any) -> Any:
        if "final_obs" in info:
            info["final_obs"] = self._tensor(info["final_obs"])
        return info


def _as_array(values: Any) -> Any:
    """Return an array of what a tensor holds, wherever that is; anything else as it is."""
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values


class Staging:
    """Pinned memory for the observations of two steps, on their way to a device.

    Only what comes out of it takes its turn: what was taken for a call that is refused, or whose
    results are discarded, is taken again.

    Attributes:
        device: Which, with its index.
    """

    def __init__(self, space: Any, device: torch.device) -> None:
        self.device, self._is_cuda = torch.empty(0, device=device).device, device.type == "cuda"
        self._buffers = [self._pinned(space) for _ in range(2)]
        self._copied: list[Any] = [None, None]  # events: the copy out of a buffer is done
        self._turn = 0

    def _pinned(self, space: Any) -> torch.Tensor:
        buffer = torch.from_numpy(np.empty(space.shape, space.dtype))
        return buffer.pin_memory() if self._is_cuda else buffer

    def check(self, out: Any, num_rows: int | None = None) -> int:
        """Return how many rows a caller's tensor has, those asked for or else at most all.

        Raises:
            ValueError: The copy would not fit.
        """
        if not isinstance(out, torch.Tensor) or out.device != self.device:
            where = f", not on {out.device}" if isinstance(out, torch.Tensor) else ""
            raise ValueError(f"out must be a tensor on {self.device}{where}")
        if num_rows is None and out.ndim:
            num_rows = len(out)
        fitting = self._buffers[0][:num_rows]
        fits = out.shape == fitting.shape and out.dtype == fitting.dtype
        if not fits or out.requires_grad or not out.is_contiguous():
            raise ValueError(
                f"out must be {fitting.dtype} {list(fitting.shape)}, without gradients and"
                f" C-contiguous, not {out.dtype} {list(out.shape)}, requires gradient"
                f" {out.requires_grad}, C-contiguous {out.is_contiguous()}"
            )
        return len(out)

    def take(self, num_rows: int) -> np.ndarray:
        """Return memory to write to, once the copy out of it is done."""
        if self._copied[self._turn] is not None:
            self._copied[self._turn].synchronize()
        return self._buffers[self._turn][:num_rows].numpy()

    def to_device(self, obs: np.ndarray, out: torch.Tensor | None) -> torch.Tensor:
        """Queue the copy of what was taken to the device, into `out` if that is given."""
        pinned = torch.from_numpy(obs)
        if out is None:
            out = torch.empty(pinned.shape, dtype=pinned.dtype, device=self.device)
        out.copy_(pinned, non_blocking=True)
        if self._is_cuda:
            self._copied[self._turn] = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._copied[self._turn].record(torch.cuda.current_stream(self.device))
        self._turn = 1 - self._turn
        return out
