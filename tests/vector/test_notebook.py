"""In a notebook: pictures show, Ctrl-C in a cell leaves the batch usable, no worker is left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from processes import is_running
from waiting import wait_until

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

OPEN = """
import numpy as np
from atari_wrappers import make_vec
envs = make_vec("PongNoFrameskip-v4", 2, backend="async", num_workers=2)
_ = envs.reset(seed=0)
print(*envs.worker_pids)
"""


@pytest.fixture
def kernel() -> Iterator[Any]:
    """A kernel and its client."""
    manager, client = jupyter_client.manager.start_new_kernel(
        startup_timeout=180, kernel_name="python3"
    )
    yield manager, client
    client.stop_channels()
    if manager.is_alive():
        manager.shutdown_kernel(now=True)


def run(client: Any, code: str, timeout: float = 180) -> tuple[dict[str, Any], list[Any]]:
    """Run a cell; return the reply, and what it showed."""
    shown: list[Any] = []
    reply = client.execute_interactive(code, timeout=timeout, output_hook=shown.append)
    return reply["content"], shown


def test_a_cell_is_interrupted_and_the_batch_goes_on(kernel: Any) -> None:
    manager, client = kernel
    reply, shown = run(client, OPEN)
    assert reply["status"] == "ok", reply
    text = "".join(each["content"].get("text", "") for each in shown)
    workers = [int(pid) for pid in text.split()]
    assert len(workers) == 2
    _, shown = run(client, "envs.render_tiles()")
    assert any("image/png" in each["content"].get("data", {}) for each in shown)

    # What comes right behind a cell that fails is not run, unless that is asked for.
    code = "print('on', flush=True)\nwhile True: envs.step([0, 0])"
    client.execute(code, stop_on_error=False)
    while client.get_iopub_msg(timeout=180)["content"].get("text") != "on\n":
        pass
    time.sleep(0.1)
    manager.interrupt_kernel()
    while (message := client.get_shell_msg(timeout=180))["msg_type"] != "execute_reply":
        pass
    assert message["content"]["ename"] == "KeyboardInterrupt"
    reply, _ = run(client, "_ = envs.reset(seed=1); assert envs.step([0, 0])[0].shape[0] == 2")
    assert reply["status"] == "ok", reply

    # The kernel waits for its children, of which multiprocessing's resource tracker outlives it.
    # After half of this time the manager sends it SIGTERM; the default is 5 seconds.
    manager.shutdown_wait_time = 0.5
    manager.shutdown_kernel()
    wait_until(lambda: not any(map(is_running, workers)), "a worker is left behind", seconds=180)
