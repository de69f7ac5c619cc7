"""Envs that raise: `sync` and `async` tell of them, and go on, alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scripted import TROUBLES

from atari_wrappers import UnsupportedError, VecEnv, WorkerError, make_vec

OpenVec = Callable[..., VecEnv]
RAISE = TROUBLES.index("raise")


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_a_failure_says_what_where_and_what_to_do(backend: str, open_vec: OpenVec) -> None:
    vec = open_vec("scripted:Trouble-v0", 2, backend=backend)
    vec.reset(seed=0)
    with pytest.raises(WorkerError) as raised:
        vec.step([0, RAISE])
    error = raised.value
    assert error.doing == f"step 1 of its game with action {RAISE}"
    assert str(error).startswith(
        f"env 1 raised ArithmeticError: the dice fell off the table in {error.doing}"
    )
    assert "; restart_workers() restarts what failed" in str(error)
    assert error.env_indices == [1]
    assert isinstance(error.__cause__, ArithmeticError)
    assert vec.restart_workers() == [1]
    assert vec.recv()[4]["worker_restarted"].tolist() == [False, True]

    vec.set_attr("at_reset", "raise", indices=0)
    with pytest.raises(WorkerError, match=r"env 0 raised ArithmeticError: .* in a reset with seed"):
        vec.reset(seed=3)
    vec.restart_workers()
    vec.reset_wait()


@pytest.mark.parametrize("backend", ["sync", "async"])
@pytest.mark.parametrize("how", ["raise", "restart"])
def test_an_env_that_cannot_be_made_anew_leaves_the_batch_open(
    backend: str, how: str, open_vec: OpenVec, tmp_path: Path
) -> None:
    note = tmp_path / "trouble"
    told = {"note": str(note)}
    vec = open_vec(
        "scripted:Trouble-v0", 2, backend=backend, on_worker_failure=how, env_kwargs=told
    )
    vec.reset(seed=0)
    note.write_text("make raise")
    doing = "being made" if how == "restart" else "step 1"
    with pytest.raises(WorkerError, match=doing):
        vec.step([0, RAISE])
    for _ in range(2):
        with pytest.raises(WorkerError, match=r"env 1 raised ArithmeticError: .* in being made"):
            vec.restart_workers()
    note.unlink()
    assert vec.restart_workers() == [1]
    assert vec.recv()[3].tolist() == [False, True]


def test_every_env_is_closed_even_if_one_cannot_be(
    open_vec: OpenVec, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []

    def close(index: int) -> None:
        closed.append(index)
        raise OSError(f"env {index} stays")

    vec = make_vec("scripted:Dice-v0", 3, backend="sync")
    for index, env in enumerate(vec.get_sub_environments()):
        monkeypatch.setattr(env, "close", lambda index=index: close(index))
    with pytest.raises(OSError, match="stays"):
        vec.close()
    assert sorted(closed) == [0, 1, 2]


def test_options_that_cannot_be_sent_change_nothing(open_vec: OpenVec) -> None:
    vec, twin = (
        open_vec("scripted:Dice-v0", 3, backend="async", obs_buffers=ring) for ring in (2, 0)
    )
    vec.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(UnsupportedError, match="reset options cannot be sent"):
        vec.reset(options={"hook": lambda: None})
    mine, other = (env.step([0, 0], env_id=[2, 0]) for env in (vec, twin))
    assert mine[4]["env_id"].tolist() == [2, 0]
    assert mine[0].tolist() == other[0].tolist()
    seeds = [None, 5, None]
    mine, other = (env.reset(mask=[False, True, False], seed=seeds) for env in (vec, twin))
    assert mine[0].tolist() == other[0].tolist()


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_a_restart_that_nobody_asked_for_is_logged(
    backend: str, open_vec: OpenVec, caplog: pytest.LogCaptureFixture
) -> None:
    vec = open_vec("scripted:FailsByRaise-v0", 2, backend=backend, on_worker_failure="restart")
    vec.reset()
    restarts = sum("worker_restarted" in vec.step([5, 5])[4] for _ in range(4))
    messages = [record.getMessage() for record in caplog.records]
    assert restarts >= 1
    assert len(messages) >= restarts
    assert all(text.startswith("restarted: env ") for text in messages)
    assert "the script says so" in caplog.text
    assert "restart_workers" not in caplog.text
