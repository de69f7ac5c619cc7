"""What `torch.nn.LSTM` makes of sequences with episode starts inside, for `lstm.rs`.

Run as `python lstm.py FOLDER`; writes inputs and answers as `lstm.safetensors`. Each episode's part
of each sequence goes through `torch.nn.LSTM` by itself, in float64.
"""

import sys
from itertools import pairwise
from pathlib import Path

import torch
from safetensors.torch import save_file

STEPS, SEQUENCES, INPUTS, SIZE = 12, 5, 7, 6


def single(tensor: torch.Tensor) -> torch.Tensor:
    """Round to what float32 holds: inputs must reach the trainer exactly."""
    return tensor.float().double()


def main(folder: Path) -> None:
    torch.manual_seed(3)
    lstm = torch.nn.LSTM(INPUTS, SIZE).double()
    weights = {name.removesuffix("_l0"): tensor for name, tensor in lstm.named_parameters()}
    with torch.no_grad():
        for tensor in weights.values():
            tensor.copy_(single(torch.randn_like(tensor) / 2))
    x = single(torch.randn(STEPS, SEQUENCES, INPUTS, dtype=torch.float64)).requires_grad_()
    state = single(torch.randn(2, SEQUENCES, SIZE, dtype=torch.float64)).requires_grad_()
    starts = torch.rand(STEPS, SEQUENCES) < 0.15
    starts[0, 1] = True  # at the first step,
    starts[-1, 2] = True  # at the last,
    starts[6:8, 3] = True  # in two steps one after the other,
    starts[:, 4] = False  # and nowhere

    outputs, states = [], []
    for sequence in range(SEQUENCES):
        cuts = [0, *starts[1:, sequence].nonzero().flatten().add(1).tolist(), STEPS]
        parts, carried = [], tuple(half[None, None, sequence] for half in state)
        for begin, end in pairwise(cuts):
            before = None if starts[begin, sequence] else carried
            output, carried = lstm(x[begin:end, sequence, None], before)
            parts.append(output)
        outputs.append(torch.cat(parts))
        states.append(torch.cat(carried))
    output, last = torch.cat(outputs, 1), torch.cat(states, 1)
    weighing = single(torch.randn_like(output)), single(torch.randn_like(last))
    (output * weighing[0]).sum().add((last * weighing[1]).sum()).backward()

    out = {"x": x, "state": state, "output": output, "last": last}
    out |= {"weighing.output": weighing[0], "weighing.last": weighing[1]}
    out |= {"gradient.x": x.grad, "gradient.state": state.grad}
    out |= {f"lstm.{name}": tensor for name, tensor in weights.items()}
    out |= {f"gradient.lstm.{name}": tensor.grad for name, tensor in weights.items()}
    out = {name: tensor.detach().float().contiguous() for name, tensor in out.items()}
    save_file(out | {"starts": starts}, folder / "lstm.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
