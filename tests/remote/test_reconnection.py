"""Connections that are lost and come back: nothing is done twice, nothing is left out."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
import pytest
from networks import Proxy
from serving import TOKEN
from waiting import wait_until

from atari_wrappers import VecEnv, WorkerError
from atari_wrappers.errors import StepTimeoutError
from atari_wrappers.remote import BatchServer, RemoteVecEnv, ServerError, session

Serve = Callable[..., BatchServer]
Connect = Callable[..., RemoteVecEnv]


def test_a_connection_that_comes_back_loses_nothing(
    serve: Serve, connect: Connect, open_vec: Callable[..., VecEnv], closing: ExitStack
) -> None:
    lines: list[str] = []
    server = serve("CartPole-v1", 2, limits={"log": lines.append})
    proxy = closing.enter_context(Proxy(server.address))
    vec, twin = connect(proxy.address, timeout=60.0, reconnect=120.0), open_vec("CartPole-v1", 2)
    vec.reset(seed=3)
    twin.reset(seed=3)
    for step in range(40):
        actions = [step % 2, step % 3 % 2]
        if step % 10 == 3:
            proxy.drop()  # before a request is sent
        proxy.loses_replies = step % 20 == 7
        vec.send(actions)
        if step % 10 == 7:
            # A request is on its way; or is done, and its reply lost; or the reply is there.
            time.sleep(0.1 * (step > 10))
            proxy.drop()
            proxy.loses_replies = False
        expected, got = twin.step(actions), vec.recv()
        for one, other in zip(expected[:4], got[:4], strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(expected[4]["episode_length"], got[4]["episode_length"])
    assert server.num_clients == 1
    assert len([line for line in lines if line.endswith("goes on with its 2 envs")]) >= 6


def test_parts_of_a_batch_survive_it(
    serve: Serve, connect: Connect, open_vec: Callable[..., VecEnv], closing: ExitStack
) -> None:
    server = serve("CartPole-v1", 3, batch_size=1)
    proxy = closing.enter_context(Proxy(server.address))
    vec, twin = connect(proxy.address, reconnect=120.0), open_vec("CartPole-v1", 3, batch_size=1)
    for each in (vec, twin):
        each.reset(seed=0)
    for round_ in range(6):
        for each in (vec, twin):
            each.send([1], env_id=[2])
            each.send([0], env_id=[round_ % 2])
        if round_ % 2:
            proxy.drop()
        results = [{}, {}]
        for each, result in zip((vec, twin), results, strict=True):
            for _ in range(2):
                obs, _, _, _, info = each.recv()
                result[int(info["env_id"][0])] = obs.tolist()
        assert results[0] == results[1]


def test_a_failure_is_told_once(serve: Serve, connect: Connect, closing: ExitStack) -> None:
    server = serve("scripted:FailsByRaise-v0", 1, backend="sync")
    proxy = closing.enter_context(Proxy(server.address))
    vec = connect(proxy.address, reconnect=120.0)
    vec.reset()
    for _ in range(2):
        vec.step([5])
    with pytest.raises(WorkerError, match="the script says so"):
        vec.step([5])
    proxy.drop()
    assert vec.restart_workers() == [0]
    assert vec.recv()[4]["worker_restarted"].tolist() == [True]


def test_a_lost_batch_is_kept_only_for_so_long(
    serve: Serve, connect: Connect, closing: ExitStack
) -> None:
    server = serve("CartPole-v1", 1, limits={"keep_lost": 0.3})
    proxy = closing.enter_context(Proxy(server.address))
    vec = connect(proxy.address, reconnect=120.0)
    vec.reset()
    proxy.drop()
    wait_until(lambda: server.num_clients == 0, seconds=60)
    with pytest.raises(
        ServerError, match=r"has closed what was yours, which it keeps for 0\.3 s at mo"
    ):
        vec.step([0])
    assert vec.closed


def test_a_client_that_leaves_is_not_kept(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_GOODBYE_SECONDS", 60.0)
    server = serve("CartPole-v1", 1)
    vec = connect(server, reconnect=60.0)
    vec.reset()
    begun = time.monotonic()
    vec.close()
    assert server.num_clients == 0
    assert time.monotonic() - begun < 30
    forgotten = RemoteVecEnv(server.address, token=TOKEN, reconnect=60.0)
    forgotten.reset()
    del forgotten
    gc.collect()
    wait_until(lambda: server.num_clients == 0, seconds=60)


def test_a_server_that_stays_away_is_told_in_a_line(serve: Serve, connect: Connect) -> None:
    server = serve("CartPole-v1", 1)
    vec = connect(server, reconnect=0.5)
    vec.reset()
    server.stop()
    with pytest.raises(ServerError, match=rf"^the server at {server.address}: [^\n]+$"):
        vec.step([0])


def test_a_timeout_holds_while_a_connection_is_lost(
    serve: Serve, connect: Connect, closing: ExitStack
) -> None:
    proxy = closing.enter_context(Proxy(serve("CartPole-v1", 2).address))
    forever = float("inf")
    vec = connect(proxy.address, timeout=forever, reconnect=forever)
    vec.reset(seed=0)
    proxy.drop()
    proxy.cut()
    vec.send([0, 0])
    start = time.monotonic()
    with pytest.raises(StepTimeoutError, match=r"not ready within 0\.5 s"):
        vec.recv(timeout=0.5)
    assert time.monotonic() - start < 30, "else for ever"


def test_a_server_started_anew_has_another_batch(
    serve: Serve, connect: Connect, closing: ExitStack
) -> None:
    first = serve("CartPole-v1", 1)
    proxy = closing.enter_context(Proxy(first.address))
    vec = connect(proxy.address, reconnect=120.0)
    vec.reset()
    proxy.drop(serve("CartPole-v1", 1).address)
    with pytest.raises(ServerError, match=r"it was started anew, or has closed what was yours"):
        vec.step([0])


def test_strangers_cannot_take_a_batch(serve: Serve, connect: Connect) -> None:
    server = serve("CartPole-v1", 1)
    vec = connect(server, reconnect=60.0)
    assert len(vec._welcome.session) >= 20
    assert vec._welcome.keep_seconds == 60
    assert not connect(server)._welcome.session  # who does not ask is not kept
