"""What TensorBoard shows of a run, read by its own code: CleanRL's tags, settings, clips."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from program import CARTPOLE, INVADERS_RUN, PROGRAM, Trainer, read_checkpoint
from run_files import rows

# What CleanRL's PPO logs, and its plots read.
CLEANRL = {
    "charts/episodic_return",
    "charts/episodic_length",
    "charts/SPS",
    "charts/learning_rate",
    *(f"losses/{name}_loss" for name in ("policy", "value")),
    *(f"losses/{name}" for name in ("entropy", "approx_kl", "old_approx_kl", "clipfrac")),
    "losses/explained_variance",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trainer = Trainer(tmp_path_factory.mktemp("tensorboard"), PROGRAM)
    trainer.run("train", *CARTPOLE, "--total-steps", 1024, "--seed", 3, "--run-name", "run")
    return trainer.folder / "runs/run"


def test_cleanrls_tags_are_there(run: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(run), size_guidance={"scalars": 0}).Reload()
    assert set(events.Tags()["scalars"]) >= CLEANRL
    updates = rows(run / "updates.csv")
    clipped = [(event.step, event.value) for event in events.Scalars("losses/clipfrac")]
    assert clipped == [(int(row["step"]), float(row["clip_fraction"])) for row in updates]
    # Two estimates of one divergence, of which one is in the table: the mean of -log(ratio) swings
    # to both sides of 0, and that of (ratio - 1) - log(ratio) is above.
    old = [event.value for event in events.Scalars("losses/old_approx_kl")]
    new = [event.value for event in events.Scalars("losses/approx_kl")]
    assert old == pytest.approx(new, abs=0.002)
    assert old[0] > 5 * new[0] > 0
    assert min(old) < 0 < min(new)
    assert "old_approx_kl" not in updates[0]


@pytest.mark.parametrize(
    ("named", "tag"),
    [
        ([], "losses/td_loss"),
        (["--distributional", "c51"], "losses/loss"),
        (["--distributional", "c51", "--noisy", "true"], "losses/td_loss"),  # as in Rainbow
    ],
    ids=["dqn", "c51", "rainbow"],
)
def test_the_loss_of_values_has_cleanrls_tag(trainer: Trainer, named: list[str], tag: str) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    short = ["--total-steps", 256, "--learning-starts", 64, "--run-name", "run"]
    trainer.run("train", "dqn-cartpole", *short, *named)
    events = accumulator.EventAccumulator(str(trainer.folder / "runs/run")).Reload()
    scalars = events.Tags()["scalars"]
    assert [each for each in scalars if each.endswith("loss")] == [tag]


def test_clips_of_play_are_shown_and_change_nothing(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    without = trained(*INVADERS_RUN)
    trainer.run("train", *INVADERS_RUN, "--video-every", 16, "--run-name", "filmed")
    filmed = trainer.folder / "runs/filmed"
    events = accumulator.EventAccumulator(str(filmed)).Reload()
    (clip,) = events.Images("video")
    with Image.open(io.BytesIO(clip.encoded_image_string)) as gif:
        assert (clip.step, (clip.width, clip.height)) == (16, gif.size)
        assert gif.n_frames > 20
    (kept,) = (filmed / "clips").iterdir()
    assert kept.read_bytes() == clip.encoded_image_string
    weights = [max((run / "checkpoints").glob("step-*")) for run in (filmed, without)]
    (_, learned), (_, expected) = map(read_checkpoint, weights)
    assert learned == expected
    # It is what `play` shows of the policy of that step.
    trainer.run("play", "runs/run", "--seed", 1, "--to", "play.gif", "--seconds", 15)
    assert (trainer.folder / "play.gif").read_bytes() == clip.encoded_image_string
    # Where a stop came before it, it is made when the run goes on.
    kept.unlink()
    trainer.run("train", "--resume", "runs/filmed")
    assert kept.read_bytes() == clip.encoded_image_string


def test_the_page_of_hyper_parameters_has_the_run(run: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups

    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(run.parent))
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(run.parent))
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=10,
        allowed_statuses=[api_pb2.STATUS_SUCCESS],
        include_metrics=True,
        col_params=[
            api_pb2.ColParams(metric=api_pb2.MetricName(group="", tag="charts/episodic_return")),
            api_pb2.ColParams(hparam="gamma"),
        ],
    )
    found = list_session_groups.Handler(RequestContext(), context, "", request).run()
    [group] = found.session_groups
    values = {name: value.WhichOneof("kind") for name, value in group.hparams.items()}
    assert group.hparams["gamma"].number_value == 0.99
    assert group.hparams["anneal_lr"].bool_value
    assert group.hparams["algorithm"].string_value == "ppo"
    assert set(values.values()) == {"number_value", "bool_value", "string_value"}
    [session] = group.sessions
    assert session.status == api_pb2.STATUS_SUCCESS
    assert session.end_time_secs >= session.start_time_secs > 0
    last = rows(run / "episodes.csv")[-1]
    metrics = {metric.name.tag: metric.value for metric in session.metric_values}
    assert metrics["charts/episodic_return"] == float(last["raw_return"])
