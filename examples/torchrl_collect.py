"""TorchRL's collector over a batch of ours: rollouts as TensorDicts.

    pip install torchrl
    python examples/torchrl_collect.py

TorchRL 0.14 wraps vector environments of gymnasium 1.x by `GymWrapper`; it restarts environments
itself, so the batch is made with `autoreset="disabled"`.
"""
