"""Experiment trackers, each with the same calls: the trainer runs this inside itself, on a thread.

Steps are agent steps. A run that goes on has the id that it had before; where its last checkpoint
is older than what was logged, the steps between stand there twice.
"""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path
from typing import Any, Protocol

PROJECT = "rust_trainer"


class Tracker(Protocol):
    """The run of a tracker, begun with its name, its folder, the id of an earlier start."""

    id: str

    def __init__(
        self, run: str, folder: str, run_id: str | None, settings: dict[str, Any]
    ) -> None: ...

    def log(self, step: int, values: dict[str, float]) -> None:
        """Log values by their names at an agent step."""

    def clip(self, step: int, path: str) -> None:
        """Log a clip of play, a GIF, at an agent step."""

    def finish(self, *, is_done: bool) -> None:
        """End the run, for good where it is done, and send what is left to send."""


class Trackio(Tracker):
    """trackio, in a folder of this machine (TRACKIO_DIR) or in a Space (TRACKIO_SPACE_ID)."""

    def __init__(self, run: str, folder: str, run_id: str | None, settings: dict[str, Any]) -> None:
        import trackio

        # It goes on with the newest run of a name.
        self.id = run_id or run
        project = os.environ.get("TRACKIO_PROJECT", PROJECT)
        resume = "allow" if run_id else "never"
        # Kept: its own `log` looks for the run in a context, and each call here has another one.
        self.run = trackio.init(project, name=self.id, config=settings, resume=resume, embed=False)

    def log(self, step: int, values: dict[str, float]) -> None:
        self.run.log(values, step=step)

    def clip(self, step: int, path: str) -> None:
        import trackio

        self.run.log({"video": trackio.Video(path)}, step=step)

    def finish(self, *, is_done: bool) -> None:
        self.run.finish()


class Wandb(Tracker):
    """Weights & Biases; with WANDB_MODE=offline all is in the run's folder until `wandb sync`."""

    def __init__(self, run: str, folder: str, run_id: str | None, settings: dict[str, Any]) -> None:
        import wandb

        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run,
            id=run_id,
            resume="allow",
            dir=folder,
            config=settings,
            allow_val_change=True,
            # What the program prints is a progress bar, and no log.
            settings=wandb.Settings(console="off"),
        )
        self.id = self.run.id
        # Its own steps may not go back, as a resumed run's do.
        self.run.define_metric("global_step")
        self.run.define_metric("*", step_metric="global_step")

    def log(self, step: int, values: dict[str, float]) -> None:
        self.run.log({"global_step": step, **values})

    def clip(self, step: int, path: str) -> None:
        import wandb

        self.run.log({"global_step": step, "video": wandb.Video(path, format="gif")})

    def finish(self, *, is_done: bool) -> None:
        # A run that was stopped has not failed.
        self.run.finish(exit_code=0)


class Mlflow(Tracker):
    """MLflow, at MLFLOW_TRACKING_URI or in a file; its client has no global state."""

    LONGEST_VALUE = 500

    def __init__(self, run: str, folder: str, run_id: str | None, settings: dict[str, Any]) -> None:
        import mlflow

        self.mlflow = mlflow
        self.client = mlflow.MlflowClient()
        if run_id is None:
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
            found = self.client.get_experiment_by_name(name)
            experiment = found.experiment_id if found else self.client.create_experiment(name)
            tags = {"mlflow.source.name": PROJECT, "folder": str(Path(folder).resolve())}
            self.id = self.client.create_run(experiment, run_name=run, tags=tags).info.run_id
        else:
            self.id = run_id
            self.client.update_run(run_id, status="RUNNING")
        # A parameter never changes there: of a run that goes on only new ones are written.
        known = self.client.get_run(self.id).data.params
        parameters = [
            mlflow.entities.Param(name, str(value)[: self.LONGEST_VALUE])
            for name, value in settings.items()
            if name not in known
        ]
        self.client.log_batch(self.id, params=parameters)

    def log(self, step: int, values: dict[str, float]) -> None:
        now = int(1000 * time.time())
        metrics = [
            self.mlflow.entities.Metric(name, value, now, step) for name, value in values.items()
        ]
        self.client.log_batch(self.id, metrics=metrics)

    def clip(self, step: int, path: str) -> None:
        self.client.log_artifact(self.id, path, "video")

    def finish(self, *, is_done: bool) -> None:
        self.client.set_terminated(self.id, "FINISHED" if is_done else "KILLED")


KINDS: dict[str, type[Tracker]] = {"trackio": Trackio, "wandb": Wandb, "mlflow": Mlflow}


def missing(kind: str) -> bool:
    """Return whether the package of a tracker, which has its name, is not installed."""
    spec = importlib.util.find_spec(kind)
    # A folder of its name, such as it keeps its files in, is found without an origin.
    return spec is None or spec.origin is None
