"""The trainer's networks as PyTorch modules, their parameters named as checkpoints name them.

What they compute is what the trainer's own networks compute, in float32 whatever the precision
that the run had. No forward pass has a choice that depends on numbers: `onnx_export` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

Net = Literal["nature", "impala", "mlp"]

# Outputs, kernel and stride of the Nature CNN's convolutions (Mnih et al. 2015), and what follows.
_NATURE = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
_NATURE_WIDTH = 512
# Channels of the stages of IMPALA's network (Espeholt et al. 2018, figure 3).
_IMPALA = (16, 32, 32)


@dataclass(frozen=True, kw_only=True)
class BodyPlan:
    """What makes features of observations.

    Attributes:
        net: The network before the heads.
        obs_shape: Of one observation.
        is_bytes: Observations are uint8, which count as 0 to 1.
        mlp_width: Units in each hidden layer of an `mlp`.
        impala_width: Units of the layer behind IMPALA's convolutions.
        rectified: An `mlp` has rectified linear units instead of tanh.
        layer_norm: Layer normalization behind each layer.
        last_layer: The last fully connected layer is the body's, not the heads'.
    """

    net: Net
    obs_shape: tuple[int, ...]
    is_bytes: bool
    mlp_width: int = 64
    impala_width: int = 256
    rectified: bool = False
    layer_norm: bool = False
    last_layer: bool = True


class ChannelNorm(nn.Module):
    """Layer normalization over axis 1, with a scale and a shift for each of its places."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = 1e-6  # flax's

    def forward(self, x: Tensor) -> Tensor:
        """`[batch, features, ...]` → the same shape."""
        last = x.movedim(1, -1)
        normed = functional.layer_norm(last, self.weight.shape, self.weight, self.bias, self.eps)
        return normed.movedim(-1, 1)


def add_body(owner: nn.Module, plan: BodyPlan) -> int:
    """Add the layers of a body to a module; returns how many features it makes."""
    if plan.net == "mlp":
        _add(owner, "hidden1", nn.Linear(plan.obs_shape[0], plan.mlp_width), plan)
        inputs = width = plan.mlp_width
    else:
        add = _add_nature if plan.net == "nature" else _add_impala
        inputs, width = add(owner, plan)
    if not plan.last_layer:
        return inputs
    _add(owner, "hidden2" if plan.net == "mlp" else "hidden", nn.Linear(inputs, width), plan)
    return width


def run_body(owner: nn.Module, plan: BodyPlan, x: Tensor) -> Tensor:
    """Numbers `[batch, ...]` → features `[batch, features]`, by the layers of `add_body`."""
    unit = torch.tanh if plan.net == "mlp" and not plan.rectified else functional.relu
    if plan.net == "mlp":
        x = unit(_run(owner, "hidden1", x))
    elif plan.net == "nature":
        for number in range(1, len(_NATURE) + 1):
            x = functional.relu(_run(owner, f"conv{number}", x))
        x = torch.flatten(x, 1)
    else:
        for number in range(1, len(_IMPALA) + 1):
            x = cast(Stage, owner.get_submodule(f"stage{number}"))(x)
        x = torch.flatten(functional.relu(x), 1)
    if not plan.last_layer:
        return x
    return unit(_run(owner, "hidden2" if plan.net == "mlp" else "hidden", x))


def _add_nature(owner: nn.Module, plan: BodyPlan) -> tuple[int, int]:
    channels, *sides = plan.obs_shape
    for number, (outputs, kernel, stride) in enumerate(_NATURE, 1):
        _add(owner, f"conv{number}", nn.Conv2d(channels, outputs, kernel, stride), plan)
        sides = [(side - kernel) // stride + 1 for side in sides]
        channels = outputs
    return channels * sides[0] * sides[1], _NATURE_WIDTH


def _add_impala(owner: nn.Module, plan: BodyPlan) -> tuple[int, int]:
    channels, *sides = plan.obs_shape
    for number, outputs in enumerate(_IMPALA, 1):
        owner.add_module(f"stage{number}", Stage(channels, outputs, plan))
        sides = [-(-side // 2) for side in sides]
        channels = outputs
    return channels * sides[0] * sides[1], plan.impala_width


class Stage(nn.Module):
    """A stage of IMPALA's network: a convolution, max-pooling, two residual blocks."""

    def __init__(self, inputs: int, outputs: int, plan: BodyPlan) -> None:
        super().__init__()
        _add(self, "conv", nn.Conv2d(inputs, outputs, 3, padding=1), plan)
        self.block1, self.block2 = Block(outputs, plan), Block(outputs, plan)

    def forward(self, x: Tensor) -> Tensor:
        """`[batch, inputs, height, width]` → `[batch, outputs, ⌈height / 2⌉, ⌈width / 2⌉]`."""
        x = functional.max_pool2d(_run(self, "conv", x), 3, 2, 1)
        return cast(Tensor, self.block2(self.block1(x)))


class Block(nn.Module):
    """Two convolutions, each behind a rectified linear unit; their sum with what comes in."""

    def __init__(self, channels: int, plan: BodyPlan) -> None:
        super().__init__()
        for name in ("conv1", "conv2"):
            _add(self, name, nn.Conv2d(channels, channels, 3, padding=1), plan)

    def forward(self, x: Tensor) -> Tensor:
        """`[batch, channels, height, width]` → the same shape."""
        inner = functional.relu(_run(self, "conv1", functional.relu(x)))
        return x + _run(self, "conv2", inner)


def _add(owner: nn.Module, name: str, layer: nn.Linear | nn.Conv2d, plan: BodyPlan) -> None:
    owner.add_module(name, layer)
    if plan.layer_norm:
        owner.add_module(f"{name}_norm", ChannelNorm(layer.weight.shape[0]))


def _run(owner: nn.Module, name: str, x: Tensor) -> Tensor:
    x = owner.get_submodule(name)(x)
    norm: Any = getattr(owner, f"{name}_norm", None)
    return cast(Tensor, x if norm is None else norm(x))


class Tower(nn.Linear):
    """A head with a body of its own, such as `hidden1` and `hidden2` for flat observations."""

    def __init__(self, plan: BodyPlan, outputs: int) -> None:
        super().__init__(width_of(plan), outputs)
        self.plan = plan
        add_body(self, plan)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - as torch has it
        """Numbers `[batch, inputs]` → `[batch, outputs]`."""
        return functional.linear(run_body(self, self.plan, input), self.weight, self.bias)


class NoisyLinear(nn.Linear):
    """A layer with factorised Gaussian noise on its weights (Fortunato et al. 2018).

    In training mode each call draws its noise; in evaluation mode the weights are what they are on
    average.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.weight_sigma = nn.Parameter(torch.zeros(outputs, inputs))
        self.bias_sigma = nn.Parameter(torch.zeros(outputs))

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - as torch has it
        """`[batch, inputs]` → `[batch, outputs]`."""
        mean = super().forward(input)
        if not self.training:
            return mean
        inputs, outputs = (self._noise(count) for count in reversed(self.weight.shape))
        noise = functional.linear(input * inputs, self.weight_sigma, self.bias_sigma) * outputs
        return mean + noise

    def _noise(self, count: int) -> Tensor:
        normal = torch.randn(count, device=self.weight.device)
        return normal.sign() * normal.abs().sqrt()


class Stream(nn.Module):
    """A hidden layer and the last one, behind a body without its last layer."""

    def __init__(self, inputs: int, width: int, outputs: int, *, noisy: bool) -> None:
        super().__init__()
        layer = NoisyLinear if noisy else nn.Linear
        self.hidden = layer(inputs, width)
        self.out = layer(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """`[batch, inputs]` → `[batch, outputs]`."""
        return cast(Tensor, self.out(functional.relu(self.hidden(x))))


class QuantileEmbedding(nn.Module):
    """What IQN multiplies features with, so that they say the return's quantile at a fraction.

    (Dabney et al. 2018, "Implicit quantile networks", eq. 4). The fractions are those by which the
    trainer judges an agent's actions: the middles of as many equal parts of [0, 1].
    """

    cosines: Tensor

    def __init__(self, features: int, cosines: int, samples: int) -> None:
        super().__init__()
        self.features = features
        self.weight = nn.Parameter(torch.zeros(features, cosines))
        self.bias = nn.Parameter(torch.zeros(features))
        fractions = (torch.arange(samples) + 0.5) / samples
        angles = torch.pi * torch.arange(cosines) * fractions[:, None]
        self.register_buffer("cosines", torch.cos(angles), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """`[batch, features]` → `[batch · samples, features]`, those of a row one after another."""
        embedded = functional.relu(functional.linear(self.cosines, self.weight, self.bias))
        return torch.reshape(features.unsqueeze(1) * embedded, (-1, self.features))


def width_of(plan: BodyPlan) -> int:
    """Return the units of the last layer, whether it is the body's or the heads'."""
    widths = {"nature": _NATURE_WIDTH, "impala": plan.impala_width, "mlp": plan.mlp_width}
    return widths[plan.net]
