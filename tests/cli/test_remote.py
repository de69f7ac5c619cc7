"""Training in environments of another process: the same runs, and what is told without them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent

import pytest
from program import CARTPOLE, INVADERS, Trainer
from same_run import assert_same_run
from serving import TOKEN, start_server
from untrained import observations, save_untrained, untrained
from waiting import wait_until

pytest.importorskip("grpc", reason="it is an extra")

GAMES = ["--max-episode-frames", 160, "--sticky-actions", 0.25, "--total-steps", 240, "--seed", 3]


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    monkeypatch.setenv("ATARI_WRAPPERS_TOKEN", TOKEN)
    with ExitStack() as stack:
        yield stack


def test_training_on_a_server_is_training_here(trainer: Trainer, closing: ExitStack) -> None:
    # Two servers, whose own settings the run's replace.
    servers = [start_server(closing, "SpaceInvadersNoFrameskip-v4", 8) for _ in range(2)]
    remote = ",".join(server.address for server in servers)
    evaluated = ["--eval-every", 240, "--eval-episodes", 2]
    for where in ([], ["--remote", remote]):
        name = ["--run-name", "remote" if where else "here"]
        run = [*INVADERS, *GAMES, *evaluated, "--env-groups", 2]
        out, err = trainer.run("train", *name, *run, *where)
        assert ("on a server (remote)" in out + err) == bool(where)
    runs = trainer.folder / "runs"
    done = assert_same_run(runs / "remote", runs / "here")
    assert int(done.split()[2]) > 2, done
    assert [server.num_clients for server in servers] == [0, 0]


def test_what_cannot_be_is_told_in_a_line(trainer: Trainer, closing: ExitStack) -> None:
    other = ["--remote", start_server(closing, "CartPole-v0", 8).address]
    address = start_server(closing, "CartPole-v1", 2).address
    here = ["--remote", address]
    frames = ["--num-envs", 2, "--img-dir", "frames"]
    cases = (
        (["--remote", "127.0.0.1:1"], "no server at 127.0.0.1:1: "),
        (["--remote", "nowhere"], "'nowhere' is no address"),
        (other, "serves `CartPole-v0`, not `CartPole-v1`"),
        ([*here, "--total-steps", 99], "num_envs must be at most 2 on this server, not 8"),
        ([*here, "--backend", "sync"], "goes without backend = sync"),
        (["--remote", f"{address},{address}"], "one for each group of env_groups = 1"),
        ([*here, *frames], "img_dir: no setting that a server takes"),
    )
    trainer.assert_refused(*((["train", *CARTPOLE, *given], words) for given, words in cases))


def test_a_server_that_dies_leaves_a_run_to_go_on_with(
    trainer: Trainer, closing: ExitStack
) -> None:
    server = start_server(closing, "CartPole-v1", 2)
    run = ["--num-envs", 2, "--total-steps", 10_000_000, "--remote", server.address]
    process = trainer.start("train", "--run-name", "run", *CARTPOLE, *run)
    try:
        wait_until(trainer.checkpoints, seconds=60)
        server.stop()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1
    line = err.strip().splitlines()[-1]
    assert f"the server at {server.address}: " in line, out + err
    assert "runs/run" in line
    one_game, watched = ["runs/run", "--episodes", 1], ["runs/run", "--to", "game.gif"]
    _, err = trainer.run("eval", *one_game, status=1)
    assert f"no server at {server.address}" in err
    out, _ = trainer.run("eval", *one_game, "--remote", "")
    assert "game 1: " in out
    _, err = trainer.run("play", *watched, "--remote", server.address, status=1)
    assert "what is watched is played here" in err
    step = int(trainer.checkpoints()[-1].stem.removeprefix("step-"))
    trainer.run("train", "--resume", "runs/run", "--total-steps", step + 512, "--remote", "")


def test_the_program_serves_environments_and_policies(
    trainer: Trainer, tmp_path: Path, closing: ExitStack
) -> None:
    from atari_wrappers.remote import RemotePolicy, RemoteVecEnv

    file = save_untrained("mlp", tmp_path)
    twin = untrained("mlp", tmp_path)
    commands = {"serve": ["CartPole-v1"], "serve-policy": [file]}
    for command, what in commands.items():
        address = f"unix:{tmp_path / command}"
        process = trainer.start(command, *what, "--listen", address)
        closing.callback(process.kill)
        if command == "serve":
            with RemoteVecEnv(address, connect_timeout=60.0) as vec:
                assert vec.reset(seed=0)[0].shape == (1, 4)
        else:
            with RemotePolicy(address, connect_timeout=60.0) as policy:
                obs = observations(twin, 2)
                assert (
                    policy.act(obs, greedy=True).tolist() == twin.act(obs, greedy=True)[0].tolist()
                )
        process.terminate()
        _, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
        assert "atari_wrappers: stopping" in err.splitlines(), err


@pytest.mark.parametrize("command", ["serve", "serve-policy"])
def test_a_server_that_loads_ends_by_a_signal(
    command: str, trainer: Trainer, closing: ExitStack
) -> None:
    process = trainer.start(command, "-", "--listen", "unix:never")
    closing.callback(process.kill)
    libraries = Path(f"/proc/{process.pid}/maps")
    wait_until(lambda: "multiarray" in libraries.read_text(), seconds=60)  # of NumPy
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (-signal.SIGTERM, "")


def test_ctrl_c_ends_a_server_that_still_makes_its_envs(
    trainer: Trainer, closing: ExitStack
) -> None:
    module = """
        import gymnasium as gym, pathlib
        class Slow(gym.Env):
            def __init__(self):
                pathlib.Path("begun").touch()
                while True: pass
        gym.register("Slow-v0", Slow)
    """
    (trainer.folder / "slow.py").write_text(dedent(module))
    process = trainer.start("serve", "slow:Slow-v0", "--listen", "unix:never")
    closing.callback(process.kill)
    wait_until((trainer.folder / "begun").exists, seconds=60)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")


def test_help_is_pythons(trainer: Trainer) -> None:
    out, _ = trainer.run("serve", "--help")
    assert out.startswith("usage: rust_trainer serve")
    _, err = trainer.run("serve", status=2)
    assert "the following arguments are required: env_id" in err
