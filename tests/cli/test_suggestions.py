"""What a command line that is nearly right is told, and what it need not name."""

from __future__ import annotations

from program import CARTPOLE, Trainer


def test_what_was_probably_meant_is_said(trainer: Trainer) -> None:
    cases = (
        (["train", "--enviroment-id", "CartPole-v1"], "'--env-id'"),
        (["--environment-id", "CartPole-v1"], "'--env-id'"),
        (["train", "--gama", "0.9"], "'--gamma'"),
        (["train", "--preset", "ppo-atari"], "without an option, `train PRESET`"),
        (["evl", "runs/run"], "'eval'"),
        (["trian"], "'train'"),
        (["ppo-atri"], "'ppo-atari'"),
    )
    said = trainer.run_all(*(arguments for arguments, _ in cases))
    for (arguments, meant), (status, _, err) in zip(cases, said, strict=True):
        assert status == 2, arguments
        assert meant in err, arguments
        assert err.count("\n") == 1, arguments
        # One name, and none that is only spelled alike.
        assert "--env-timeout" not in err, arguments
        assert "--resume" not in err, arguments


def test_an_option_or_a_preset_without_a_command_is_of_train(trainer: Trainer) -> None:
    arguments = ["--total-steps", 64, "--num-steps", 8, "--torch-threads", 1]
    out, _ = trainer.run("ppo-cartpole", "--run-name", "a", *arguments)
    assert "CartPole-v1 with PPO" in out
    out, _ = trainer.run(*CARTPOLE, "--run-name", "b", "--total-steps", 64)
    assert "CartPole-v1 with PPO" in out
    assert "Commands:" in trainer.run("--help")[0]


def test_a_finished_run_says_how_to_train_on(trainer: Trainer) -> None:
    arguments = ["--run-name", "run", "--total-steps", 256, *CARTPOLE]
    out, _ = trainer.run("train", *arguments)
    assert "done: 256 agent steps" in out
    out, _ = trainer.run("train", "--resume", "runs/run")
    command = "train --resume 'runs/run' --total-steps 512"
    assert (
        f"nothing was left to do: the run has had its 256 agent steps; for more: {command}" in out
    )
    out, _ = trainer.run(*command.replace("'", "").split())
    assert "done: 512 agent steps" in out


def test_unnamed_runs_that_start_at_once_have_a_folder_each(trainer: Trainer) -> None:
    arguments = ["train", "--total-steps", 256, "--torch-threads", 1, *CARTPOLE]
    started = [trainer.start(*arguments) for _ in range(4)]
    for process in started:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
    assert len(list((trainer.folder / "runs").iterdir())) == 4
