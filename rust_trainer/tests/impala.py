"""The convolutions of IMPALA's network (Espeholt et al. 2018) by PyTorch alone, for DQN's test."""

import torch
from nature_cnn import Rectified
from torch import Tensor
from torch.nn.functional import conv2d, max_pool2d, pad, unfold


def residual(weights: dict[str, Tensor], obs: Tensor, rectified: Rectified) -> Tensor:
    """Features `[batch, 32, height, width]` of uint8 images, computed in float64."""

    def convolved(name: str, x: Tensor) -> Tensor:
        return conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], padding=1)

    x = obs.double() / 255
    for stage in ("stage1", "stage2", "stage3"):
        x = pooled(convolved(f"{stage}.conv", x), rectified)
        for block in (f"{stage}.block1", f"{stage}.block2"):
            inner = convolved(f"{block}.conv1", rectified(x))
            x = x + convolved(f"{block}.conv2", rectified(inner))
    return rectified(x)


def pooled(x: Tensor, rectified: Rectified) -> Tensor:
    """The largest of each 3 by 3 pixels, at half the size; a second one as large is a kink, too.

    Pixels of one brightness and the same neighbours have the same gradient, whichever is taken.
    """
    if x.requires_grad:
        around = pad(x.detach(), (1, 1, 1, 1), value=-torch.inf)
        first, second = unfold(around, 3, stride=2).unflatten(1, (-1, 9)).topk(2, 2)[0].unbind(2)
        rectified.note((first - second)[first - second > 1e-14])
    return max_pool2d(x, 3, stride=2, padding=1)
