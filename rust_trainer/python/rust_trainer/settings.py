"""`Settings`: those of a run by name, as the command line has them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from os import PathLike, fspath
from typing import Any, Literal

Preset = Literal[
    "ppo-atari",
    "ppo-lstm-atari",
    "ppo-impala-atari",
    "a2c-atari",
    "dqn-atari",
    "qrdqn-atari",
    "rainbow-atari",
    "dopamine-iqn",
    "dopamine-rainbow",
    "pqn-atari",
    "ppo-cartpole",
    "a2c-cartpole",
    "dqn-cartpole",
    "pqn-cartpole",
    "ppo-pendulum",
    "td3-pendulum",
    "ppo-continuous",
    "ddpg-continuous",
    "td3-continuous",
    "ippo-simple-spread",
    "mappo-simple-spread",
    "maddpg-simple-spread",
    "ppo-record",
    "pqn-record",
]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a run; those that are `None` are the preset's, the file's or the defaults.

    `rust_trainer train --help` explains each, and `train PRESET --help` shows its values there. The
    trainer checks them: their ranges, and that each is read.

    Attributes:
        preset: Published settings to start from.
        config: A TOML file of settings, such as a run's own `settings.toml`.
    """

    preset: Preset | None = None
    config: str | PathLike[str] | None = None

    # Every run.
    algorithm: Literal["ppo", "a2c", "dqn", "pqn", "ddpg", "td3", "maddpg"] | None = None
    total_steps: int | None = None
    seed: int | None = None
    runs_dir: str | PathLike[str] | None = None
    run_name: str | None = None
    start_from: str | PathLike[str] | None = None
    checkpoint_every: int | None = None
    keep_checkpoints: int | None = None
    eval_every: int | None = None
    eval_episodes: int | None = None
    eval_num_envs: int | None = None
    eval_greedy: bool | None = None
    video_every: int | None = None
    img_dir: str | PathLike[str] | None = None
    track: Literal["none", "trackio", "wandb", "mlflow"] | None = None
    env_id: str | None = None
    num_envs: int | None = None
    env_groups: int | None = None
    num_players: int | None = None
    opponent_games: int | None = None
    opponent_every: int | None = None
    opponent_pool: int | None = None
    opponent_draw: Literal["uniform", "latest", "prioritized"] | None = None
    num_agents: int | None = None
    backend: Literal["auto", "ale", "native", "sync", "async"] | None = None
    remote: str | None = None
    env_timeout: float | None = None
    autoreset: Literal["same-step", "next-step"] | None = None
    recipe: Literal["default", "baselines", "cleanrl", "gymnasium", "ale", "envpool"] | None = None
    obs_type: Literal["screen", "ram", "recipe"] | None = None
    episodic_life: bool | Literal["recipe"] | None = None
    clip_reward: bool | Literal["recipe"] | None = None
    fire_reset: bool | Literal["recipe", "steps", "before-noops", "after-noops"] | None = None
    noop_max: int | Literal["recipe"] | None = None
    frame_skip: int | Literal["recipe"] | None = None
    frame_stack: int | Literal["recipe"] | None = None
    sticky_actions: float | Literal["recipe"] | None = None
    full_action_space: bool | Literal["recipe"] | None = None
    continuous: bool | Literal["recipe"] | None = None
    continuous_action_threshold: float | Literal["recipe"] | None = None
    max_episode_frames: int | Literal["recipe"] | None = None
    net: Literal["auto", "nature", "impala", "mlp"] | None = None
    mlp_width: int | None = None
    impala_width: int | None = None
    init: Literal["orthogonal", "uniform"] | None = None
    device: str | None = None
    precision: Literal["fp32", "tf32", "bf16", "auto"] | None = None
    cuda_graphs: bool | None = None
    cuda_streams: bool | None = None
    torch_threads: int | None = None
    env_threads: int | None = None
    # PPO, which others have in part.
    num_steps: int | None = None
    learning_rate: float | None = None
    anneal_lr: bool | None = None
    gamma: float | None = None
    gae_lambda: float | None = None
    num_minibatches: int | None = None
    update_epochs: int | None = None
    norm_adv: bool | None = None
    clip_coef: float | None = None
    clip_vloss: bool | None = None
    norm_obs: bool | None = None
    norm_reward: bool | None = None
    ent_coef: float | None = None
    vf_coef: float | None = None
    max_grad_norm: float | None = None
    adam_eps: float | None = None
    central_critic: bool | None = None
    share_weights: bool | None = None
    lstm_size: int | None = None
    # A2C, what others have not.
    rmsprop_alpha: float | None = None
    rmsprop_eps: float | None = None
    # DQN, what others have not.
    batch_size: int | None = None
    replay_capacity: int | None = None
    learning_starts: int | None = None
    train_frequency: int | None = None
    target_update: int | None = None
    steps_per_update: int | None = None
    double_q: bool | None = None
    dueling: bool | None = None
    n_step: int | None = None
    prioritized: bool | None = None
    priority_alpha: float | None = None
    priority_beta: float | None = None
    distributional: Literal["none", "c51", "quantile", "iqn"] | None = None
    huber: bool | None = None
    num_atoms: int | None = None
    v_min: float | None = None
    v_max: float | None = None
    num_quantiles: int | None = None
    num_tau_samples: int | None = None
    num_tau_prime_samples: int | None = None
    num_quantile_samples: int | None = None
    quantile_embedding_dim: int | None = None
    noisy: bool | None = None
    noisy_sigma: float | None = None
    start_e: float | None = None
    end_e: float | None = None
    exploration_fraction: float | None = None
    eval_e: float | None = None
    # DDPG and TD3, what others have not.
    tau: float | None = None
    policy_frequency: int | None = None
    exploration_noise: float | None = None
    policy_noise: float | None = None
    noise_clip: float | None = None
    # PQN, what others have not.
    q_lambda: float | None = None
    layer_norm: bool | None = None

    def arguments(self) -> list[str]:
        """Return the command line of `train` that has these settings."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        preset = named.pop("preset")
        return ([] if preset is None else [preset]) + [
            f"--{name.replace('_', '-')}={_word(value)}"
            for name, value in named.items()
            if value is not None
        ]


def _word(value: Any) -> str:
    """Return a value as the command line spells it; numbers come back bit for bit."""
    if hasattr(value, "item"):  # a scalar of NumPy's or PyTorch's
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    return (
        repr(value)
        if isinstance(value, float)
        else str(value if isinstance(value, int) else fspath(value))
    )
