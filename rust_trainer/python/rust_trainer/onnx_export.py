"""Policies as ONNX models: torch.fx reads the forward pass, and each operation has a line here.

PyTorch's own exporters need packages that change with every version of it; a network of a dozen
kinds of operations needs none of them. What comes out takes observations as the environment gives
them, in batches of any size, and holds the scaling of pixels and the choice of the best action.
"""

from __future__ import annotations

import contextlib
import json
import math
import operator
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import fx, nn
from torch.fx.node import map_arg
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn import functional

from rust_trainer import __version__
from rust_trainer.networks import ChannelNorm
from rust_trainer.policies import (
    ActorCritic,
    DeterministicPolicy,
    RecurrentActorCritic,
    SoftmaxPolicy,
)
from rust_trainer.policy import Policy

if TYPE_CHECKING:
    import onnx

_OPSET = 18
_IR_VERSION = 10  # that of this opset's time: older runtimes take it
_TYPES = {torch.float32: 1, torch.uint8: 2, torch.int64: 7, torch.float64: 11}  # TensorProto's


def export_onnx(policy: Policy, file: str | os.PathLike[str]) -> Path:
    """Write a policy as an ONNX model.

    The model's input is `obs`, `[batch, ...]` in the environment's own type (uint8 pixels as they
    are). It gives `action`, the best actions, int64 `[batch]` or float32 `[batch, dims]`; beside
    it `logits` and `value` (PPO, A2C), `mean`, `log_std` and `value` (continuous actions), or
    `q_values` (DQN, PQN), or `mean` (DDPG, TD3, MADDPG), or `logits` (MADDPG with discrete
    actions). A central critic is left out: what acts needs none. With an LSTM there are `state`,
    float32 `[2, batch, size]`, zeros where an episode begins, and `state_out` for the next step.

    The game, the settings and the recipe by which `atari_wrappers` makes it, and the names of
    the actions are in the model's metadata, each as JSON.

    Args:
        policy: What `load_policy` returned.
        file: Where the model goes.

    Returns:
        The file.

    Raises:
        ImportError: The package onnx is missing; the message says how to install it.
        OSError: The file cannot be written.
    """
    model = onnx_model(policy)
    path = Path(file)
    path.write_bytes(model.SerializeToString())
    return path


def onnx_model(policy: Policy) -> onnx.ModelProto:
    """Return the ONNX model of a policy, checked; see `export_onnx`."""
    try:
        import onnx
    except ModuleNotFoundError:
        raise ImportError(
            "ONNX models need the package onnx: pip install 'atari-trainer[onnx]'"
        ) from None
    obs = torch.zeros(2, *policy.obs_shape, dtype=_obs_dtype(policy))
    examples, outputs = [obs], ["q_values"]
    if isinstance(policy, ActorCritic):
        outputs = ["logits" if policy.bounds is None else "mean", "value"]
        outputs = outputs[:1] if policy.is_central else outputs
    if isinstance(policy, SoftmaxPolicy):
        outputs = ["logits"]
    if isinstance(policy, DeterministicPolicy):
        outputs = ["mean"]
    if isinstance(policy, RecurrentActorCritic):
        examples.append(policy.new_state(2).cpu())
        outputs.append("state_out")
    graph = _Graph(policy, examples)
    graph.convert(outputs)
    _add_choice(graph, policy, outputs[0])
    model = onnx.helper.make_model(
        graph.proto(),
        producer_name="rust_trainer",
        producer_version=__version__,
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
    )
    onnx.helper.set_model_props(model, _metadata(policy))
    onnx.checker.check_model(model, full_check=True)
    return model


def _obs_dtype(policy: Policy) -> torch.dtype:
    return torch.uint8 if policy.plan.is_bytes else torch.float32


def _metadata(policy: Policy) -> dict[str, str]:
    checkpoint, env = policy.checkpoint, policy.env
    described: dict[str, Any] = {
        "env_id": env.env_id,
        "env_settings": env.settings,
        "algorithm": checkpoint.settings.get("algorithm", "ppo"),
        "agent_steps": checkpoint.step,
        "action_space": checkpoint.action_space,
    }
    # An environment that is not here is no reason to have no model.
    with contextlib.suppress(Exception):
        described["recipe"] = env.recipe
        described["action_meanings"] = env.action_meanings()
    return {name: json.dumps(_finite(value), allow_nan=False) for name, value in described.items()}


def _finite(value: Any) -> Any:
    """Return a value as JSON has it: numbers that are not finite, such as bounds, are `None`."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Tracer(fx.Tracer):
    """Reads a forward pass down to the layers that have weights."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        kinds = (nn.Linear, nn.Conv2d, nn.LSTMCell, ChannelNorm)
        # A head with layers of its own is a layer behind them.
        return isinstance(m, kinds) and not list(m.children())


class _Graph:
    """An ONNX graph that grows; names of its values stand for them."""

    def __init__(self, policy: Policy, examples: Sequence[torch.Tensor]) -> None:
        import onnx

        self.onnx = onnx
        self.policy = policy
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, onnx.TensorProto] = {}
        self.outputs: list[onnx.ValueInfoProto] = []
        traced = _Tracer().trace(policy)
        module = fx.GraphModule(policy, traced)
        ShapeProp(module).propagate(*examples)  # type: ignore[no-untyped-call]
        self.traced = traced
        self.names: dict[fx.Node, Any] = {}
        self.inputs = [
            self._about(name, example.dtype, example.shape)
            for name, example in zip(("obs", "state"), examples, strict=False)
        ]

    def add(self, kind: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        """Add an operation; returns the name of what it gives, or names."""
        made = [f"{kind.lower()}_{len(self.nodes)}_{place}" for place in range(count)]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, made, **attributes))
        return made[0] if count == 1 else made

    def constant(self, value: Any, name: str | None = None) -> str:
        """Add numbers that stand in the model; returns their name."""
        array = np.asarray(value.detach().cpu() if isinstance(value, torch.Tensor) else value)
        name = name or f"constant_{len(self.weights)}"
        if name not in self.weights:
            array = np.ascontiguousarray(array).reshape(array.shape)
            self.weights[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str) -> str:
        """Return a parameter or buffer of the policy under its own name."""
        owner, _, own = name.rpartition(".")
        return self.constant(getattr(self.policy.get_submodule(owner), own), name)

    def give(self, name: str, value: str, dtype: torch.dtype, shape: Sequence[int]) -> None:
        """Make a value an output of the model, under this name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self._about(name, dtype, shape))

    def _about(self, name: str, dtype: torch.dtype, shape: Sequence[int]) -> onnx.ValueInfoProto:
        axis = 1 if name.startswith("state") else 0
        sides: list[int | str] = list(shape)
        if sides and name != "log_std":
            sides[axis] = "batch"
        return self.onnx.helper.make_tensor_value_info(name, _TYPES[dtype], sides)

    def proto(self) -> onnx.GraphProto:
        """Return the graph as it stands."""
        return self.onnx.helper.make_graph(
            self.nodes, "policy", self.inputs, self.outputs, list(self.weights.values())
        )

    def convert(self, outputs: Sequence[str]) -> None:
        """Add every operation of the forward pass, and its results as outputs of these names."""
        inputs = iter(("obs", "state"))
        for node in self.traced.nodes:
            match node.op:
                case "placeholder":
                    self.names[node] = next(inputs)
                case "get_attr":
                    self.names[node] = self.weight(str(node.target))
                case "call_module":
                    self.names[node] = self._layer(node)
                case "output":
                    results: Any = node.args[0]
                    results = results if isinstance(results, tuple) else (results,)
                    for name, result in zip(outputs, results, strict=True):
                        about = result.meta["tensor_meta"]
                        self.give(name, self.names[result], about.dtype, about.shape)
                case _:
                    convert = _OPERATIONS.get(node.target)
                    if convert is None:
                        raise NotImplementedError(f"no ONNX for the operation {node.target}")
                    args, kwargs = self._named((node.args, node.kwargs))
                    self.names[node] = convert(self, *args, **kwargs)

    def _named(self, values: Any) -> Any:
        """Return arguments with the names of our values in place of the nodes that make them."""
        return map_arg(values, self.names.__getitem__)

    def _layer(self, node: fx.Node) -> Any:
        """Add a layer that has weights."""
        layer, name = self.policy.get_submodule(str(node.target)), str(node.target)
        args = self._named(node.args)
        x = args[0]
        if isinstance(layer, nn.LSTMCell):
            return self._lstm_cell(name, x, *args[1])
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        if isinstance(layer, nn.Conv2d):
            pads = [int(side) for side in layer.padding] * 2
            return self.add("Conv", x, weight, bias, strides=list(layer.stride), pads=pads)
        if isinstance(layer, ChannelNorm):
            rank = len(node.meta["tensor_meta"].shape)
            last = [0, *range(2, rank), 1]
            back = [0, rank - 1, *range(1, rank - 1)]
            x = self.add("Transpose", x, perm=last)
            x = self.add("LayerNormalization", x, weight, bias, epsilon=layer.eps)
            return self.add("Transpose", x, perm=back)
        return self.add("Gemm", x, weight, bias, transB=1)

    def _lstm_cell(self, name: str, x: str, hidden: str, cell: str) -> tuple[str, str]:
        weights = [self.weight(f"{name}.{part}") for part in ("weight_ih", "bias_ih")]
        own = [self.weight(f"{name}.{part}") for part in ("weight_hh", "bias_hh")]
        sums = self.add(
            "Add",
            self.add("Gemm", x, *weights, transB=1),
            self.add("Gemm", hidden, *own, transB=1),
        )
        gates = self.add("Split", sums, count=4, axis=1, num_outputs=4)
        in_, forget, out = (self.add("Sigmoid", gates[place]) for place in (0, 1, 3))
        new = self.add("Mul", in_, self.add("Tanh", gates[2]))
        cell = self.add("Add", self.add("Mul", forget, cell), new)
        return self.add("Mul", out, self.add("Tanh", cell)), cell


def _value(graph: _Graph, x: Any) -> str:
    """Return the name of a value that may be a plain number."""
    return x if isinstance(x, str) else graph.constant(np.float32(x))


def _binary(kind: str) -> Callable[..., Any]:
    return lambda graph, x, y: graph.add(kind, _value(graph, x), _value(graph, y))


def _unary(kind: str) -> Callable[..., Any]:
    return lambda graph, x, *_, **__: graph.add(kind, x)


def _reduced(kind: str) -> Callable[..., Any]:
    def add(graph: _Graph, x: str, axis: int, keepdim: bool = False) -> str:
        axes = graph.constant(np.array([axis]))
        return str(graph.add(kind, x, axes, keepdims=int(keepdim)))

    return add


def _item(graph: _Graph, x: Any, index: int) -> Any:
    if isinstance(x, tuple):
        return x[index]
    return graph.add("Gather", x, graph.constant(np.array(index)), axis=0)


def _clamp(graph: _Graph, x: str, low: float, high: float) -> Any:
    # Normalized observations are float64 until here.
    return graph.add("Clip", x, *(graph.constant(np.float64(limit)) for limit in (low, high)))


def _linear(graph: _Graph, x: str, weight: str, bias: str) -> Any:
    return graph.add("Gemm", x, weight, bias, transB=1)


def _max_pool(graph: _Graph, x: str, kernel_size: int, stride: int, padding: int, **_: Any) -> Any:
    sides, strides, pads = [kernel_size] * 2, [stride] * 2, [padding] * 4
    return graph.add("MaxPool", x, kernel_shape=sides, strides=strides, pads=pads)


def _stack(graph: _Graph, tensors: Sequence[str]) -> Any:
    axes = graph.constant(np.array([0]))
    return graph.add("Concat", *(graph.add("Unsqueeze", x, axes) for x in tensors), axis=0)


_OPERATIONS: dict[Any, Callable[..., Any]] = {
    "to": lambda graph, x, dtype: graph.add("Cast", x, to=_TYPES[dtype]),
    "clamp": _clamp,
    "mean": _reduced("ReduceMean"),
    "sum": _reduced("ReduceSum"),
    "squeeze": lambda graph, x, axis: graph.add("Squeeze", x, graph.constant(np.array([axis]))),
    "permute": lambda graph, x, *axes: graph.add("Transpose", x, perm=list(axes)),
    "unsqueeze": lambda graph, x, axis: graph.add("Unsqueeze", x, graph.constant(np.array([axis]))),
    operator.add: _binary("Add"),
    operator.sub: _binary("Sub"),
    operator.mul: _binary("Mul"),
    operator.truediv: _binary("Div"),
    operator.getitem: _item,
    torch.tanh: _unary("Tanh"),
    torch.flatten: lambda graph, x, axis: graph.add("Flatten", x, axis=axis),
    torch.reshape: lambda graph, x, shape: graph.add("Reshape", x, graph.constant(np.array(shape))),
    torch.stack: _stack,
    functional.relu: _unary("Relu"),
    functional.linear: _linear,
    torch.softmax: lambda graph, x, axis: graph.add("Softmax", x, axis=axis),
    functional.max_pool2d: _max_pool,
}


def _add_choice(graph: _Graph, policy: Policy, said: str) -> None:
    """Add the best actions as an output."""
    bounds = policy.bounds if isinstance(policy, ActorCritic | DeterministicPolicy) else None
    if bounds is not None:
        low, high = (graph.constant(bound.reshape(-1)) for bound in bounds)
        action = graph.add("Min", graph.add("Max", said, low), high)
        dims = bounds[0].size
        if isinstance(policy, ActorCritic):
            graph.give("log_std", graph.constant(policy.log_std()), torch.float32, [dims])
        graph.give("action", action, torch.float32, [0, dims])
    else:
        action = graph.add("ArgMax", said, axis=1, keepdims=0)
        graph.give("action", action, torch.int64, [0])
