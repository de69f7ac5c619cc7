"""Servers and clients that are killed, silent, slow or hostile: no hang, no leak, one line."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import grpc
import pytest
from networks import Proxy
from processes import cpu_seconds
from scripted import TROUBLES
from serving import TOKEN
from waiting import wait_until

from atari_wrappers import ClosedError
from atari_wrappers.errors import StepTimeoutError
from atari_wrappers.remote import BatchServer, RemoteVecEnv, ServerError
from atari_wrappers.remote.addresses import BATCHES
from atari_wrappers.remote.batches_pb2 import Hello, Request, Reset, Step

Serve = Callable[..., BatchServer]
Connect = Callable[..., RemoteVecEnv]
HELLO = Request(id=1, hello=Hello(oldest_version=1, newest_version=1))
RESET = Request(id=2, reset=Reset(wait=True))


@contextmanager
def served_elsewhere(*served: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command; give its process and address."""
    command = [sys.executable, "-m", "atari_wrappers", "serve", *served, "--num-envs", "2"]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"ATARI_WRAPPERS_TOKEN": TOKEN, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        line = process.stderr.readline()
        yield process, re.search(r"on (127.0.0.1:\d+)$", line)[1]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_server_that_ends_is_told_in_a_line(number: int, connect: Connect) -> None:
    with served_elsewhere("CartPole-v1") as (process, address):
        vec = connect(address)
        vec.reset(seed=0)
        process.send_signal(number)
        told = f"^the server at {address}: [^\n]+$"
        with pytest.raises(ServerError, match=told):
            step_for(vec, 60.0)
        with pytest.raises(ClosedError, match="was closed after ServerError"):
            vec.step([0, 0])
        code = process.wait(60)
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
        lines = process.stderr.read().splitlines()
    if number != signal.SIGKILL:
        words = [line.split(" ")[1] for line in lines]
        assert words == ["client", "stopping", "client"]


@pytest.mark.parametrize(("signals", "status"), [(1, 1), (2, -signal.SIGTERM)])
def test_a_server_whose_env_hangs_ends_by_a_signal(
    signals: int, status: int, connect: Connect
) -> None:
    with served_elsewhere("scripted:Trouble-v0", "--set", "backend=sync") as (process, address):
        vec = connect(address)
        vec.reset(seed=0)
        rested = cpu_seconds(process.pid)
        vec.send([TROUBLES.index("loop"), 0])
        wait_until(lambda: cpu_seconds(process.pid) > rested + 1, seconds=60)
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in process.stderr.readline(), seconds=30)
        if signals == 2:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == status


def test_a_signal_ends_a_server_that_still_makes_an_env(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="it is an extra")
    note = tmp_path / "note"
    options = ["--http", "127.0.0.1:0", "--set", "backend=sync"]
    options += ["--set", f"env_kwargs={json.dumps({'note': str(note)})}"]
    with served_elsewhere("scripted:Trouble-v0", *options) as (process, _):
        host = process.stderr.readline().rpartition("http://")[2].strip()
        note.write_text("make loop")
        rested = cpu_seconds(process.pid)
        HTTPConnection(host).request("POST", f"/{TOKEN}/reset", "{}")
        wait_until(lambda: cpu_seconds(process.pid) > rested + 1, seconds=60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 1


def step_for(vec: RemoteVecEnv, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        vec.step([0, 0])


def test_a_step_that_is_waited_for_outlives_a_restart_of_workers(
    serve: Serve, connect: Connect
) -> None:
    vec = connect(serve("scripted:Trouble-v0", 2))
    vec.reset(seed=0)
    vec.send([TROUBLES.index("slow"), 0])
    with pytest.raises(StepTimeoutError):
        vec.recv(timeout=0)
    assert vec.restart_workers() == []
    obs, *_ = vec.recv()
    assert obs[:, 0].tolist() == [1, 1]
    vec.step([0, 0])


def test_of_parts_a_timeout_loses_nothing(serve: Serve, connect: Connect, tmp_path: Path) -> None:
    slow, note = TROUBLES.index("slow"), tmp_path / "note"
    workers: Any = {"backend": "async", "num_workers": 3, "env_kwargs": {"note": str(note)}}
    vec = connect(serve("scripted:Trouble-v0", 3, batch_size=1, **workers))

    def expect_timeout() -> None:
        with pytest.raises(StepTimeoutError):
            vec.recv(timeout=0)

    vec.reset(seed=0)
    vec.send([slow, slow], [0, 1])
    expect_timeout()
    vec.send([0], [2])
    assert sorted(vec.recv()[4]["env_id"].item() for _ in range(3)) == [0, 1, 2]
    vec.send([slow, slow, slow])
    expect_timeout()
    vec.drop_pending()
    assert vec.num_in_flight == 0
    note.write_text("reset slow")
    vec.reset_async(seed=0)
    expect_timeout()
    obs, _ = vec.reset_wait()
    assert obs[:, 0].tolist() == [0, 0, 0]


CLIENT = """
import sys
from atari_wrappers.remote import RemoteVecEnv
vec = RemoteVecEnv(sys.argv[1])
vec.reset()
print("ready", flush=True)
while True:
    vec.step([0, 0])
"""


def test_a_client_that_is_killed_leaves_nothing(serve: Serve) -> None:
    server = serve("CartPole-v1", 2)
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, server.address],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"ATARI_WRAPPERS_TOKEN": TOKEN},
    )
    try:
        assert client.stdout.readline() == "ready\n"
        assert server.num_clients == 1
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
    wait_until(lambda: server.num_clients == 0, seconds=60)


def test_a_cut_network_is_told_on_both_sides(
    serve: Serve, connect: Connect, closing: ExitStack
) -> None:
    server = serve("CartPole-v1", 2, limits={"idle_timeout": 10.0})
    proxy = closing.enter_context(Proxy(server.address))
    vec = connect(proxy.address, timeout=5.0)
    vec.reset()
    vec.step([0, 0])
    proxy.cut()
    with pytest.raises(ServerError, match=r"gave no answer for 5 s$"):
        vec.step([0, 0])
    assert vec.closed
    wait_until(lambda: server.num_clients == 0, seconds=60)


def test_a_silent_client_is_sent_away(serve: Serve, connect: Connect) -> None:
    server = serve("CartPole-v1", 2, limits={"idle_timeout": 5.0})
    vec = connect(server)
    vec.reset()
    wait_until(lambda: server.num_clients == 0, seconds=60)
    with pytest.raises(ServerError, match="a client was idle for too long"):
        vec.step([0, 0])


def resident() -> int:
    """Return the bytes that this process holds in memory."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_a_slow_reader_takes_no_memory_and_is_sent_away(serve: Serve) -> None:
    server = serve("BreakoutNoFrameskip-v4", 8, limits={"idle_timeout": 20.0})
    asked = 0
    held = [resident()]

    def requests() -> Iterator[bytes]:
        nonlocal asked
        yield from (HELLO.SerializeToString(), RESET.SerializeToString())
        step = Step(actions=bytes(64), wait=True)
        for number in range(3, 2000):
            asked = number
            yield Request(id=number, step=step).SerializeToString()

    with grpc.insecure_channel(server.address) as channel:
        call = channel.stream_stream(BATCHES.method)(
            requests(), metadata=[("authorization", f"Bearer {TOKEN}")]
        )
        wait_until(lambda: server.num_clients == 1, seconds=60)

        def is_away() -> bool:
            held.append(resident())
            return server.num_clients == 0

        wait_until(is_away, seconds=60)  # half a gigabyte was asked for
        call.cancel()
    assert asked == 1999
    assert max(held) - held[0] < 50e6


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return a message with some bytes changed, left out, or repeated; or noise."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(60))
    changed = bytearray(data)
    for _ in range(rng.randrange(4)):
        where = rng.randrange(len(changed) + 1)
        how = rng.randrange(3)
        if how == 0 and where < len(changed):
            changed[where] = rng.randrange(256)
        elif how == 1:
            del changed[where : where + rng.randrange(5)]
        else:
            changed[where:where] = rng.randbytes(rng.randrange(5))
    return bytes(changed)


def test_hostile_bytes_do_no_harm(serve: Serve, connect: Connect) -> None:
    """`FUZZ_SECONDS=1800 pytest tests/remote -k hostile` does it for half an hour."""
    seconds = float(os.environ.get("FUZZ_SECONDS", "1"))
    rng = random.Random(time.time_ns() if seconds > 1 else 0)
    server = serve("BreakoutNoFrameskip-v4", 2)
    steady = connect(server)
    steady.reset(seed=0)
    [state, _] = steady.save_state()
    samples = [
        Request(reset=Reset(env_ids=[1], seeds=[3], wait=True)),
        Request(step=Step(actions=bytes(16), wait=True)),
        Request(step=Step(actions=bytes(8), env_ids=[1])),
        Request(wait={"count": 1}),
        Request(wait={"count": 2, "every": True}),
        Request(drop={}),
        Request(restart={"env_ids": [0]}),
        Request(save={"env_ids": [1, 0]}),
        Request(restore={"env_ids": [0], "states": [state]}),
        Request(draw={"env_ids": [0]}),
    ]

    def requests() -> Iterator[bytes]:
        yield from (HELLO.SerializeToString(), RESET.SerializeToString())
        for number in range(3, 60):
            message = Request()
            message.CopyFrom(rng.choice(samples))
            message.id = number
            yield mutated(message.SerializeToString(), rng)

    until, ends, replies = time.monotonic() + seconds, set(), 0
    with grpc.insecure_channel(server.address) as channel:
        # Where all is slow, a second is too short for enough.
        while time.monotonic() < until or (replies <= 20 and time.monotonic() < until + 300):
            metadata = [("authorization", f"Bearer {TOKEN}")]
            call = channel.stream_stream(BATCHES.method)(requests(), metadata=metadata, timeout=60)
            try:
                for _ in call:
                    replies += 1
            except grpc.RpcError:
                ends.add((call.code().name, call.details()))
            steady.step([0, 1])
    assert ends <= {("INVALID_ARGUMENT", "this is no request")}
    assert replies > 20
    wait_until(lambda: server.num_clients == 1, seconds=60)
    assert steady.step([0, 1])[0].shape == (2, 4, 84, 84)
