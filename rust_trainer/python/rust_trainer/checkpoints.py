"""The trainer's checkpoints: safetensors files with metadata, a checksum over both, and no code."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

FORMAT_VERSION = "2"

# As the file names types of numbers; these are those that checkpoints have.
_DTYPES = {
    torch.float32: "F32",
    torch.float64: "F64",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.uint8: "U8",
}
_STEP = re.compile(r"step-(\d+)\.safetensors")


class CheckpointError(ValueError):
    """A checkpoint that is not there, is damaged, or holds what is not understood."""


class DamagedError(CheckpointError):
    """A checkpoint that is damaged."""


@dataclass(kw_only=True)
class Checkpoint:
    """What a checkpoint holds, but for the states of its environments.

    Attributes:
        settings: The run's settings by name; those that are not there are at their defaults.
        obs_shape: Of one observation.
        obs_dtype: `"uint8"` or `"float32"`.
        action_space: `kind` is `"Discrete"` (with `n`) or `"Box"` (with `shape`, `low`, `high`).
        tensors: Weights by the names of the network's parameters, and what learning needs.
        values: Numbers of the algorithm, such as the statistics of `norm_obs`.
        counters: How far the run has come; `step` is that in agent steps.
        evaluation: What an evaluation found it to be worth, if it is a run's best.
    """

    settings: dict[str, Any]
    obs_shape: tuple[int, ...]
    obs_dtype: str
    action_space: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    values: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] | None = None

    @property
    def step(self) -> int:
        """Agent steps that the policy has learned from."""
        return int(self.counters.get("step", 0))


def find(path: str | os.PathLike[str], *, best: bool = False) -> Path:
    """Return the checkpoint that a path means: itself, or the newest of the run in that folder.

    Of a folder those that are damaged are passed over with a warning, unless all are.

    Raises:
        CheckpointError: There is none.
    """
    found = Path(path)
    if found.is_file():
        if best:
            raise CheckpointError(f"`{found}` is a file; the best is one of a run's folder")
        return found
    if not found.exists():
        raise CheckpointError(f"checkpoint `{found}`: does not exist; name a run's folder")
    folder = found / "checkpoints"
    if best:
        if not (folder / "best.safetensors").is_file():
            raise CheckpointError(
                f"checkpoint `{found}`: holds no best checkpoint; evaluation during training keeps"
                " it: train with eval_every"
            )
        return folder / "best.safetensors"
    files = folder.iterdir() if folder.is_dir() else iter(())
    steps = {int(match[1]): file for file in files if (match := _STEP.fullmatch(file.name))}
    if not steps:
        raise CheckpointError(f"checkpoint `{found}`: holds no checkpoint; name a run's folder")
    newest = steps.pop(max(steps))
    while steps:
        try:
            read(newest)
        except DamagedError as error:
            warnings.warn(f"{error}; taking an older one", stacklevel=2)
            newest = steps.pop(max(steps))
        else:
            break
    return newest


def read(path: str | os.PathLike[str], *, best: bool = False) -> Checkpoint:
    """Read the checkpoint that `path` means, as `find` does.

    Raises:
        CheckpointError: There is none, or it is damaged, of another format, or of no trainer.
        OSError: It cannot be read.
    """
    file = find(path, best=best)
    data = file.read_bytes()
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        tensors = safetensors.torch.load(data)
        metadata = dict(header.get("__metadata__") or {})
    except (ValueError, AttributeError, safetensors.SafetensorError) as error:
        # The length of a header may begin as these do.
        if data.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x04", b"\x80\x05")):
            raise CheckpointError(
                f"checkpoint `{file}`: is a file of PyTorch or Python (a pickle): none is ever"
                " loaded"
            ) from None
        raise DamagedError(f"checkpoint `{file}`: is damaged: {error}") from None
    version = metadata.get("format_version")
    if version is None:
        raise CheckpointError(f"checkpoint `{file}`: is no checkpoint of the trainer")
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"checkpoint `{file}` has format version {version}, this reads {FORMAT_VERSION}"
        )
    expected = metadata.pop("checksum", None)
    if checksum(metadata, tensors) != expected:
        raise DamagedError(f"checkpoint `{file}`: is damaged: its checksum is another")
    evaluation = metadata.get("evaluation")
    return Checkpoint(
        settings=json.loads(metadata["settings"]),
        obs_shape=tuple(json.loads(metadata["obs_shape"])),
        obs_dtype=metadata["obs_dtype"],
        action_space=tomllib.loads(metadata["action_space"]),
        tensors={name: t for name, t in tensors.items() if not name.startswith("env_state.")},
        values=json.loads(metadata["algorithm"]),
        counters=json.loads(metadata["counters"]),
        evaluation=None if evaluation is None else json.loads(evaluation),
    )


def write(checkpoint: Checkpoint, path: Path, *, made_by: str, no_games: str) -> None:
    """Write a checkpoint that the trainer plays from, and can begin a run with.

    Args:
        checkpoint: What it holds.
        path: The file.
        made_by: What made it, by name and version.
        no_games: Why it has no environments.

    Raises:
        OSError: The file cannot be written.
    """
    none_yet = {"step": 0, "update": 0, "seconds": 0.0, "worker_restarts": 0}
    metadata = {
        "format_version": FORMAT_VERSION,
        "made_by": made_by,
        "settings": json.dumps(checkpoint.settings),
        "counters": json.dumps(none_yet | checkpoint.counters),
        "obs_shape": json.dumps(checkpoint.obs_shape),
        "obs_dtype": checkpoint.obs_dtype,
        "action_space": _toml(checkpoint.action_space),
        "algorithm": json.dumps(checkpoint.values),
        "games_start_anew": no_games,
    }
    if checkpoint.evaluation is not None:
        metadata["evaluation"] = json.dumps(checkpoint.evaluation)
    tensors = {name: tensor.contiguous() for name, tensor in checkpoint.tensors.items()}
    metadata["checksum"] = checksum(metadata, tensors)
    # Others who listen at the file see all of it or none.
    unfinished = path.with_name(f".{path.name}.unfinished-{os.getpid()}")
    safetensors.torch.save_file(tensors, unfinished, metadata)
    unfinished.replace(path)


def checksum(metadata: dict[str, str], tensors: dict[str, torch.Tensor]) -> str:
    """Return the CRC-32 of everything in a checkpoint but itself, as the trainer has it."""
    crc = 0
    for name, text in sorted(metadata.items()):
        crc = zlib.crc32(f"{name}={text}\n".encode(), crc)
    for name, tensor in sorted(tensors.items()):
        kind = f"{name}: {_DTYPES.get(tensor.dtype, tensor.dtype)} {list(tensor.shape)}\n"
        crc = zlib.crc32(kind.encode(), crc)
        crc = zlib.crc32(memoryview(_bytes(tensor)), crc)
    return f"crc32:{crc:08x}"


def _bytes(tensor: torch.Tensor) -> Any:
    return tensor.contiguous().flatten().view(torch.uint8).numpy()


def _toml(space: dict[str, Any]) -> str:
    """Return an action space as TOML, whose numbers may be infinite."""
    lines = []
    for name, value in space.items():
        text = json.dumps(value)
        if name in ("low", "high"):
            text = f"[{', '.join(_float(number) for number in value)}]"
        lines.append(f"{name} = {text}\n")
    return "".join(lines)


def _float(number: float) -> str:
    return repr(float(number)) if math.isfinite(number) else ("inf" if number > 0 else "-inf")
