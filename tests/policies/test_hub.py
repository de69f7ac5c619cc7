"""Folders for a model hub: what is in them, and that the hub's own library reads the card."""

from __future__ import annotations

import json
from pathlib import Path

import av
import pytest
import yaml
from program import PROGRAM, Trainer
from untrained import save_untrained

from rust_trainer import load_policy, make_hub_folder

huggingface_hub = pytest.importorskip("huggingface_hub")


@pytest.mark.parametrize("name", ["ram", "mlp-lstm"])
def test_the_hubs_library_reads_it(name: str, tmp_path: Path) -> None:
    save_untrained(name, tmp_path)
    words = [f"{name}.safetensors", "--hub", "folder", "--episodes", 3, "--seed", 2]
    out, _ = Trainer(tmp_path, PROGRAM).run("export", *words)
    folder = tmp_path / "folder"
    results = json.loads((folder / "results.json").read_text())
    mean, std = results["mean_reward"], results["std_reward"]
    assert f"mean return {mean:.2f} ± {std:.2f}" in out
    assert len(results["returns"]) == results["n_eval_episodes"] == 3

    card = huggingface_hub.ModelCard.load(folder / "README.md")
    (score,) = card.data.eval_results
    assert (score.task_type, score.metric_type) == ("reinforcement-learning", "mean_reward")
    assert score.metric_value == f"{mean:.2f} +/- {std:.2f}"
    assert card.data.library_name == "atari-trainer"
    (weights,) = folder.glob("*.safetensors")
    policy = load_policy(weights)
    assert score.dataset_name == policy.env.env_id
    assert policy.env.env_id in card.data.tags
    assert weights.name in card.text

    config = yaml.safe_load((folder / "config.yml").read_text())
    assert config == policy.checkpoint.settings
    with av.open(folder / "replay.mp4") as video:
        assert sum(1 for _ in video.decode(video=0)) >= min(results["lengths"])


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    file = save_untrained("mlp", tmp_path)
    with pytest.raises(FileExistsError, match="holds something already"):
        make_hub_folder(file, tmp_path)
    assert list(tmp_path.iterdir()) == [file]
