"""A batch of ours in TorchRL: rollouts as TensorDicts, with the games' records beside.

    pip install torchrl
    python examples/torchrl_rollout.py

Tried with TorchRL 0.14.1. `GymWrapper` takes batches that restart within the step or not at all.
"""

from __future__ import annotations

from torchrl.envs import GymWrapper

from atari_wrappers import make_vec


def main() -> None:
    envs = make_vec("PongNoFrameskip-v4", 4, autoreset="disabled", max_episode_frames=80)
    env = GymWrapper(envs, categorical_action_encoding=True)
    env.auto_register_info_dict()  # the infos are in the TensorDicts, too
    rollout = env.rollout(50, break_when_any_done=False)
    ended = rollout["next", "done"].squeeze(-1)
    lengths = rollout["next", "episode_length"][ended]
    print(
        list(rollout["observation"].shape), f"{int(ended.sum())} games of {lengths.tolist()} steps"
    )
    env.close()


if __name__ == "__main__":
    main()
