"""A folder for a model hub, in the form that the zoos of reinforcement learning have there."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from rust_trainer import checkpoints
from rust_trainer.agents import count_agents
from rust_trainer.checkpoints import Checkpoint, CheckpointError
from rust_trainer.playing import Games, play_games, record_game
from rust_trainer.policies import policy_of
from rust_trainer.policy import Policy

_LIBRARY = "atari-trainer"
_CARD = """---
library_name: {library}
tags:
{tags}
model-index:
- name: {name}
  results:
  - task:
      type: reinforcement-learning
      name: reinforcement-learning
    dataset:
      name: {env_id}
      type: {env_id}
    metrics:
    - type: mean_reward
      value: {score}
      name: mean_reward
      verified: false
---

# {algorithm} that plays {title}

Trained for {steps} agent steps with `{library}`. {games} whole games, {how}, seed {seed}: mean raw
return **{mean:.2f}**, standard deviation {std:.2f}, lowest {low:g}, highest {high:g}.

```python
from rust_trainer import load_policy

policy = load_policy("{weights}")  # a torch.nn.Module
env = policy.make_env()
observation, info = env.reset(seed=0)
over, state = False, None
while not over:
    action, state = policy.act(observation, state)
    observation, reward, terminated, truncated, info = env.step(action)
    over = terminated or truncated
```

| file | what |
| --- | --- |
| `{weights}` | the checkpoint: weights, settings and counters, no code |
| `config.yml` | the settings of the run |
| `results.json` | the games above |
| `replay.mp4` | a game |
"""


def make_hub_folder(
    run: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    episodes: int = 10,
    seed: int = 0,
    greedy: bool = False,
) -> Games:
    """Make a folder to be uploaded to a model hub: card, settings, scores, a video, the weights.

    The scores are of whole games with raw rewards, which are played for it.

    Args:
        run: A checkpoint, or a run's folder, whose newest is taken.
        folder: Where it goes; it must not be there, or be empty.
        episodes: Games to play.
        seed: Of the games and of what is drawn.
        greedy: Play the best actions instead of drawing from the policy.

    Returns:
        The games.

    Raises:
        CheckpointError: (a `ValueError`) There is no checkpoint, it cannot be read, or it is of
            several agents.
        FileExistsError: The folder holds something.
        Exception: As `atari_wrappers.make_vec`, and for pictures that cannot be had.
    """
    file, target = checkpoints.find(run), Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"`{target}` holds something already: name a new folder")
    policy = policy_of(read_for_hub(file))
    games = play_games(policy, episodes, seed=seed, greedy=greedy)
    target.mkdir(parents=True, exist_ok=True)
    record_game(policy, target / "replay.mp4", seed=seed, greedy=greedy)
    settings = policy.checkpoint.settings
    # JSON is YAML; a line for each.
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in sorted(settings.items())]
    (target / "config.yml").write_text("".join(lines), encoding="utf-8")
    results = {
        "mean_reward": games.mean,
        "std_reward": games.std,
        "is_deterministic": greedy,
        "n_eval_episodes": episodes,
        "eval_datetime": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seed": seed,
        **({"opponent": "random"} if policy.env.num_players > 1 else {}),
        "returns": games.returns,
        "lengths": games.lengths,
    }
    (target / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    weights = f"{_name(policy)}.safetensors"
    card = _card(policy, games, weights, seed=seed, greedy=greedy)
    (target / "README.md").write_text(card, encoding="utf-8")
    shutil.copyfile(file, target / weights)
    return games


def read_for_hub(file: Path) -> Checkpoint:
    """Read a checkpoint that a folder can be made of.

    Raises:
        CheckpointError: As `make_hub_folder`.
    """
    checkpoint = checkpoints.read(file)
    count = count_agents(checkpoint)
    if count > 1:
        raise CheckpointError(
            f"checkpoint `{file}`: is of {count} agents; a hub folder is made of a run with one"
            " agent"
        )
    return checkpoint


def _name(policy: Policy) -> str:
    algorithm = policy.checkpoint.settings.get("algorithm", "ppo")
    return re.sub(r"[^\w.-]", "-", f"{algorithm}-{policy.env.env_id}")


def _card(policy: Policy, games: Games, weights: str, *, seed: int, greedy: bool) -> str:
    algorithm = policy.checkpoint.settings.get("algorithm", "ppo").upper()
    tags = [policy.env.env_id, "deep-reinforcement-learning", "reinforcement-learning", _LIBRARY]
    how = "the best actions" if greedy else "actions drawn from the policy"
    if policy.env.num_players > 1:
        how += ", against a random opponent"
    words: dict[str, Any] = {
        "library": _LIBRARY,
        "tags": "\n".join(f"- {json.dumps(tag)}" for tag in tags),
        "name": json.dumps(algorithm),
        "env_id": json.dumps(policy.env.env_id),
        "score": json.dumps(f"{games.mean:.2f} +/- {games.std:.2f}"),
        "algorithm": algorithm,
        "title": policy.env.env_id,
        "steps": f"{policy.checkpoint.step:,}",
        "games": len(games.returns),
        "how": how,
        "seed": seed,
        "mean": games.mean,
        "std": games.std,
        "low": min(games.returns),
        "high": max(games.returns),
        "weights": weights,
    }
    return _CARD.format(**words)
