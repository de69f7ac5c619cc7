"""Checkpoints of several agents: whose networks they hold, and what a row of each agent shows.

A row is the agent's own observation; behind it, where the critic is central, those of the others
from the next agent on around; and at the end which agent it is, where each has its own network.
"""

from __future__ import annotations

from dataclasses import replace

from rust_trainer.checkpoints import Checkpoint, CheckpointError


def of_agent(checkpoint: Checkpoint, agent: int | None) -> Checkpoint:
    """Return what one agent's policy is made of: its own observations, its own tensors.

    A checkpoint of a single agent, and one whose agents share a network, have all that already.

    Raises:
        CheckpointError: `agent` names none that has a network of its own, or must name one; a
            memory beside a central critic.
    """
    settings, count = checkpoint.settings, count_agents(checkpoint)
    is_shared = settings.get("algorithm") != "maddpg" and settings.get("share_weights", True)
    if count == 1 or is_shared:
        if agent is not None:
            raise CheckpointError("agent: all play by one network, and none is to be named")
    elif agent is None:
        raise CheckpointError(
            f"each of {count} agents has a network of its own: name one, as in agent=0"
        )
    elif agent not in range(count):
        raise CheckpointError(f"agent must be 0 to {count - 1}, not {agent}")
    if settings.get("central_critic") and settings.get("lstm_size", 0) > 0:
        raise CheckpointError(
            "a policy with an LSTM and a central critic is played by the trainer's `eval` alone"
        )
    first, *others = checkpoint.obs_shape
    if count > 1 and not settings.get("share_weights", True):
        first -= count
    if settings.get("central_critic"):
        first //= count
    tensors = checkpoint.tensors
    if agent is not None:
        prefix = f"agent{agent}."
        own = (name for name in tensors if name.startswith(prefix))
        tensors = {name.removeprefix(prefix): tensors[name] for name in own}
    return replace(checkpoint, obs_shape=(first, *others), tensors=tensors)


def joint_shape(checkpoint: Checkpoint) -> tuple[int, ...] | None:
    """Return the shape of what a central critic reads, of what `of_agent` returned."""
    if not checkpoint.settings.get("central_critic"):
        return None
    first, *others = checkpoint.obs_shape
    return (first * count_agents(checkpoint), *others)


def count_agents(checkpoint: Checkpoint) -> int:
    """Return how many agents act in each environment."""
    return max(int(checkpoint.settings.get("num_agents", 1)), 1)
