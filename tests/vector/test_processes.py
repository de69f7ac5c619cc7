"""The processes of `async` and the threads of `ale`: started, ended, and nothing left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest
from processes import is_running, threads_now
from scripted import TROUBLES
from waiting import wait_until

from atari_wrappers import ClosedError, UnknownEnvError, VecEnv, WorkerError, make_vec
from atari_wrappers.backends.workers import dispatcher

OpenVec = Callable[..., VecEnv]
LOOP, STOP = TROUBLES.index("loop"), TROUBLES.index("stop")
# However busy the machine is: for what takes some seconds, and for ever where it is broken.
LONG_ENOUGH = 60.0


def assert_gone(pids: list[int]) -> None:
    assert not [pid for pid in pids if is_running(pid)], "still running"


def worker_pids(vec: VecEnv) -> list[int]:
    """Reset a batch of `Pid-v0` and return where its envs run."""
    return [int(pid) for pid in vec.reset()[0][:, 0]]


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_workers_are_processes_of_their_own_and_end_with_close(
    context: str, open_vec: OpenVec
) -> None:
    # A test run in the background ignores Ctrl-C, and its children would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    vec = open_vec("scripted:Pid-v0", 2, backend="async", context=context, num_workers=2)
    signal.signal(signal.SIGINT, before)
    obs, _ = vec.reset()
    pids = [int(pid) for pid in obs[:, 0]]
    assert len({os.getpid(), *pids}) == 3
    assert (obs[:, 1] == 1).all(), "workers leave Ctrl-C to the host"
    assert vec.worker_pids == pids
    assert all(map(is_running, pids))
    vec.close()
    vec.close()
    assert_gone(pids)


@pytest.mark.parametrize(
    ("num_envs", "num_workers", "blocks"),
    [(5, 2, [0, 0, 1, 1, 1]), (3, 8, [0, 1, 2]), (4, 1, [0, 0, 0, 0])],
)
def test_envs_are_divided_in_blocks(
    num_envs: int, num_workers: int, blocks: list[int], open_vec: OpenVec
) -> None:
    vec = open_vec("scripted:Pid-v0", num_envs, backend="async", num_workers=num_workers)
    pids = vec.worker_pids
    assert [pids.index(pid) for pid in worker_pids(vec)] == blocks


def test_by_default_there_is_a_worker_per_core(open_vec: OpenVec) -> None:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:2])
    try:
        vec = open_vec("scripted:Pid-v0", 3, backend="async")
    finally:
        os.sched_setaffinity(0, cores)
    assert len(set(worker_pids(vec))) == min(len(cores), 2)


def test_the_number_of_workers_changes_no_trajectory(open_vec: OpenVec) -> None:
    def play(num_workers: int) -> np.ndarray:
        vec = open_vec("scripted:Dice-v0", 3, backend="async", num_workers=num_workers)
        return np.stack([vec.reset(seed=5)[0], *(vec.step([0] * 3)[0] for _ in range(30))])

    np.testing.assert_array_equal(play(1), play(3))


@contextlib.contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Check that processes and open files are afterwards as they were before, and no shared memory.

    Other tests, in other processes, may have and free some of theirs meanwhile.
    """
    resource_tracker.ensure_running()  # it comes with the first process, and stays
    gc.collect()
    before, shared = (children(), open_files()), set(Path("/dev/shm").iterdir())
    yield
    gc.collect()
    assert (children(), open_files()) == before
    wait_until(
        lambda: set(Path("/dev/shm").iterdir()) <= shared,
        "there is more shared memory",
        LONG_ENOUGH,
    )


@pytest.mark.parametrize(
    "ending", ["asked", "killed", "stopped", "stopped in a step", "lost in a loop", "restarted"]
)
def test_close_leaves_nothing_behind_and_does_not_wait_for_ever(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So long it waits for what closes its envs, and for nothing else.
    monkeypatch.setattr(dispatcher, "CLOSE_SECONDS", 2 * LONG_ENOUGH)
    with nothing_left_behind():
        vec = make_vec("scripted:Trouble-v0", 2, backend="async", num_workers=2, obs_buffers=2)
        vec.reset()
        pids = vec.worker_pids
        if ending in ("killed", "restarted"):
            os.kill(pids[0], signal.SIGKILL)
        if ending == "stopped":
            os.kill(pids[0], signal.SIGSTOP)
        if ending == "stopped in a step":
            vec.send([0, STOP])
        if ending == "lost in a loop":
            vec.send([LOOP, 0])
        if ending == "restarted":
            with pytest.raises(WorkerError):
                vec.step([0, 0])
            assert vec.restart_workers() == [0]
        start = time.monotonic()
        vec.close()
        assert time.monotonic() - start < LONG_ENOUGH
        assert_gone(pids)
        del vec


def test_a_batch_that_is_dropped_is_closed() -> None:
    with nothing_left_behind():
        vec = make_vec("scripted:Pid-v0", 2, backend="async", num_workers=2)
        pids = worker_pids(vec)
        del vec
        gc.collect()
        assert_gone(pids)


def test_what_stands_for_an_env_knows_that_the_batch_is_closed(open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Dice-v0", 2, backend="async")
    vec.reset()
    env = vec.get_sub_environments()[1]
    with pytest.raises(AttributeError, match=r"call set_attr\('colour', value\)"):
        env.colour = 6
    env.set_attr("colour", 7)
    assert (env.get_attr("colour"), env.render().max()) == (7, 7)
    assert vec.get_attr("colour") == (0, 7)
    vec.close()
    with pytest.raises(ClosedError):
        env.get_attr("colour")


def test_close_gives_up_a_pending_step(open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Pid-v0", 2, backend="async")
    pids = worker_pids(vec)
    vec.send([5, 5])
    vec.close()
    assert_gone(pids)
    ale = open_vec("PongNoFrameskip-v4", 2)
    ale.reset()
    ale.send([0, 0])
    ale.close()


def test_ctrl_c_while_waiting_leaves_nothing_behind(open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Trouble-v0", 2, backend="async", num_workers=2)
    vec.reset()
    pids = vec.worker_pids
    sends = threading.Event()

    def interrupt() -> None:
        sends.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            wait_for_ever(vec, sends)
    finally:
        signal.signal(signal.SIGINT, before)
        thread.join()
    vec.close()
    assert_gone(pids)


def wait_for_ever(vec: VecEnv, sends: threading.Event) -> None:
    vec.send([LOOP, 0])
    sends.set()
    vec.recv()


def test_large_messages_pass(open_vec: OpenVec) -> None:
    """More than a pipe holds, both ways at once."""
    vec = open_vec("scripted:Dice-v0", 2, backend="async", num_workers=1)
    values = [np.arange(300_000) + index for index in range(2)]
    vec.set_attr("colour", values)
    for mine, other in zip(vec.get_attr("colour"), values, strict=True):
        np.testing.assert_array_equal(mine, other)


HOST = """
import glob
import os
import signal
import sys
import time
from atari_wrappers import WorkerError, make_vec

if __name__ == "__main__":
    vec = make_vec(
        "scripted:Trouble-v0", 2, backend="async", num_workers=2, context={context!r}
    )
    vec.reset()
    pids = vec.worker_pids
    if {action}:
        vec.send([{action}, 0])
    if {stops}:  # which a host that is killed must not forestall: all threads, as the kernel asks
        for path in glob.glob(f"/proc/{{pids[0]}}/task/*/stat"):
            while open(path).read().rpartition(")")[2].split()[0] != "T":
                time.sleep(0.01)
    signals = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *args: signals.append(args[0]))
    print(*pids, flush=True)
    if {ending!r} == "told to end":
        while len(signals) < 3:
            time.sleep(0.01)
        for _ in range(20):
            vec.step([0, 0])
        os.kill(pids[0], signal.SIGKILL)
        try:
            vec.step([0, 0])
        except WorkerError:
            vec.restart_workers()
        print(vec.recv()[3].tolist(), *vec.worker_pids, flush=True)
    if {ending!r} in ("killed", "told to end"):
        time.sleep(600)
    if {ending!r} == "unhandled error":
        raise SystemExit(3)
"""


@pytest.mark.parametrize(
    ("ending", "context", "action"),
    [
        ("killed", "spawn", 0),
        ("killed", "forkserver", 0),
        ("killed", "spawn", LOOP),
        ("killed", "spawn", STOP),
        ("told to end", "spawn", 0),
        ("told to end", "forkserver", 0),
        ("forgets to close", "spawn", 0),
        ("forgets to close", "forkserver", 0),
        ("forgets to close", "spawn", STOP),
        ("unhandled error", "spawn", LOOP),
    ],
)
def test_workers_do_not_outlive_their_host(
    ending: str, context: str, action: int, tmp_path: Path
) -> None:
    script = tmp_path / "host.py"
    script.write_text(
        HOST.format(context=context, ending=ending, action=action, stops=action == STOP)
    )
    support = Path(__file__).parents[1] / "support"
    with subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning:multiprocessing", script],
        env={**os.environ, "PYTHONPATH": str(support)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as host:
        pids = [int(word) for word in host.stdout.readline().split()]
        assert len(pids) == 2
        if ending == "told to end":
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.killpg(host.pid, number)  # as a terminal and `timeout` do
                for pid in pids:
                    os.kill(pid, number)  # as systemd and Slurm do
            said = host.stdout.readline().split()
            assert said[:2] == ["[True,", "False]"], "the batch goes on, as its host does"
            assert said[3] == str(pids[1])
            pids.append(int(said[2]))
        if ending in ("killed", "told to end"):
            host.kill()
        wait_until(lambda: not any(map(is_running, pids)), "they outlive their host", LONG_ENOUGH)
        said = "".join(line for line in host.stderr if "Error" in line or "resource" in line)
    assert said == ""
    status = {"forgets to close": 0, "unhandled error": 3}
    assert host.returncode == status.get(ending, -signal.SIGKILL)


def test_failed_start_leaves_nothing_behind(tmp_path: Path) -> None:
    with nothing_left_behind(), pytest.raises(UnknownEnvError):
        make_vec("scripted:NoSuch-v0", 2, backend="async")
    note = tmp_path / "trouble"
    note.write_text("make raise")
    told = {"note": str(note)}
    with nothing_left_behind(), pytest.raises(WorkerError):
        make_vec("scripted:Trouble-v0", 2, backend="async", num_workers=2, env_kwargs=told)


def test_ale_threads_end_with_close() -> None:
    before = threads_now()
    for _ in range(3):
        vec = make_vec("PongNoFrameskip-v4", 4, backend="ale", num_threads=3)
        vec.reset()
        vec.step([0] * 4)
        assert threads_now() - before
        vec.close()
    # One that was joined may be seen for a moment still.
    wait_until(lambda: threads_now() <= before, "threads are left", LONG_ENOUGH)


def children() -> set[str]:
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found |= set((task / "children").read_text().split())
    return found


def open_files() -> list[str]:
    """What the descriptors of this process are open on, memory without a name included."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(entry.readlink()))
    mapped = Path("/proc/self/maps").read_text().count("memfd:atari")
    return [*sorted(name for name in found if "/proc" not in name), f"{mapped} mapped"]
