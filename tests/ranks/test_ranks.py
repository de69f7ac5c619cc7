"""Several ranks of the trainer against one process, and what becomes of them when one fails."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
from program import PROGRAM
from safetensors.numpy import load_file
from torchrun import FEW, Ranks, weights
from waiting import wait_until

LONG = ["--total-steps", "1000000", "--run-name", "run"]


def differences(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """Return the largest difference between tensors of the same names."""
    assert one.keys() == other.keys()
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)


def test_two_ranks_learn_what_one_process_does_and_one_goes_on(ranks: Ranks) -> None:
    """A run of one process, two ranks and one: the same updates and the same games."""
    arguments = ["train", *FEW, "--num-minibatches", "4", "--checkpoint-every", "256"]
    ranks.run(1, *arguments, "--total-steps", "768", "--run-name", "one")
    said = ranks.run(2, *arguments, "--total-steps", "768", "--run-name", "same")
    assert said.count("2 ranks, each with 4 of the environments") == 1
    for ours, theirs in zip(ranks.checkpoints("one"), ranks.checkpoints("same"), strict=True):
        assert differences(weights(ours), weights(theirs)) < 1e-5, ours.name
    moved = differences(weights(ranks.checkpoints("one")[0]), ranks.weights("one"))
    assert moved > 1e-3, "weights that do not change are equal for no reason"
    games = [
        [line.split(",")[:5] for line in (ranks.folder / f"runs/{name}/episodes.csv").open()]
        for name in ("one", "same")
    ]
    assert games[0] == games[1]
    said = ranks.run(1, "train", "--resume", "runs/same", "--total-steps", 1024)
    assert "start over" in said, "CartPole's games cannot be saved, and the run says so"
    assert "ranks was" in said
    assert ranks.checkpoints("same")[-1].stem == "step-000000001024"


def test_games_and_memories_go_on_at_another_number_of_ranks(ranks: Ranks) -> None:
    """What two ranks saved goes on in one process as in four, in the midst of games."""
    recurrent = ["--lstm-size", "16", "--num-steps", "8", "--num-minibatches", "2"]
    games = ["--env-id", "PongNoFrameskip-v4", "--backend", "native", "--num-envs", "4"]
    threads = ["--torch-threads", "1", "--env-threads", "1", "--checkpoint-every", "32"]
    said = ranks.run(
        *(2, "train", *games, *recurrent, *threads, "--total-steps", "64", "--run-name", "one")
    )
    assert "done: 64 agent steps" in said
    shutil.copytree(ranks.folder / "runs/one", ranks.folder / "runs/four")
    for name, count in [("one", 1), ("four", 4)]:
        said = ranks.run(count, "train", "--resume", f"runs/{name}", "--total-steps", "96")
        assert "start over" not in said
    before, one, four = ranks.checkpoints("one")[-2], ranks.weights("one"), ranks.weights("four")
    assert {"lstm_state", "hidden.weight"} <= one.keys()
    assert differences(one, four) < 1e-5
    assert differences(one, weights(before)) > 1e-3


def test_a_replay_memory_of_two_ranks_is_that_of_one_process_and_goes_on(ranks: Ranks) -> None:
    """Stacks of frames and priorities, saved in the midst of games and overwritten later."""
    games = ["--env-id", "BreakoutNoFrameskip-v4", "--backend", "native", "--num-envs", "4"]
    replay = ["--learning-starts", "64", "--replay-capacity", "400", "--n-step", "3"]
    learning = [
        "--prioritized",
        "true",
        "--priority-alpha",
        "1",
        "--batch-size",
        "8",
        "--train-frequency",
        "16",
    ]
    saving = ["--steps-per-update", "64", "--checkpoint-every", "192", "--torch-threads", "1"]
    arguments = ["--algorithm", "dqn", *games, *replay, *learning, *saving, "--env-threads", "1"]
    for name, count in [("alone", 1), ("one", 2)]:
        steps = ["--total-steps", "384", "--run-name", name]
        ranks.run(count, "train", *arguments, *steps)
    held = check_replay(ranks, "alone", "one", 384)
    assert len(held["replay.older_places"]) == 4, "games begin with stacks of their own"
    for name in ("one", "alone"):
        said = ranks.run(1, "train", "--resume", f"runs/{name}", "--total-steps", "576")
        assert "start over" not in said
        assert "starts empty" not in said
    check_replay(ranks, "alone", "one", 576)


def check_replay(ranks: Ranks, one: str, other: str, step: int) -> dict[str, np.ndarray]:
    """Check that two runs learned the same and hold the same transitions."""
    assert differences(ranks.weights(one), ranks.weights(other)) < 1e-5
    names = (f"runs/{name}/checkpoints/step-{step:012}.replay.safetensors" for name in (one, other))
    ours, theirs = (load_file(ranks.folder / name) for name in names)
    assert ours.keys() == theirs.keys()
    for name, held in ours.items():
        tolerance = 1e-5 if name == "replay.priorities" else 0
        np.testing.assert_allclose(held, theirs[name], tolerance, tolerance, err_msg=name)
    return ours


def error_of(said: str) -> str:
    """Return the one error that the ranks have said."""
    errors = [line for line in said.splitlines() if line.startswith("error:")]
    assert len(errors) == 1, said
    assert re.match(r"error: rank 1 of 2 \(.+\) was killed, is frozen, or cannot be", errors[0])
    return errors[0]


def assert_ends(rank_0: int) -> None:
    """Within the stated time, which is less than without `--rank-timeout`."""
    process = Path(f"/proc/{rank_0}")
    wait_until(lambda: not process.exists(), "rank 0 goes on alone", seconds=55)


def test_a_rank_that_is_frozen_ends_the_others_and_is_named(ranks: Ranks) -> None:
    """Within the stated time, in one line, and the last checkpoint is whole."""
    ranks.start(2, "train", *FEW, *LONG, "--checkpoint-every", "1024", "--rank-timeout", "25")
    ranks.await_checkpoint(2)
    pids = ranks.pids()
    os.kill(pids[1], signal.SIGSTOP)
    assert_ends(pids[0])
    os.kill(pids[1], signal.SIGKILL)  # torchrun would do so after 30 s
    status, said = ranks.end()
    assert status != 0
    assert "go on by train --resume 'runs/run'" in error_of(said)
    step = int(ranks.checkpoints()[-1].stem.removeprefix("step-"))
    said = ranks.run(1, "train", "--resume", "runs/run", "--total-steps", step)
    assert "damaged" not in said


def test_what_was_learned_outlives_a_rank_that_is_killed(ranks: Ranks) -> None:
    """Rank 0 has it in memory, with the games of all ranks, and saves it."""
    games = ["--env-id", "PongNoFrameskip-v4", "--backend", "native", "--num-envs", "4"]
    small = ["--num-steps", "8", "--num-minibatches", "1", "--update-epochs", "1"]
    threads = ["--torch-threads", "1", "--env-threads", "1", "--checkpoint-every", "1000000"]
    ranks.start(2, "train", *games, *small, *threads, *LONG)
    updates = ranks.folder / "runs/run/updates.csv"
    ranks.wait_until(lambda: updates.is_file() and len(updates.read_text().splitlines()) >= 4)
    time.sleep(2)  # once a second it takes what it has learned
    assert not ranks.checkpoints()
    pids = ranks.pids()
    os.kill(pids[1], signal.SIGKILL)
    assert_ends(pids[0])
    status, said = ranks.end()
    assert status != 0
    [saved] = ranks.checkpoints()
    step = int(saved.stem.removeprefix("step-"))
    assert step >= 64
    assert f"of agent step {step}: go on by train --resume 'runs/run'" in error_of(said)
    said = ranks.run(1, "train", "--resume", "runs/run", "--total-steps", step)
    assert "start over" not in said


def test_torchruns_restart_goes_on_from_the_last_checkpoint(ranks: Ranks) -> None:
    """A run that has a name is found again; what was saved is not learned twice."""
    arguments = ["--total-steps", "32768", "--checkpoint-every", "1024", "--run-name", "run"]
    ranks.start(2, "train", *FEW, *arguments, torchrun=("--max-restarts=1",))
    ranks.await_checkpoint()
    pids = ranks.pids()
    ranks.await_checkpoint(2)
    os.kill(pids[1], signal.SIGKILL)
    status, said = ranks.end()
    assert status == 0, said
    resumed = re.findall(r"going on from agent step (\d+)", said)
    assert len(resumed) == 1
    assert int(resumed[0]) >= 2048
    assert "done: 32768 agent steps" in said


def test_a_restart_goes_on_with_the_run_that_is_asked_for_alone(ranks: Ranks) -> None:
    arguments = [*PROGRAM, "train", *FEW, "--total-steps", "512"]
    ranks.run(1, *arguments[1:], "--run-name", "run")
    ranks.run(1, *arguments[1:], "--run-name", "run-2")
    (ranks.folder / "named.toml").write_text('run_name = "run"\n')
    for named, words in [
        (["--run-name", "run"], "run folder: runs/run\n"),
        (["--config", "named.toml"], "run folder: runs/run-2\n"),
        (["--run-name", "run", "--gamma", "0.5"], "its `gamma` is 0.99, and 0.5 is asked for"),
    ]:
        restarted = [own | {"TORCHELASTIC_RESTART_COUNT": "1"} for own in ranks.group(2)]
        processes = [ranks.launch([*arguments, *named], own) for own in restarted]
        said = "".join("".join(process.communicate(timeout=300)) for process in processes)
        assert words in said, said
        assert {process.returncode for process in processes} == {int("another run" in said)}


def test_a_stop_at_torchrun_stops_all_at_the_same_update(ranks: Ranks) -> None:
    """SIGTERM as a scheduler sends it; the run goes on from there."""
    ranks.start(2, "train", *FEW, *LONG, "--checkpoint-every", "1000000")
    ranks.wait_until((ranks.folder / "runs/run/updates.csv").is_file)
    time.sleep(1)
    ranks.started[-1].send_signal(signal.SIGTERM)
    _, said = ranks.end()
    stopped = re.findall(r"stopped at agent step (\d+)", said)
    assert len(stopped) == 1, said
    assert "error:" not in said
    assert ranks.checkpoints()[-1].stem == f"step-{int(stopped[0]):012}"


def test_what_ranks_cannot_do_is_said_once(ranks: Ranks) -> None:
    """Not by each of them, and nothing is left."""
    ranks.start(2, "train", "--env-id", "CartPole-v1", "--num-envs", "7")
    status, said = ranks.end()
    assert status != 0
    assert said.count("error:") == 1, said
    assert "`num_envs` = 7 is not divided by the 2 ranks" in said
    assert not list(ranks.folder.glob("runs/*"))
