"""Cuts a network of its own between a client and a server, and says what that costs.

    unshare --net --map-root-user python tests/remote/network_cut.py

In a namespace of networks `lo` can be taken down, which no packet survives and no connection is
told of; a proxy, as the tests have it, closes or is silent. After each cut the batch is compared
with one of this process.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from serving import TOKEN, start_server

from atari_wrappers import make_vec
from atari_wrappers.remote import RemoteVecEnv, ServerError

ENV_ID, NUM_ENVS, STEPS = "CartPole-v1", 2, 30


def link(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    link("up")
    with ExitStack() as closing:
        server = start_server(closing, ENV_ID, NUM_ENVS)
        twin = closing.enter_context(make_vec(ENV_ID, NUM_ENVS))
        remote = closing.enter_context(RemoteVecEnv(server.address, token=TOKEN, reconnect=90.0))
        np.testing.assert_array_equal(remote.reset(seed=0)[0], twin.reset(seed=0)[0])
        for seconds in (3.0, 35.0):
            link("down")
            threading.Timer(seconds, link, ["up"]).start()
            begun = time.monotonic()
            for step in range(STEPS):
                actions = np.array([step % 2, step % 3 % 2])
                for ours, theirs in zip(remote.step(actions)[:4], twin.step(actions), strict=False):
                    np.testing.assert_array_equal(ours, theirs)
                if step == 0:
                    say(f"a cut of {seconds:g} s cost {time.monotonic() - begun:.1f} s")
            say(f"the {STEPS} steps after it are those of a batch here")
        plain = RemoteVecEnv(server.address, token=TOKEN)
        plain.reset(seed=0)
        link("down")
        begun = time.monotonic()
        try:
            plain.step(np.zeros(NUM_ENVS, np.int64))
        except ServerError as error:
            say(f"without reconnect, after {time.monotonic() - begun:.1f} s: {error}")
        link("up")


if __name__ == "__main__":
    main()
