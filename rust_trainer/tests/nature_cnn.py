"""The convolutions of the Nature CNN (Mnih et al. 2015) by PyTorch alone, for the other scripts."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import conv2d, relu


class Rectified:
    """Rectified linear units that know how near to a kink gradients were taken.

    Nearer than the other side rounds, a unit may be on here and off there: then gradients differ by
    what one sample says, and an optimizer that divides by their size makes a step of it.
    """

    def __init__(self) -> None:
        self.clearance = math.inf

    def __call__(self, x: Tensor) -> Tensor:
        if x.requires_grad:
            self.note(x)
        return relu(x)

    def note(self, distances: Tensor) -> None:
        """Take in how far from kinks numbers are."""
        self.clearance = min(self.clearance, distances.detach().abs().min().item())


def convolutions(
    weights: dict[str, Tensor],
    obs: Tensor,
    kind: torch.dtype,
    rectified: Rectified,
    normed: Callable[[str, Tensor], Tensor] = lambda _, x: x,
) -> Tensor:
    """Features `[batch, 64, height, width]` of uint8 images, computed in `kind`.

    `normed` stands between each convolution and its rectified linear unit, and is told its name.
    """
    x = obs.to(kind).contiguous(memory_format=torch.channels_last)
    is_exact = kind == torch.bfloat16  # which holds a byte exactly, but not the 255th of one
    if not is_exact:
        x = x / 255
    for name, stride in (("conv1", 4), ("conv2", 2), ("conv3", 1)):
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        if name == "conv1" and is_exact:
            weight = weight / 255
        x = rectified(normed(name, conv2d(x, weight.to(kind), bias.to(kind), stride=stride)))
    return x
