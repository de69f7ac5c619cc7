"""What callers ask of a batch, checked and brought to one form: seeds, masks, indices, buffers.

Each raises `TypeError` for what is of another kind, and `ValueError` for what cannot be.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from atari_wrappers.checks import checked_integer, checked_seed


def checked_seeds(
    seed: int | Sequence[int | None] | np.ndarray | None, num_envs: int
) -> list[int | None] | None:
    """Return a seed per env, `None` where there is none, or `None` if there is none at all."""
    if seed is None:
        return None
    if not isinstance(seed, int) and _is_several(seed):
        values = list(seed)
    else:
        first = checked_integer("seed", seed)
        values = [first + index for index in range(num_envs)]
    seeds = [checked_seed(value, f" of env {index}") for index, value in enumerate(values)]
    if len(seeds) != num_envs:
        raise ValueError(f"{len(seeds)} seeds for {num_envs} envs")
    return None if all(value is None for value in seeds) else seeds


def checked_options(options: Any, mask: Any) -> tuple[dict[str, Any], Any]:
    """Return a copy of the options without the mask, and the mask, wherever it was given."""
    if not isinstance(options, dict | None):
        raise TypeError(f"options must be a dict, not {options!r}")
    options = dict(options or {})
    if mask is not None and "reset_mask" in options:
        raise ValueError("a mask is given twice: as `mask`, and in options as `reset_mask`")
    return options, options.pop("reset_mask", mask)


def checked_mask(mask: Any, num_envs: int) -> np.ndarray:
    """Return `mask`, bool `[num_envs]` with a `True` in it, as an array."""
    checked = np.array(np.asarray(mask))
    if checked.dtype != bool or checked.shape != (num_envs,) or not checked.any():
        error = ValueError if checked.dtype == bool else TypeError
        raise error(
            f"a reset mask must be bool [{num_envs}] with at least one True,"
            f" not {checked.dtype} {list(checked.shape)}: {checked}"
        )
    return checked


def checked_indices(
    indices: Any, num_envs: int, name: str = "indices", *, from_end: bool = False
) -> list[int]:
    """Return `indices` (one, several, or `None` for all) as a list without repetitions.

    With `from_end`, -1 is the last env, as in Python's sequences.
    """
    if indices is None:
        return list(range(num_envs))
    if not _is_several(indices):
        indices = [indices]
    checked = [checked_integer(name, index) for index in indices]
    for index in checked:
        if not (-num_envs if from_end else 0) <= index < num_envs:
            raise ValueError(f"{name}: no env {index} among 0 to {num_envs - 1}")
    checked = [index % num_envs for index in checked]
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"{name} must name at least one env, and none twice, not {checked}")
    return checked


def as_buffer(out: Any) -> Any:
    """Return an array over the memory of `out`, such as a tensor of the CPU, which has DLPack."""
    if out is None or isinstance(out, np.ndarray) or not hasattr(out, "__dlpack__"):
        return out
    try:
        return np.from_dlpack(out)
    except (BufferError, RuntimeError) as error:
        raise ValueError(f"out cannot be written to from the CPU: {error}") from error


def check_buffer(out: np.ndarray | None, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Refuse a buffer that a batch of observations cannot be written to."""
    if out is None:
        return
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be an array or a tensor, not {type(out).__name__}")
    flags = out.flags
    if out.shape != shape or out.dtype != dtype or not (flags.writeable and flags.c_contiguous):
        raise ValueError(
            f"out must be {dtype} {list(shape)}, writable and C-contiguous, not {out.dtype}"
            f" {list(out.shape)}, writable {flags.writeable}, C-contiguous {flags.c_contiguous}"
        )


def checked_index(index: Any, num_envs: int) -> int:
    """Return the index of one env."""
    return checked_indices(checked_integer("index", index), num_envs, "index")[0]


def checked_timeout(timeout: Any) -> float:
    """Return `timeout`, in seconds."""
    if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real):
        raise TypeError(f"timeout must be seconds, not {timeout!r}")
    if not float(timeout) >= 0:
        raise ValueError(f"timeout must be at least 0 seconds, not {timeout}")
    return float(timeout)


def _is_several(value: Any) -> bool:
    """Whether `value` has items: a sequence, an array or a tensor of one dimension and more."""
    shape = getattr(value, "shape", None)
    return isinstance(value, Sequence) if shape is None else len(shape) > 0
