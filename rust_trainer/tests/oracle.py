"""Losses, gradients and optimizer steps, calculated by PyTorch alone.

Run by `oracle.rs` as `python oracle.py FOLDER`; writes the inputs and PyTorch's answers as
safetensors. Nothing here is shared with the trainer: it is `torch.nn`, `torch.distributions`,
`torch.optim`, and TensorFlow's RMSProp written out. All in float64, so that what differs is the
trainer's rounding alone (PyTorch's float32 norm of a large gradient is itself off by 1e-5 and
more).
"""

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.distributions import Categorical

BATCH, ACTIONS = 16, 6
CLIP, ENT_COEF, VF_COEF, MAX_GRAD_NORM = 0.1, 0.01, 0.5, 0.5


def single(tensor: torch.Tensor) -> torch.Tensor:
    """Round to what float32 holds: inputs must reach the trainer exactly."""
    return tensor.float().double()


def nature_cnn() -> tuple[nn.Module, nn.Module, nn.Module]:
    body = nn.Sequential(
        nn.Conv2d(4, 32, 8, stride=4),
        nn.ReLU(),
        nn.Conv2d(32, 64, 4, stride=2),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, stride=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 7 * 7, 512),
        nn.ReLU(),
    )
    return body, nn.Linear(512, ACTIONS), nn.Linear(512, 1)


NAMES = ("conv1", "conv2", "conv3", "hidden", "policy", "value")


def named(modules: tuple[nn.Module, ...]) -> list[tuple[str, torch.Tensor]]:
    layers = [
        m for module in modules for m in module.modules() if isinstance(m, nn.Conv2d | nn.Linear)
    ]
    pairs = zip(NAMES, layers, strict=True)
    return [
        (f"{name}.{kind}", getattr(layer, kind))
        for name, layer in pairs
        for kind in ("weight", "bias")
    ]


def ppo_loss(out: dict, dist: Categorical, value: torch.Tensor, norm_adv: bool, clip_vloss: bool):
    advantages = out["advantages"]
    if norm_adv:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = torch.exp(dist.log_prob(out["actions"]) - out["log_probs"])
    policy = torch.max(
        -advantages * ratio, -advantages * torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
    ).mean()
    squared = (value - out["returns"]) ** 2
    if clip_vloss:
        near = out["values"] + torch.clamp(value - out["values"], -CLIP, CLIP)
        squared = torch.max(squared, (near - out["returns"]) ** 2)
    value_loss = 0.5 * squared.mean()
    entropy = dist.entropy().mean()
    return policy, value_loss, entropy


def a2c_loss(out: dict, dist: Categorical, value: torch.Tensor):
    policy = -(dist.log_prob(out["actions"]) * out["advantages"]).mean()
    return policy, nn.functional.mse_loss(value, out["returns"]), dist.entropy().mean()


def save(tensors: dict[str, torch.Tensor], path: Path) -> None:
    single = {name: t.float() if t.is_floating_point() else t for name, t in tensors.items()}
    save_file({name: t.contiguous() for name, t in single.items()}, path)


def clear_of_kinks(body: nn.Module) -> torch.Tensor:
    """Draw observations that leave no ReLU's input within rounding of zero.

    There the gradient jumps: one such input among a million moved it by 2 % of its largest entry.
    """
    while True:
        obs = torch.randint(0, 256, (BATCH, 4, 84, 84), dtype=torch.uint8)
        x, closest = obs / 255.0, torch.inf
        for layer in body:
            if isinstance(layer, nn.ReLU):
                closest = min(closest, x.abs().min().item())
            x = layer(x)
        if closest > 1e-6:
            return obs


def losses(folder: Path) -> None:
    modules = nature_cnn()
    body, policy_head, value_head = modules
    with torch.no_grad():
        for _, tensor in named(modules):
            tensor.copy_(single(tensor))
        out = {"obs": clear_of_kinks(body)}
    out["actions"] = torch.randint(0, ACTIONS, (BATCH,))
    with torch.no_grad():
        policy_head.weight.copy_(single(20 * policy_head.weight))  # a policy far from uniform
        features = body(out["obs"] / 255.0)
        now = Categorical(logits=policy_head(features)).log_prob(out["actions"])
        # Old log-probabilities and values on both sides of the clip range.
        out["log_probs"] = single(now + 0.15 * torch.randn(BATCH))
        out["values"] = single(value_head(features).squeeze(1) + 0.2 * torch.randn(BATCH))
    out["advantages"] = single(torch.randn(BATCH))
    out["returns"] = single(out["values"] + out["advantages"])
    for name, tensor in named(modules):
        out[f"params.{name}"] = tensor.detach().clone()

    variants = {f"ppo{int(n)}{int(c)}": (n, c) for n in (False, True) for c in (False, True)} | {
        "a2c": None
    }
    for variant, flags in variants.items():
        parameters = [tensor for _, tensor in named(modules)]
        for parameter in parameters:
            parameter.grad = None
        features = body(out["obs"] / 255.0)
        dist, value = Categorical(logits=policy_head(features)), value_head(features).squeeze(1)
        policy, value_loss, entropy = (
            a2c_loss(out, dist, value) if flags is None else ppo_loss(out, dist, value, *flags)
        )
        total = policy - ENT_COEF * entropy + VF_COEF * value_loss
        total.backward()
        out[f"{variant}.loss"] = torch.stack([total, policy, value_loss, entropy]).detach()
        norm = nn.utils.clip_grad_norm_(parameters, MAX_GRAD_NORM)
        out[f"{variant}.norm"] = norm.detach().reshape(1)
        for name, tensor in named(modules):
            out[f"{variant}.grad.{name}"] = tensor.grad.clone()
    save(out, folder / "losses.safetensors")


def tensorflow_rms_prop(
    parameter: torch.Tensor,
    square: torch.Tensor | None,
    gradient: torch.Tensor,
    rate: float,
    decay: float = 0.99,
    epsilon: float = 1e-5,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of `tf.train.RMSPropOptimizer`, which Baselines' A2C uses; return what it changes.

    TensorFlow's kernel `ApplyRMSProp`: `ms += (g * g - ms) * (1 - rho)`, with `ms` made as ones,
    and `var -= lr * g / sqrt(ms + epsilon)`.
    """
    square = torch.ones_like(parameter) if square is None else square
    square = square + (gradient.square() - square) * (1 - decay)
    return parameter - rate * gradient / torch.sqrt(square + epsilon), square


class ResidualBlock(nn.Module):
    """ReLU, convolution, ReLU, convolution, and what came in is added."""

    def __init__(self, channels: int, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.conv1_norm, self.conv2_norm = norm(channels), norm(channels)
        self.relu1, self.relu2 = nn.ReLU(), nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.relu2(self.conv1_norm(self.conv1(self.relu1(x))))
        return x + self.conv2_norm(self.conv2(inner))


class ChannelNorm(nn.Module):
    """`torch.nn.LayerNorm` of the channels of each pixel, or of features; its own parameters."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        norm = nn.LayerNorm(channels, eps=1e-6)
        norm.weight, norm.bias = (nn.Parameter(torch.randn(channels)) for _ in range(2))
        self.weight, self.bias, self.norm = norm.weight, norm.bias, [norm]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm[0](x.movedim(1, -1)).movedim(-1, 1)


class Impala(nn.Module):
    """The residual network of Espeholt et al. 2018, figure 3, right, without the LSTM."""

    def __init__(self, channels: int, pixels: int, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        for number, outputs in enumerate((16, 32, 32), 1):
            stage = nn.Sequential()
            stage.add_module("conv", nn.Conv2d(channels, outputs, 3, padding=1))
            stage.add_module("conv_norm", norm(outputs))
            stage.add_module("pool", nn.MaxPool2d(3, stride=2, padding=1))
            stage.add_module("block1", ResidualBlock(outputs, norm))
            stage.add_module("block2", ResidualBlock(outputs, norm))
            self.add_module(f"stage{number}", stage)
            channels, pixels = outputs, (pixels + 1) // 2
        self.hidden, self.hidden_norm = nn.Linear(channels * pixels**2, 256), norm(256)
        self.relu_in, self.relu_out = nn.ReLU(), nn.ReLU()

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        x = self.stage3(self.stage2(self.stage1(obs / 255.0)))
        return self.relu_out(self.hidden_norm(self.hidden(self.relu_in(x).flatten(1))))


def impala(folder: Path) -> None:
    """Features and the gradient of a weighted sum of them, with layer norm and without."""
    out = {}
    for variant, norm in (("plain", nn.Identity), ("normed", ChannelNorm)):
        body = Impala(2, 20, norm if norm is ChannelNorm else lambda _: nn.Identity())
        with torch.no_grad():
            for parameter in body.parameters():
                parameter.copy_(single(parameter))
        closest = []

        def look(_module: nn.Module, x: tuple[torch.Tensor], closest: list = closest) -> None:
            closest.append(x[0].abs().min())

        for module in body.modules():
            if isinstance(module, nn.ReLU):
                module.register_forward_pre_hook(look)
        # As in `clear_of_kinks`: where a gradient does not jump within rounding.
        while not closest or min(closest) < 1e-6:
            closest.clear()
            obs = torch.randint(0, 256, (3, 2, 20, 20), dtype=torch.uint8)
            features = body(obs)
        weights = single(torch.randn(features.shape))
        (features * weights).sum().backward()
        tensors = {"obs": obs, "weights": weights, "features": features.detach()}
        for name, parameter in body.named_parameters():
            tensors[f"params.{name}"] = parameter.detach()
            tensors[f"grad.{name}"] = parameter.grad
        out |= {f"{variant}.{name}": tensor for name, tensor in tensors.items()}
    save(out, folder / "impala.safetensors")


def optimizers(folder: Path) -> None:
    size, steps = 257, 12
    start = single(torch.randn(size))
    gradients = single(torch.randn(steps, size) * torch.logspace(-6, 1, size))
    rates = single(torch.linspace(1e-2, 1e-3, steps))
    out = {"start": start, "gradients": gradients, "rates": rates}
    parameter = nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([parameter], eps=1e-5)
    for gradient, rate in zip(gradients, rates, strict=True):
        optimizer.param_groups[0]["lr"] = float(rate)
        parameter.grad = gradient.clone()
        optimizer.step()
    out["adam"] = parameter.detach().clone()
    parameter = nn.Parameter(start.clone())
    optimizer = torch.optim.RAdam([parameter])
    for gradient, rate in zip(gradients, rates, strict=True):
        optimizer.param_groups[0]["lr"] = float(rate)
        parameter.grad = gradient.clone()
        optimizer.step()
    out["radam"] = parameter.detach().clone()
    parameter, square = start.clone(), None
    for gradient, rate in zip(gradients, rates, strict=True):
        parameter, square = tensorflow_rms_prop(parameter, square, gradient, rate)
    out["rms_prop"] = parameter
    save(out, folder / "optimizers.safetensors")


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    target = Path(sys.argv[1])
    losses(target)
    optimizers(target)
    impala(target)
