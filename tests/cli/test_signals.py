"""Signals: wherever they find the trainer, and however often it runs in one process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from program import CARTPOLE, INVADERS, INVADERS_RUN, Trainer, without_waits
from waiting import wait_until

ASYNC = ["--backend", "async", *CARTPOLE]


def test_a_signal_to_the_whole_group_leaves_a_checkpoint(trainer: Trainer) -> None:
    """As systemd, Slurm and `timeout` send it: to the worker processes, too."""
    process = trainer.start("train", "--run-name", "run", *ASYNC, start_new_session=True)
    wait_until(trainer.checkpoints)
    os.killpg(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, out + err
    stopped_at = int(re.search(r"stopped at agent step (\d+)", out)[1])
    assert trainer.checkpoints()[-1].stem == f"step-{stopped_at:012}"
    assert "worker" not in without_waits(err)
    assert "Traceback" not in err


def test_every_training_in_one_process_is_stopped_as_the_first_was(trainer: Trainer) -> None:
    script = """
        import signal, sys
        from rust_trainer import main

        if __name__ == "__main__":
            before = signal.getsignal(signal.SIGINT)
            assert main(["train", "--run-name", "first", *sys.argv[1:]]) == 130
            assert signal.getsignal(signal.SIGINT) is before
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGINT, before)
            status = main(["train", "--run-name", "run", *sys.argv[1:]])
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                print("python's own handler is back")
            sys.exit(status)
    """
    (trainer.folder / "twice.py").write_text(textwrap.dedent(script))
    process = Trainer(trainer.folder, [sys.executable, "twice.py"]).start(*CARTPOLE)
    for name in ("first", "run"):
        wait_until(lambda name=name: [*trainer.folder.glob(f"runs/{name}/checkpoints/step-*")])
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    stopped_at = int(re.findall(r"stopped at agent step (\d+)", out)[-1])
    assert trainer.checkpoints()[-1].stem == f"step-{stopped_at:012}"
    assert "python's own handler is back" in out


def test_a_signal_while_environments_are_made_ends_the_program(
    either_trainer: Trainer,
) -> None:
    arguments = ["--env-id", "CartPole-v1", "--num-envs", 300_000, "--run-name", "run"]
    process = either_trainer.start("train", *arguments)
    proc = Path(f"/proc/{process.pid}")

    def memory() -> int:
        return int(re.search(r"VmRSS:\s+(\d+) kB", (proc / "status").read_text())[1])

    wait_until(lambda: "ale_py" in (proc / "maps").read_text())
    imported = memory()
    wait_until(lambda: memory() > imported + 80_000)  # thousands of environments of kilobytes each
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "a second signal" in err
    assert "Traceback" not in err
    assert not (either_trainer.folder / "runs").exists()


def test_a_rollout_that_takes_for_ever_is_given_up(trainer: Trainer) -> None:
    arguments = ["--env-id", "CartPole-v1", "--num-steps", 1_000_000]
    process = trainer.start("train", "--run-name", "run", *arguments)
    wait_until((trainer.folder / "runs/run/machine.json").exists)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    # A second, the curve, and the ends of Python and libtorch; the rollout would take minutes.
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    assert "stopped at agent step 0" in out


def test_a_signal_during_an_evaluation_leaves_it_to_the_resumed_run(trainer: Trainer) -> None:
    arguments = ["--eval-every", 512, "--eval-episodes", 1_000_000, *CARTPOLE]
    arguments[-1] = 512  # a checkpoint before the first evaluation
    process = trainer.start("train", "--run-name", "run", *arguments)
    wait_until(trainer.checkpoints)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "stopped at agent step 512" in out
    run = trainer.folder / "runs/run"
    assert not (run / "evaluations.csv").exists()
    trainer.run("train", "--resume", run, "--eval-episodes", 2, "--total-steps", 1024)
    rows = (run / "evaluations.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["step", "512", "1024"]


def test_a_signal_ends_the_games_of_an_export(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*INVADERS_RUN)
    process = trainer.start("export", "runs/run", "--hub", "hub", "--episodes", 10_000)
    wait_until(lambda: "libtorch_python" in Path(f"/proc/{process.pid}/maps").read_text())
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    assert not (trainer.folder / "hub").exists()


def test_a_signal_that_comes_twice_at_once_is_one(trainer: Trainer) -> None:
    """`timeout` sends it to a program, and then to the program's group."""
    process = trainer.start("train", "--run-name", "run", *CARTPOLE, "--total-steps", 10**9)
    wait_until(trainer.checkpoints)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert "stopped at agent step" in out


def test_a_second_signal_ends_the_program_at_once(trainer: Trainer) -> None:
    # One rollout takes for ever: there is no safe point to wait for.
    arguments = ["--env-id", "CartPole-v1", "--num-steps", 1_000_000]
    for attempt in range(20):
        process = trainer.start("train", "--run-name", f"run{attempt}", *arguments)
        wait_until((trainer.folder / f"runs/run{attempt}/machine.json").exists)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert any("a second signal" in line for line in process.stderr)  # read up to there
        time.sleep(0.3)  # so soon it would be the same one
        process.send_signal(signal.SIGTERM)
        is_in_time = time.monotonic() - began < 1  # one signal leaves it a second
        out, err = process.communicate(timeout=60)
        assert process.returncode == 143, err
        assert "a second signal" not in err
        if is_in_time:
            break
    assert is_in_time
    assert "stopped at agent step" not in out


def workers(process: subprocess.Popen[str]) -> list[int]:
    """Return the worker processes of a trainer."""
    tables = Path(f"/proc/{process.pid}/task").glob("*/children")
    children = [child for table in tables for child in table.read_text().split()]
    return [
        int(child)
        for child in children
        if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()
    ]


@pytest.fixture
def training(trainer: Trainer) -> Callable[..., subprocess.Popen[str]]:
    """Start training with worker processes as `runs/run`, and wait for its first checkpoint."""

    def start(*arguments: object) -> subprocess.Popen[str]:
        process = trainer.start("train", "--run-name", "run", *arguments, *ASYNC)
        wait_until(trainer.checkpoints)
        assert len(workers(process)) == 2
        return process

    return start


def restarts(trainer: Trainer) -> list[int]:
    """Return how often workers had been restarted, for each update that is done."""
    path = trainer.folder / "runs/run/updates.csv"
    head, *rows = path.read_text().splitlines() if path.exists() and path.stat().st_size else [""]
    whole = [row.split(",") for row in rows if row.count(",") == head.count(",")]
    return [int(row[head.split(",").index("worker_restarts")]) for row in whole]


def test_a_killed_worker_is_made_anew_and_training_goes_on(
    trainer: Trainer, training: Callable[..., subprocess.Popen[str]]
) -> None:
    process = training("--env-threads", 2)
    victim = workers(process)[0]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: restarts(trainer)[-3:] == [1, 1, 1])
    assert victim not in workers(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    [line] = [line for line in err.splitlines() if "restarted" in line]
    assert "killed" in line or "died" in line
    assert "workers failed in one step and were restarted" in out
    assert "restart_workers" not in err
    assert "Traceback" not in err


def test_all_workers_killed_at_once_are_made_anew_together(
    trainer: Trainer, training: Callable[..., subprocess.Popen[str]]
) -> None:
    process = training("--env-threads", 2)
    victims = workers(process)
    process.send_signal(signal.SIGSTOP)
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: restarts(trainer)[-1:] in ([1], [2]))
    wait_until(lambda: len(set(restarts(trainer)[-3:])) == 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    lines = [line for line in err.splitlines() if "restarted: environments" in line]
    lost = {number for line in lines for number in line.rpartition("environments ")[2].split(", ")}
    assert lost == set("01234567"), lines
    assert "a worker failed" not in out, "they were two"


def test_a_stopped_worker_is_no_reason_to_wait_for_ever(
    trainer: Trainer, training: Callable[..., subprocess.Popen[str]]
) -> None:
    process = training("--env-threads", 2, "--env-timeout", 4)
    os.kill(workers(process)[0], signal.SIGSTOP)
    wait_until(lambda: restarts(trainer)[-1:] == [1])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err


def test_a_signal_is_heeded_while_a_worker_is_stopped(
    trainer: Trainer, training: Callable[..., subprocess.Popen[str]]
) -> None:
    process = training("--env-threads", 2)
    stopped = workers(process)[0]
    os.kill(stopped, signal.SIGSTOP)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    stopped_at = int(re.search(r"stopped at agent step (\d+)", out)[1])
    assert trainer.checkpoints()[-1].stem == f"step-{stopped_at:012}"
    wait_until(lambda: not Path(f"/proc/{stopped}").exists())


def test_a_signal_is_heeded_while_the_trainer_waits_for_the_state_of_a_stopped_worker(
    trainer: Trainer,
) -> None:
    """It stops while the trainer learns, and is not missed before it is asked for its games."""
    envs = ["--env-threads", 2, "--env-id", "SpaceInvadersNoFrameskip-v4", "--num-envs", 2]
    learns = ["--backend", "async", "--num-steps", 8, "--update-epochs", 30, "--torch-threads", 1]
    process = trainer.start("train", "--run-name", "run", *envs, *learns)
    wait_until(lambda: restarts(trainer))  # an update is done, so there is one to go back to
    time.sleep(0.3)  # the next one is learning: a rollout takes a tenth of that
    stopped = workers(process)[0]
    os.kill(stopped, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert time.monotonic() - began < 30
    stopped_at = int(re.search(r"stopped at agent step (\d+)", out)[1])
    assert trainer.checkpoints()[-1].stem == f"step-{stopped_at:012}"
    wait_until(lambda: not Path(f"/proc/{stopped}").exists())


def test_a_signal_at_any_moment_of_the_start_ends_the_program_in_order(trainer: Trainer) -> None:
    """Threads that are left to themselves must not find libraries taken down under them."""
    for tenth in range(8, 20, 3):
        process = trainer.start("train", "--run-name", f"run{tenth}", *INVADERS)
        time.sleep(tenth / 10)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        # Before the handler is there, the system ends it.
        assert process.returncode in (130, -signal.SIGINT), (tenth, err)
