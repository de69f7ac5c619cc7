"""`train` and `evaluate` from Python: the program's runs, with a callback."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from program import PROGRAM, ROOT, Trainer
from run_files import untimed_rows

import rust_trainer
from rust_trainer import Settings, TrainerError, Update, UsageError, evaluate, train
from rust_trainer.settings import Preset

SHORT: dict[str, Any] = {
    "preset": "ppo-cartpole",
    "total_steps": 2048,
    "seed": 7,
    "torch_threads": 1,
}


def updates(run: Path) -> list[dict[str, str]]:
    return untimed_rows(run / "updates.csv")


def settings(folder: Path, **others: Any) -> Settings:
    return Settings(**SHORT | {"runs_dir": folder, "run_name": "run"} | others)


def test_it_is_the_programs_run(tmp_path: Path) -> None:
    heard: list[Update] = []
    result = train(settings(tmp_path), callback=heard.append, progress=False)
    assert result.is_finished
    assert result.folder == tmp_path / "run"
    assert (result.step, result.updates) == (2048, len(heard))
    words = settings(tmp_path, run_name="program").arguments()
    Trainer(tmp_path, PROGRAM).run("train", *words)
    theirs = updates(tmp_path / "program")
    assert updates(result.folder) == theirs
    for update, row in zip(heard, theirs, strict=True):
        assert update.step == int(row["step"])
        assert update.total_steps == 2048
        loss = update.scalars["policy_loss"]
        assert float(row["policy_loss"]) == pytest.approx(loss, rel=1e-6)
    assert result.mean_return == heard[-1].scalars["raw_return_mean_100"]
    played = evaluate(result.folder, 5, seed=1)
    out, _ = Trainer(tmp_path, PROGRAM).run("eval", "run", "--episodes", 5, "--seed", 1)
    said = [float(each) for each in re.findall(r"game \d+: ([\d.]+) in", out)]
    assert played.returns == said
    assert f"mean {played.mean:.2f} ± {played.std:.2f}" in out
    assert evaluate(result.folder, 5, seed=1, precision="fp32").returns == said
    out, _ = Trainer(tmp_path, PROGRAM).run("eval", "run", "--episodes", 1, "--precision", "bf16")
    assert "1 game in bf16" in out


def test_numbers_may_be_numpys() -> None:
    of_numpy = {"learning_rate": np.float64(1e-4), "seed": np.int64(3), "anneal_lr": np.False_}
    of_numpy |= {"gamma": torch.tensor(0.5), "net": np.str_("mlp")}
    words = Settings(**of_numpy).arguments()
    usual = Settings(learning_rate=1e-4, seed=3, anneal_lr=False, gamma=0.5, net="mlp")
    assert words == usual.arguments()


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_a_callback_stops_it_and_it_goes_on(kind: type, tmp_path: Path) -> None:
    result = train(
        settings(tmp_path), callback=lambda update: kind(update.step < 1000), progress=False
    )
    assert not result.is_finished
    assert result.step < 2048
    assert list(result.folder.glob("checkpoints/step-*"))
    with pytest.warns(UserWarning, match="the games start over"):  # gymnasium's have no states
        resumed = train(resume=result.folder, progress=False)
    assert (resumed.is_finished, resumed.step) == (True, 2048)
    train(settings(tmp_path, run_name="whole"), progress=False)
    whole = updates(tmp_path / "whole")
    assert updates(result.folder)[: result.updates] == whole[: result.updates]


def test_what_a_callback_raises_comes_back(tmp_path: Path) -> None:
    def fail(update: Update) -> None:
        raise LookupError(f"at {update.step}")

    with pytest.raises(LookupError, match=r"at \d+"):
        train(settings(tmp_path), callback=fail, progress=False)
    assert list(tmp_path.glob("run/checkpoints/step-*"))


@pytest.mark.parametrize("driver", [False, True])
def test_torch_is_imported_where_gpus_have_a_driver(driver: bool, tmp_path: Path) -> None:
    if driver:
        stand_in = Path(torch.__file__).parent / "lib/libc10.so"
        (tmp_path / "libcuda.so.1").symlink_to(stand_in)
    elif torch.cuda.is_available():
        pytest.skip("there is a driver")
    code = """if True:
        import sys, rust_trainer
        assert rust_trainer.main(["--version"]) == 0
        print("torch" in sys.modules)
        import torch
        print(torch.ones(3) @ torch.ones(3))
    """
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}
    command = [sys.executable, "-c", code]
    out = subprocess.check_output(command, env=environment, text=True)
    assert out.splitlines()[1:] == [str(driver), "tensor(3.)"]


def test_ctrl_c_leaves_a_checkpoint_and_pythons_handler(tmp_path: Path) -> None:
    before, threads = signal.getsignal(signal.SIGINT), torch.get_num_threads()
    with pytest.raises(KeyboardInterrupt, match=r"go on by train\(resume='.*run'\)"):
        train(
            settings(tmp_path, total_steps=1_000_000),
            callback=lambda _: os.kill(os.getpid(), signal.SIGINT),
            progress=False,
        )
    assert list(tmp_path.glob("run/checkpoints/step-*"))
    assert signal.getsignal(signal.SIGINT) is before
    assert torch.get_num_threads() == threads


def test_a_callback_stops_its_own_training_alone(tmp_path: Path) -> None:
    results = []

    def short() -> None:
        of_its_own = settings(tmp_path, run_name="short", seed=8)
        results.append(train(of_its_own, callback=lambda _: False, progress=False))

    beside = threading.Thread(target=short)

    def meanwhile(update: Update) -> None:
        if update.step == first:
            beside.start()
            beside.join()

    whole = train(settings(tmp_path, run_name="whole"), progress=False)
    first = int(updates(whole.folder)[0]["step"])
    result = train(settings(tmp_path), callback=meanwhile, progress=False)
    assert [(each.is_finished, each.step) for each in results] == [(False, first)]
    assert result.is_finished
    assert updates(result.folder) == updates(whole.folder)


def test_other_threads_run_while_it_learns(tmp_path: Path) -> None:
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    train(settings(tmp_path), progress=False)
    took, during = time.monotonic() - began, counted
    time.sleep(1)
    alone = counted - during
    over.set()
    thread.join()
    assert during / took > alone / 20  # with the lock held none would run


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ({"gamma": 1.5}, r"setting `gamma` = 1.5 must lie between 0 and 1"),
        ({"batch_size": 8}, "batch_size"),
        ({"net": "transformer"}, "transformer"),
        ({"env_id": "NoSuch-v0"}, "NoSuch-v0"),
    ],
)
def test_mistakes_are_the_programs_sentences(
    named: dict[str, Any], problem: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TrainerError, match=problem) as raised:
        train(settings(tmp_path, **named), progress=False)
    if "env_id" not in named:
        assert isinstance(raised.value, UsageError)
    assert "\n" not in str(raised.value)
    assert not str(raised.value).startswith("error")
    assert capfd.readouterr() == ("", "")
    with pytest.raises(TypeError, match="gama"):
        Settings(gama=1)


def test_a_bar_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    train(settings(tmp_path), progress=True)
    shown = capsys.readouterr()
    assert "2.05k/2.05k" in shown.err  # however far the last update went
    assert "mean return" in shown.err
    assert "CartPole-v1 with PPO: 8 environments" in shown.out


def test_settings_are_those_of_the_program(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path, PROGRAM)
    options, presets = {"config"}, ""
    algorithms = ("ppo", "a2c", "dqn", "pqn", "ddpg", "td3", "maddpg")
    helped = trainer.run_all(*(["train", "--algorithm", name, "--help"] for name in algorithms))
    for status, out, _ in helped:
        assert status == 0
        options |= {each.replace("-", "_") for each in re.findall(r"^ +--([\w-]+) <", out, re.M)}
        presets = out.partition("\nPresets:\n")[2]
    options -= {"resume", "rank_timeout"}
    assert set(inspect.signature(Settings).parameters) == options | {"preset"}
    assert re.findall(r"^  ([\w-]+) ", presets, re.M) == list(get_args(Preset))
    # And the choices of each.
    choices = dict(re.findall(r"--([\w-]+) <[^\[]*?\[possible values: ([^\]]*)\]", out, re.S))
    hints = inspect.get_annotations(Settings)
    for name, values in choices.items():
        hint = str(hints[name.replace("-", "_")])
        assert set(re.findall(r'"([^"]+)"', hint)) == set(re.split(r",\s+", values)), name


def test_it_is_typed() -> None:
    package = ROOT / "rust_trainer/python/rust_trainer"
    assert (package / "py.typed").is_file()
    # mypy's opinion is asked for by scripts/test, and pyright's by `tests/test_types.py`.
    assert set(rust_trainer.__all__) <= set(dir(rust_trainer))
    for name in rust_trainer.__all__:
        assert getattr(rust_trainer, name) is not None
