"""Training from the command line: learning, stopping, going on, settings."""

from __future__ import annotations

import json
import re
import signal
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from program import CARTPOLE, INVADERS, INVADERS_RUN, MODULE, PROGRAM, Trainer, read_checkpoint
from run_files import column

# A game that the native backend does not know.
UNPROVED = [*INVADERS, "--env-id", "ALE/Superman-v5"]


def test_ppo_solves_cartpole(trainer: Trainer) -> None:
    arguments = ["ppo-cartpole", "--run-name", "run", "--torch-threads", 1]
    out, _ = trainer.run("train", *arguments)
    mean = float(re.search(r"last 100 games: ([\d.]+)", out)[1])
    assert mean >= 475
    # What is printed is what the table says.
    returns = column(trainer.folder / "runs/run/episodes.csv", "raw_return")
    assert sum(returns[-100:]) / 100 == pytest.approx(mean, abs=0.05)


def test_a_run_folder_holds_everything(either_trainer: Trainer) -> None:
    either_trainer.run("train", "--run-name", "run", "--total-steps", 64, *INVADERS)
    run = either_trainer.folder / "runs/run"
    assert column(run / "updates.csv", "step") == [16, 32, 48, 64]
    rates = column(run / "updates.csv", "learning_rate")
    assert rates == pytest.approx([2.5e-4, 1.875e-4, 1.25e-4, 0.625e-4]), "it falls to zero"
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert list(run.glob("events.out.tfevents.*"))
    settings = tomllib.loads((run / "settings.toml").read_text())
    assert (settings["num_envs"], settings["learning_rate"]) == (2, 2.5e-4)
    machine = json.loads((run / "machine.json").read_text())
    assert machine["device"] == "cpu" or machine["device"].startswith("cuda")
    assert machine["packages"]["ale-py"]
    assert list((run / "checkpoints").iterdir()) == [
        run / "checkpoints/step-000000000064.safetensors"
    ]


def test_a_recipe_decides_unless_a_setting_is_named(trainer: Trainer) -> None:
    arguments = ["--recipe", "gymnasium", "--frame-stack", 2, "--total-steps", 16, *INVADERS]
    trainer.run("train", "--run-name", "run", *arguments)
    settings = tomllib.loads((trainer.folder / "runs/run/settings.toml").read_text())
    used = [settings[name] for name in ("recipe", "frame_stack", "frame_skip", "episodic_life")]
    assert used == ["gymnasium", 2, "recipe", "recipe"]
    [checkpoint] = trainer.checkpoints()
    assert json.loads(read_checkpoint(checkpoint)[0]["obs_shape"]) == [2, 84, 84]


def assert_said(out: str, arguments: list[object], words: str) -> None:
    """The backend is said, and why where a game is not proved."""
    assert words in out
    tells_why = "ALE/Superman-v5" in arguments
    assert ("superman is not proved equal to ale-py" in out) == tells_why


def test_the_backend_chosen_is_said(trainer: Trainer) -> None:
    cases = (
        (INVADERS, "2 environments on 2 threads (native)"),
        ([*INVADERS, "--recipe", "envpool", "--env-threads", 1], "on a thread (native)"),
        (UNPROVED, "2 environments on 2 threads (ale)"),
        (
            [*UNPROVED, "--recipe", "envpool", "--env-threads", 1],
            "2 environments one after another (sync)",
        ),
    )
    said = trainer.run_all(*(["train", "--total-steps", 16, *arguments] for arguments, _ in cases))
    for (arguments, words), (status, out, err) in zip(cases, said, strict=True):
        assert status == 0, err
        assert_said(out, arguments, words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            [*UNPROVED, "--recipe", "envpool", "--env-threads", 2],
            "2 environments in 2 worker processes (async)",
        ),
        (
            [*INVADERS, "--backend", "async", "--env-threads", 1],
            "2 environments in a worker process (async)",
        ),
    ],
)
def test_the_number_of_worker_processes_is_said(
    trainer: Trainer, arguments: list[object], words: str
) -> None:
    out, _ = trainer.run("train", "--run-name", "run", "--total-steps", 16, *arguments)
    assert_said(out, arguments, words)


def test_the_mean_is_of_the_games_that_were_played(trainer: Trainer) -> None:
    out, err = trainer.run("train", "--run-name", "run", "--total-steps", 1024, *CARTPOLE)
    returns = column(trainer.folder / "runs/run/episodes.csv", "raw_return")
    mean = float(re.search(rf"last {len(returns)} games: ([\d.]+)", out)[1])
    assert sum(returns) / len(returns) == pytest.approx(mean, abs=0.05)
    assert err.count("1024/1024 steps") == 1


# Python has a handler for the first, and lets the others end the process. (SIGTERM reaches the
# program in the tests of signals.)
@pytest.mark.parametrize(
    ("command", "number", "status"),
    [
        (PROGRAM, signal.SIGINT, 130),
        (PROGRAM, signal.SIGHUP, 129),
        (MODULE, signal.SIGINT, 130),
        (MODULE, signal.SIGTERM, 143),
    ],
)
def test_a_signal_stops_at_a_checkpoint(
    tmp_path: Path, command: list[str], number: signal.Signals, status: int
) -> None:
    trainer = Trainer(tmp_path, command)
    ended, out, err = trainer.end_at_checkpoint(number, *CARTPOLE)
    assert ended == status, out + err
    assert "Traceback" not in err
    assert "--resume" in out
    stopped_at = int(re.search(r"stopped at agent step (\d+)", out)[1])
    assert trainer.checkpoints()[-1].stem == f"step-{stopped_at:012}"
    if (command, number) != (PROGRAM, signal.SIGINT):
        return  # to go on from a checkpoint, it does not matter who asked for it
    out, _ = trainer.run("train", "--resume", "runs/run", "--total-steps", stopped_at + 1024)
    assert f"going on from agent step {stopped_at}" in out
    steps = column(trainer.folder / "runs/run/updates.csv", "step")
    assert steps == [256.0 * (i + 1) for i in range(len(steps))]
    assert steps[-1] == stopped_at + 1024


def test_a_preset_gives_way_to_the_file_and_the_file_to_the_command_line(trainer: Trainer) -> None:
    (trainer.folder / "a.toml").write_text("num_envs = 3\ngamma = 0.5\ntotal_steps = 9\n")
    arguments = ["--config", "a.toml", "--run-name", "run", "--gamma", 0.9, "--num-steps", 1]
    trainer.run("train", "a2c-cartpole", *arguments)
    settings = tomllib.loads((trainer.folder / "runs/run/settings.toml").read_text())
    names = ("algorithm", "env_id", "num_envs", "gamma", "ent_coef", "learning_rate")
    used = [settings[name] for name in names]
    assert used == ["a2c", "CartPole-v1", 3, 0.9, 0.0, 7e-4]


def test_a_run_can_be_started_from_the_settings_of_another(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*INVADERS_RUN)
    trainer.run("train", "--config", "runs/run/settings.toml", "--run-name", "again")
    first, again = (
        tomllib.loads((trainer.folder / f"runs/{name}/settings.toml").read_text())
        for name in ("run", "again")
    )
    assert first | {"run_name": "again"} == again

    out, _ = trainer.run("train", "--config", "runs/run/settings.toml")
    assert "`run-2`" in out
    assert (trainer.folder / "runs/run-2/curve.png").exists()


def test_a_resumed_run_counts_on(trainer: Trainer) -> None:
    """Seconds never go back, and each start is in `machine.json`."""
    trainer.run("train", "--run-name", "run", "--total-steps", 512, *CARTPOLE)
    trainer.run("train", "--resume", "runs/run", "--total-steps", 1024, "--torch-threads", 1)
    run = trainer.folder / "runs/run"
    seconds = column(run / "updates.csv", "seconds")
    assert len(seconds) == 4
    assert seconds == sorted(seconds)
    machine = json.loads((run / "machine.json").read_text())
    assert machine["from_step"] == 512
    assert [start["from_step"] for start in machine["earlier"]] == [0]


RAISING = """
import gymnasium as gym

class Raising(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        Raising.steps += 1
        if Raising.steps > 200:
            raise ValueError("the reactor is too hot")
        return self.observation_space.sample(), 1.0, False, False, {}

gym.register("Raising-v0", Raising)
"""


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_an_env_that_raises_leaves_a_checkpoint_and_its_traceback(
    tmp_path: Path, backend: str
) -> None:
    (tmp_path / "raising.py").write_text(RAISING)
    arguments = ["--env-id", "raising:Raising-v0", "--backend", backend, "--env-threads", 1]
    trainer = Trainer(tmp_path, MODULE)
    size = ["--num-envs", 2, "--num-steps", 16, "--total-steps", 100_000]
    _, err = trainer.run("train", "--run-name", "run", *size, *arguments, status=1)
    message, traceback = err[err.index("error: ") :].split("\n\n", 1)
    assert "the reactor is too hot" in message
    assert "checkpoint is of agent step 192: go on by train --resume 'runs/run'" in message
    assert message.count("\n") == 0
    assert 'raise ValueError("the reactor is too hot")' in traceback
    assert "restart_workers" not in err
    assert trainer.checkpoints()[-1].stem == "step-000000000192"


def test_frames_are_saved_while_training(trainer: Trainer) -> None:
    trainer.run("train", "--total-steps", 16, "--img-dir", "deep/frames", *INVADERS)
    frames = list((trainer.folder / "deep/frames").glob("out*-*.png"))
    assert {frame.name.split("-")[0] for frame in frames} == {"out0", "out1"}
