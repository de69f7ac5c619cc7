"""Writes what an untrained policy with a memory says of some observations, and serves it.

policy.py FOLDER  # of the tests' helpers
"""

import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from untrained import observations, save_untrained, untrained

from rust_trainer.commands import serve
from rust_trainer.serving import PolicyClient

with tempfile.TemporaryDirectory() as folder:
    file = save_untrained("mlp-lstm", Path(folder))
    policy = untrained("mlp-lstm", Path(folder))
    client = PolicyClient(policy, threading.Lock(), 0.0)
    for obs in observations(policy, 6):
        actions, said = client.act(obs[None], None, greedy=True)
        numbers = [*obs, *actions, *said["value"], *said["probabilities"][0]]
        sys.stdout.write(" ".join(repr(float(number)) for number in numbers) + "\n")
    sys.stdout.write("\n")
    sys.stdout.flush()
    sys.exit(serve("serve-policy", [str(file), "--listen", "127.0.0.1:0"]))
