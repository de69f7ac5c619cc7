"""What the system grants too little of: memory, addresses, a folder to be in."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Callable

import pytest
from program import CARTPOLE, PROGRAM, Trainer, without_waits

GIBIBYTE = 1 << 30


def addresses(gibibytes: float) -> Callable[[], None]:
    """Limit them as `ulimit -v` does."""
    limit = int(gibibytes * GIBIBYTE)
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def refused(trainer: Trainer, limit: Callable[[], None], *arguments: object) -> str:
    """Return the one line that the program ends with."""
    process = trainer.start(*arguments, preexec_fn=limit)
    out, err = process.communicate(timeout=120)
    err = without_waits(err)
    assert process.returncode == 1, out + err
    assert (out, err.count("\n")) == ("", 1), err
    assert not (trainer.folder / "runs").exists()
    return err


def test_too_few_addresses_for_the_program_are_told(trainer: Trainer) -> None:
    """Libraries of linear algebra end the process by SIGSEGV where they get none."""
    err = refused(trainer, addresses(3), "train", *CARTPOLE)
    assert "limited to 3.2 GB (`ulimit -v`), and the program alone needs" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--num-envs", 100_000], ["environments 57.8 GB", "`num_envs` (100000) or `num_steps`"]),
        (
            ["--num-steps", 50_000],
            [
                "observations of a rollout 11.3 GB",
                "`num_steps` (50000), or raise `num_minibatches`",
            ],
        ),
        (["--algorithm", "a2c", "--num-steps", 5000], ["minibatch", "`num_steps` (5000)\n"]),
        (["rainbow-atari"], ["replay memory 7.1 GB", "lower `replay_capacity` (1000000)\n"]),
        (["--algorithm", "dqn", "--num-envs", 20_000], ["environments", "`num_envs` (20000)"]),
    ],
)
def test_what_takes_too_much_memory_is_told_before_it_is_taken(
    trainer: Trainer, arguments: list[object], words: list[str]
) -> None:
    err = refused(trainer, addresses(7), "train", *arguments)
    assert "the address space (`ulimit -v`) has" in err
    for word in words:
        assert word in err


def test_a_folder_that_was_removed_is_told(trainer: Trainer) -> None:
    """MKL would end the process by a `FATAL ERROR` about a library."""
    folder = trainer.folder / "gone"
    folder.mkdir()
    script = 'rmdir "$PWD" && exec "$0" --version'
    ended = subprocess.run(
        ["sh", "-c", script, *PROGRAM],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("error: the current folder was removed")
    assert "MKL" not in ended.stderr
    shutil.rmtree(folder, ignore_errors=True)
