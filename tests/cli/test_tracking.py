"""`--track` with modules that stand in for the trackers: what they hear, and what their faults do.

The trainer finds them in the folder where it is started.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from program import CARTPOLE, INVADERS, Trainer
from run_files import rows

SHORT = [*CARTPOLE, "--total-steps", 1024, "--seed", 3, "--run-name", "run"]

# What stands in writes its calls as lines of JSON.
HEARD = """
import json, types
def hear(*call):
    with open("heard.jsonl", "a") as file:
        print(json.dumps(call), file=file)
"""
WANDB = (
    HEARD
    + """
class Run:
    def __init__(self, id): self.id = id
    def define_metric(self, name, step_metric=None): pass
    def log(self, values):
        if FAILS: raise RuntimeError("the disk is full")
        hear("log", values.pop("global_step"), values)
    def finish(self, exit_code): hear("finish", exit_code)
def Video(path, format): return [path, format]
def Settings(**options): return options
def init(id, config, **options):
    hear("init", id, config)
    return Run(id or "abc123")
FAILS = False
"""
)
TRACKIO = (
    HEARD
    + """
class Run:
    def log(self, values, step): hear("log", step, values)
    def finish(self): hear("finish")
def Video(path): return [path, "gif"]
def init(project, name, config, resume, embed):
    hear("init", resume, config)
    return Run()
"""
)
MLFLOW = (
    HEARD
    + """
class Pair:
    def __init__(self, *parts): self.parts = parts
entities = types.SimpleNamespace(Metric=Pair, Param=Pair)
class MlflowClient:
    def get_experiment_by_name(self, name): return None
    def create_experiment(self, name): return "1"
    def create_run(self, experiment, run_name, tags):
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id="abc123"))
    def update_run(self, run_id, status): hear("update", run_id, status)
    def get_run(self, run_id):
        return types.SimpleNamespace(data=types.SimpleNamespace(params={}))
    def log_batch(self, run_id, metrics=(), params=()):
        if params: hear("init", None, dict(pair.parts for pair in params))
        if metrics:
            [step] = {metric.parts[3] for metric in metrics}
            hear("log", step, dict(metric.parts[:2] for metric in metrics))
    def log_artifact(self, run_id, path, folder):
        hear("log", 64, {folder: [path, "gif"]})
    def set_terminated(self, run_id, status): hear("finish", status)
"""
)


def heard(trainer: Trainer) -> list[Any]:
    lines = (trainer.folder / "heard.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def last_row(run: Path) -> dict[str, str]:
    return rows(run / "updates.csv")[-1]


@pytest.mark.parametrize(
    ("kind", "code"), [("wandb", WANDB), ("trackio", TRACKIO), ("mlflow", MLFLOW)]
)
def test_a_tracker_hears_what_the_tables_hold_and_gets_the_clips(
    trainer: Trainer, kind: str, code: str
) -> None:
    (trainer.folder / f"{kind}.py").write_text(code)
    games = ["--total-steps", 64, "--max-episode-frames", 60, "--run-name", "run", *INVADERS]
    trainer.run("train", *games, "--track", kind, "--video-every", 64)
    run = trainer.folder / "runs/run"
    first, *logged, last = heard(trainer)
    assert first[0] == "init"
    assert str(first[2]["gamma"]) == "0.99"
    assert last[0] == "finish"
    logs = [(step, values) for name, step, values in logged if name == "log"]
    [clip] = [log for log in logs if "video" in log[1]]
    logs.remove(clip)
    assert clip == (64, {"video": ["runs/run/clips/000000000064.gif", "gif"]})
    steps = [step for step, _ in logs]
    assert steps == sorted(set(steps))
    returns = {step: values for step, values in logs if "charts/episodic_return" in values}
    assert set(returns) == {int(game["step"]) for game in rows(run / "episodes.csv")}
    assert returns
    step, values = logs[-1]
    row = last_row(run)
    assert step == int(row["step"]) == 64
    for tag, column in {
        "losses/policy_loss": "policy_loss",
        "losses/clipfrac": "clip_fraction",
        "charts/learning_rate": "learning_rate",
    }.items():
        assert values[tag] == pytest.approx(float(row[column])), tag


def test_a_resumed_run_goes_on_under_its_id(trainer: Trainer) -> None:
    (trainer.folder / "wandb.py").write_text(WANDB)
    trainer.run("train", *SHORT, "--track", "wandb")
    trainer.run("train", "--resume", "runs/run", "--total-steps", 2048)
    starts = [call[1] for call in heard(trainer) if call[0] == "init"]
    assert starts == [None, "abc123"]
    assert heard(trainer)[-2][1] == 2048


def test_faults_of_a_tracker_end_no_run(trainer: Trainer) -> None:
    (trainer.folder / "wandb.py").write_text(WANDB.replace("FAILS = False", "FAILS = True"))
    out, err = trainer.run("train", *SHORT, "--track", "wandb")
    assert "wandb: RuntimeError: the disk is full; the run goes on without it" in err + out
    assert last_row(trainer.folder / "runs/run")["step"] == "1024"


def test_a_missing_package_is_named_before_anything_is_made(trainer: Trainer) -> None:
    # A folder of that name, as trackers make them, is no package.
    (trainer.folder / "mlflow").mkdir()
    _, err = trainer.run("train", *SHORT, "--track", "mlflow", status=1)
    assert err == "error: --track mlflow needs the Python package mlflow: pip install mlflow\n"
    assert not (trainer.folder / "runs").exists()
