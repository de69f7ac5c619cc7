"""Folders for a model hub: what is in them, and that the hub's own library reads the card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import gymnasium
import numpy as np
import pytest
import yaml
from program import PROGRAM, Trainer
from untrained import save_untrained

from rust_trainer import CheckpointError, checkpoints, hub, load_policy, make_hub_folder
from rust_trainer.played_envs import EnvPlan

huggingface_hub = pytest.importorskip("huggingface_hub")


@pytest.mark.parametrize("name", ["ram", "mlp-lstm"])
def test_the_hubs_library_reads_it(name: str, tmp_path: Path) -> None:
    short = {"max_episode_frames": 400} if name == "ram" else {}
    save_untrained(name, tmp_path, **short)
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


class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps the actions that were taken."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.taken: list[Any] = []

    def step(self, action: Any) -> Any:
        self.taken.append(np.array(action))
        return super().step(action)


def test_the_second_player_is_random_and_the_card_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched: list[Watched] = []
    make_env = EnvPlan.make_env

    def watch(plan: EnvPlan, **overrides: Any) -> Watched:
        watched.append(Watched(make_env(plan, **overrides)))
        return watched[-1]

    monkeypatch.setattr(EnvPlan, "make_env", watch)
    file = save_untrained("self-play", tmp_path, max_episode_frames=400)
    make_hub_folder(file, tmp_path / "folder", episodes=1, seed=4, greedy=True)
    assert "the best actions, against a random opponent, seed 4" in (
        tmp_path / "folder/README.md"
    ).read_text().replace("\n", " ")
    assert json.loads((tmp_path / "folder/results.json").read_text())["opponent"] == "random"
    # Best actions are not drawn: the generator has the second player's alone.
    (video,) = watched
    draws = np.random.default_rng(4)
    assert [action[1] for action in video.taken] == [draws.integers(6) for _ in video.taken]


def test_an_algorithm_that_is_none_leads_nowhere(tmp_path: Path) -> None:
    file = save_untrained("mlp", tmp_path)
    policy = load_policy(file)
    kept = checkpoints.read(file)
    kept.settings["algorithm"] = "../x"
    checkpoints.write(kept, file, made_by="a test", no_games="none ran")
    for refused in (lambda: load_policy(file), lambda: make_hub_folder(file, tmp_path / "folder")):
        with pytest.raises(CheckpointError, match=r"no algorithm .* is called '\.\./x'"):
            refused()
    assert list(tmp_path.iterdir()) == [file]
    # Were it loaded, its files would stay in their folder.
    policy.checkpoint.settings["algorithm"] = "../x"
    assert hub._name(policy) == "..-x-CartPole-v1"
