"""What breaks while a run is on: a full disk, a folder that goes, numbers that are none."""

from __future__ import annotations

import pickle
import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

from program import CARTPOLE, CARTPOLE_RUN, Trainer
from waiting import wait_until


def test_a_full_disk_is_named_and_earlier_checkpoints_stay(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    """`ulimit -f` stands for the disk, and would end the program; the next checkpoint is larger."""
    trained(*CARTPOLE_RUN)
    [before] = trainer.checkpoints()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))

    process = trainer.start(
        "train", "--resume", "runs/run", "--total-steps", 4096, preexec_fn=limit
    )
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    [message] = [line for line in err.splitlines() if line.startswith("error:")]
    assert "step-000000002048.safetensors`: File too large" in message
    assert "newest checkpoint is of agent step 1024: go on by train --resume 'runs/run'" in message
    assert list(before.parent.iterdir()) == [before]
    trainer.run("train", "--resume", "runs/run", "--total-steps", 2048)


def test_what_was_learned_outlives_the_folder_of_the_run(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    """It goes while no checkpoint is written, which would be what cannot be."""
    run = trained(*CARTPOLE_RUN)
    rows, gone = (run / "updates.csv").read_text(), trainer.folder / "gone"
    rarely = ["--total-steps", 10_000_000, "--checkpoint-every", 10_000_000]
    process = trainer.start("train", "--resume", "runs/run", *rarely)
    wait_until(lambda: (run / "updates.csv").read_text() != rows)
    run.rename(gone)
    shutil.rmtree(gone)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    [message] = [line for line in err.splitlines() if line.startswith("error:")]
    assert "was removed or replaced" in message
    step = int(re.search(r"newest checkpoint is of agent step (\d+)", message)[1])
    assert "train --resume 'runs/run-rescued'" in message
    assert not (trainer.folder / "runs/run").exists()
    total = ["--total-steps", step + 256]
    out, _ = trainer.run("train", "--resume", "runs/run-rescued", *total)
    assert f"going on from agent step {step}" in out


def test_a_run_that_diverges_says_so_in_a_line(trainer: Trainer) -> None:
    arguments = ["--run-name", "run", "--learning-rate", 1e37, *CARTPOLE]
    _, err = trainer.run("train", *arguments, status=1)
    [message] = [line for line in err.splitlines() if line.startswith("error:")]
    assert "not finite: the run diverged" in message
    assert "Traceback" not in err
    assert "panicked" not in err


def test_a_file_of_pytorch_is_never_loaded(trainer: Trainer) -> None:
    """Its pickle would run: it makes a file."""
    made = trainer.folder / "made"

    class Payload:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (made,)

    for name, protocol in [("a.pt", 2), ("a.safetensors", 4)]:
        (trainer.folder / name).write_bytes(pickle.dumps(Payload(), protocol))
    problem = "is a file of PyTorch or Python (a pickle)"
    trainer.assert_refused(
        *((["eval", name], f"`{name}`: {problem}") for name in ("a.pt", "a.safetensors"))
    )
    assert not made.exists()
