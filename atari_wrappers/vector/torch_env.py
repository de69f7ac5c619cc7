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
    there stays NumPy's. `out` and actions may be tensors of the CPU or of `device`.

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
        self._out: torch.Tensor | None = None  # of the device, to be filled
        # How many rows come of what all envs are asked, if `recv` does not take it by parts.
        self._whole_rows = self.num_envs if self.batch_size == self.num_envs else None

    def _send(self, call: str, actions: Any, env_id: Any, out: Any) -> None:
        if isinstance(actions, torch.Tensor):
            actions = actions.detach().cpu().numpy()
        if isinstance(env_id, torch.Tensor):
            env_id = env_id.cpu().numpy()
        num_rows = self._whole_rows if env_id is None else None
        super()._send(call, actions, env_id, self._place(out, num_rows))

    def reset_async(
        self, seed: Any = None, options: Any = None, mask: Any = None, *, out: Any = None
    ) -> None:
        """Begin what `reset` does; see `VecEnv.reset_async`."""
        super().reset_async(seed, options, mask, out=self._place(out, self._whole_rows))

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
        obs, info = super().reset_wait(timeout, out=self._late_place(out, self.num_envs))
        return self._obs(obs), self._with_tensors(info)

    def _recv(self, call: str, out: Any, timeout: float | None) -> TorchStep:  # type: ignore[override]
        out = self._late_place(out, self._order.check_recv(call))
        obs, *arrays, info = super()._recv(call, out, timeout)
        reward, terminated, truncated = (self._tensor(array) for array in arrays)
        return self._obs(obs), reward, terminated, truncated, self._with_tensors(info)

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
        self._out = None
        if self._staging is None:
            return out
        if isinstance(out, torch.Tensor) and out.device.type != "cpu":
            if out.device != self._staging.device:
                raise ValueError(f"out is on {out.device}, and the batch on {self._staging.device}")
            self._out, num_rows = out, len(out)
        elif out is not None:
            raise ValueError(f"out must be a tensor on {self._staging.device}")
        return None if num_rows is None else self._staging.take(num_rows)

    def _late_place(self, out: Any, num_rows: int) -> Any:
        """Return where to write what comes now, unless that was said when it was begun."""
        is_said = self._backend.ticket.out is not None
        if self._staging is None or (is_said and out is None):
            return out
        return self._place(out, num_rows)

    def _obs(self, obs: np.ndarray) -> torch.Tensor:
        out, self._out = self._out, None
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


class Staging:
    """Pinned memory for the observations of two steps, on their way to a device.

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

    def take(self, num_rows: int) -> np.ndarray:
        """Return memory to write to, once the copy out of it is done."""
        self._turn = 1 - self._turn
        if self._copied[self._turn] is not None:
            self._copied[self._turn].synchronize()
        return self._buffers[self._turn][:num_rows].numpy()

    def to_device(self, obs: np.ndarray, out: torch.Tensor | None) -> torch.Tensor:
        """Queue the copy of what was taken last to the device, into `out` if that is given."""
        pinned = self._buffers[self._turn][: len(obs)]
        if out is None:
            out = torch.empty(pinned.shape, dtype=pinned.dtype, device=self.device)
        out.copy_(pinned, non_blocking=True)
        if self._is_cuda:
            self._copied[self._turn] = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._copied[self._turn].record(torch.cuda.current_stream(self.device))
        return out
