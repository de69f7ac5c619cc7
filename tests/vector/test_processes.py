"""The processes of `async` and the threads of `ale`: errors arrive, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atari_wrappers import ClosedError, UnknownEnvError, VecEnv, WorkerError, make_vec

OpenVec = Callable[..., VecEnv]

# Gymnasium reports a worker's traceback as a warning.
pytestmark = pytest.mark.filterwarnings("ignore:.*(Received the following error|Traceback|Raising)")


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie that its parent will collect does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_gone(pids: list[int], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while any(map(alive, pids)):
        assert time.monotonic() < deadline, f"still running: {[p for p in pids if alive(p)]}"
        time.sleep(0.02)


def worker_pids(vec: VecEnv) -> list[int]:
    """Reset a batch of `Pid-v0` and return where its envs run."""
    return [int(pid) for pid in vec.reset()[0][:, 0]]


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_workers_are_processes_of_their_own_and_end_with_close(
    context: str, open_vec: OpenVec
) -> None:
    # A test run in the background ignores Ctrl-C, and its children would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    vec = open_vec("scripted:Pid-v0", 2, backend="async", context=context)
    signal.signal(signal.SIGINT, before)
    obs, _ = vec.reset()
    pids = [int(pid) for pid in obs[:, 0]]
    assert len({os.getpid(), *pids}) == 3
    assert (obs[:, 1] == 1).all(), "workers leave Ctrl-C to the host"
    assert all(map(alive, pids))
    vec.close()
    assert_gone(pids, seconds=0)


def test_close_gives_up_a_pending_step(open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Pid-v0", 2, backend="async")
    pids = worker_pids(vec)
    vec.send([5, 5])
    vec.close()
    assert_gone(pids, seconds=0)
    ale = open_vec("PongNoFrameskip-v4", 2)
    ale.reset()
    ale.send([0, 0])
    ale.close()


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_error_in_an_env_reaches_the_caller_and_closes_the_batch(
    backend: str, open_vec: OpenVec
) -> None:
    vec = open_vec("scripted:FailsByRaise-v0", 2, backend=backend)
    vec.reset()
    vec.step([5, 5])
    vec.step([5, 5])
    with pytest.raises(ArithmeticError, match="the script says so"):
        vec.step([5, 5])
    with pytest.raises(ClosedError, match="closed after ArithmeticError"):
        vec.step([5, 5])
    with pytest.raises(ClosedError):
        vec.reset()


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("scripted:FailsByUnpicklable-v0", "UnpicklableError: this and that"),
        ("scripted:FailsByDying-v0", "exit codes: {0: -9, 1: -9}"),
    ],
)
def test_what_cannot_be_carried_is_told(env_id: str, message: str, open_vec: OpenVec) -> None:
    vec = open_vec(env_id, 2, backend="async")
    vec.reset()
    processes = vec._runner._env.processes
    vec.step([5, 5])
    vec.step([5, 5])
    with pytest.raises(WorkerError, match=message):
        vec.step([5, 5])
    assert not any(process.is_alive() for process in processes)


def test_killed_worker_is_noticed_on_the_next_step(open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Pid-v0", 2, backend="async")
    pids = worker_pids(vec)
    os.kill(pids[1], signal.SIGKILL)
    with pytest.raises(WorkerError, match="1: -9"):
        vec.step([5, 5])
    assert_gone(pids, seconds=0)
    vec.close()


def test_killed_worker_does_not_stop_close(open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Pid-v0", 2, backend="async")
    pids = worker_pids(vec)
    os.kill(pids[0], signal.SIGKILL)
    vec.close()
    assert_gone(pids, seconds=0)


HOST = """
import time
from atari_wrappers import make_vec

if __name__ == "__main__":
    vec = make_vec("scripted:Pid-v0", 2, backend="async", context={context!r})
    print(*vec.reset()[0][:, 0].astype(int), flush=True)
    time.sleep({seconds})
"""


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
@pytest.mark.parametrize("ending", ["killed", "forgets to close"])
def test_workers_do_not_outlive_their_host(ending: str, context: str, tmp_path: Path) -> None:
    script = tmp_path / "host.py"
    script.write_text(HOST.format(context=context, seconds=60 if ending == "killed" else 0))
    support = Path(__file__).parents[1] / "support"
    with subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(support)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as host:
        pids = [int(word) for word in host.stdout.readline().split()]
        assert len(pids) == 2
        if ending == "killed":
            host.kill()
    assert_gone(pids)


def test_failed_start_leaves_no_process() -> None:
    before = children()
    with pytest.raises(UnknownEnvError):
        make_vec("scripted:NoSuch-v0", 2, backend="async")
    assert children() == before


def test_ale_threads_end_with_close() -> None:
    threads = threads_now()
    for _ in range(3):
        vec = make_vec("PongNoFrameskip-v4", 4, backend="ale", num_threads=3)
        vec.reset()
        vec.step([0] * 4)
        assert threads_now() > threads
        vec.close()
    assert threads_now() == threads


def children() -> set[str]:
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found |= set((task / "children").read_text().split())
    return found


def threads_now() -> int:
    return len(list(Path("/proc/self/task").iterdir()))
