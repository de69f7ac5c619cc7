"""Two threads at one batch: what the second is told, and that nothing goes from under the first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from backends import BACKENDS, TWIN

from atari_wrappers import ClosedError, PendingStepError, VecEnv

OpenVec = Callable[..., VecEnv]
LONG_ENOUGH = 60.0


def on_recv(vec: VecEnv, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Have a thread that comes to the backend's `recv` do something first."""
    backend = vec._backend
    recv = backend.recv

    def watched(*args: Any, **kwargs: Any) -> Any:
        act()
        return recv(*args, **kwargs)

    monkeypatch.setattr(backend, "recv", watched)


@pytest.mark.parametrize("backend", BACKENDS)
def test_close_waits_for_the_call_that_another_thread_is_in(
    backend: str, open_vec: OpenVec, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Freeway does not end within a step of some tenths of a second.
    vec = open_vec("FreewayNoFrameskip-v4", 1, backend=backend, frame_skip=6000)
    vec.reset(seed=0)
    comes = threading.Event()
    on_recv(vec, monkeypatch, comes.set)
    vec.send([0])
    with ThreadPoolExecutor(1) as other:
        received = other.submit(vec.recv)
        assert comes.wait(LONG_ENOUGH)
        vec.close()
        assert received.result(LONG_ENOUGH)[4]["episode_frames"] > 6000
    with pytest.raises(ClosedError):
        vec.step([0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_serves_one_thread_at_a_time(
    backend: str, open_vec: OpenVec, monkeypatch: pytest.MonkeyPatch
) -> None:
    vec, twin = (open_vec("PongNoFrameskip-v4", 1, backend=name) for name in (backend, TWIN))
    for env in (vec, twin):
        env.reset(seed=0)
    comes, goes_on = threading.Event(), threading.Event()
    on_recv(vec, monkeypatch, lambda: (comes.set(), goes_on.wait(LONG_ENOUGH)))
    vec.send([2])
    with ThreadPoolExecutor(1) as other:
        received = other.submit(vec.recv)
        assert comes.wait(LONG_ENOUGH)
        with pytest.raises(PendingStepError, match="another thread is in a call of"):
            vec.recv()
        goes_on.set()
        assert (received.result(LONG_ENOUGH)[0] == twin.step([2])[0]).all()
    assert (vec.step([3])[0] == twin.step([3])[0]).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("second", ["send", "reset"])
def test_a_call_has_its_turn_from_its_first_check_on(
    backend: str, second: str, open_vec: OpenVec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was let in finds what was checked: nothing is begun in between."""
    vec, twin = (open_vec("PongNoFrameskip-v4", 2, backend=name) for name in (backend, TWIN))
    for env in (vec, twin):
        env.reset(seed=0)
    comes, goes_on = threading.Event(), threading.Event()
    check = vec._check_actions

    def slow_check(*args: Any) -> Any:
        monkeypatch.undo()
        comes.set()
        assert goes_on.wait(LONG_ENOUGH)
        return check(*args)

    monkeypatch.setattr(vec, "_check_actions", slow_check)
    calls = {"send": lambda: vec.send([3, 3]), "reset": lambda: vec.reset(seed=1)}
    with ThreadPoolExecutor(1) as other:
        sent = other.submit(vec.send, [2, 3])
        assert comes.wait(LONG_ENOUGH)
        try:
            with pytest.raises(PendingStepError, match="another thread is in a call of"):
                calls[second]()
        finally:
            goes_on.set()
        sent.result(LONG_ENOUGH)
    for actions in ([2, 3], [3, 2], [0, 0]):
        if actions != [2, 3]:
            vec.send(actions)
        np.testing.assert_array_equal(vec.recv()[0], twin.step(actions)[0])
