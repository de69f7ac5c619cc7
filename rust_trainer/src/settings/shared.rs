//! The settings that every run has: what it is, its environments, its network, what it may use of the
//! machine.

use std::path::PathBuf;

use super::{
    choices::{
        Autoreset, Backend, DeviceChoice, Init, Net, ObsType, OpponentDraw, Precision, Recipe,
        Track,
    },
    fields::settings,
    recipe::{FireReset, OrRecipe},
};

/// In emulator frames. Longer skips and waits than that are typing mistakes, and take for ever.
const HALF_AN_HOUR: f64 = 108_000.0;

settings! {
    /// What a run is, and where it stands on the disk.
    pub struct RunSettings {
        /// Agent steps to train for, over all environments; the last update is done whole
        total_steps: u64 = 10_000_000, Positive,
        /// Seed of the environments, the weights and the sampling
        seed: u64 = 1, Any,
        /// Folder for the runs
        runs_dir: PathBuf = "runs".into(), Any,
        /// Name of the run's folder [default: made from the environment, algorithm, seed and time]
        run_name: String = String::new(), Any,
        /// Run or checkpoint whose network a new run begins with [default: none, a fresh network]
        start_from: PathBuf = PathBuf::new(), Any,
        /// Agent steps between two checkpoints
        checkpoint_every: u64 = 100_000, Positive,
        /// Newest checkpoints to keep
        keep_checkpoints: usize = 3, Positive,
        /// Agent steps between two evaluations: whole games in environments of their own; 0: none
        eval_every: u64 = 0, Any,
        /// Games of an evaluation, the same each time
        eval_episodes: usize = 10, Between(1.0, 1_048_576.0), if On("eval_every"),
        /// Environments played at once in an evaluation, at most one for each game
        eval_num_envs: usize = 8, Between(1.0, 1_048_576.0), if On("eval_every"),
        /// Take the best action in evaluations, instead of one drawn from the policy; with continuous actions ddpg, td3
        /// and maddpg draw none
        eval_greedy: bool = false, Any, if On("eval_every"),
        /// Agent steps between two clips of play, each 15 seconds from the start of a game, for TensorBoard and
        /// the tracker; 0: none (Atari)
        video_every: u64 = 0, Any,
        /// Experiment tracker to log to, too, through its own Python package: none, trackio, wandb or mlflow
        track: Track = Track::None, Any,
        /// Save every raw frame as PNG into this folder while training (slow)
        img_dir: PathBuf = PathBuf::new(), Any,
    }
}

settings! {
    /// The environments.
    pub struct EnvSettings {
        /// Any environment id that Gymnasium knows (`module:Name-v0` imports a module first), `simple_spread`, `cart_poles`,
        /// or `pettingzoo:MODULE`
        env_id: String = "SpaceInvadersNoFrameskip-v4".to_owned(), Any,
        /// Environments stepped together
        num_envs: usize = 8, Between(1.0, 1_048_576.0),
        /// Groups of environments that take turns: while the network acts for one, the others are stepped;
        /// not with --norm-obs or --norm-reward
        env_groups: usize = 1, Between(1.0, 1_048_576.0), if OneOf("algorithm", &["ppo", "a2c", "pqn"]),
        /// 2: self-play in games for two, such as Pong and Space Invaders; one network plays both sides and learns
        /// from both, so that each environment makes two agent steps at once
        num_players: usize = 1, Between(1.0, 2.0), if OneOf("algorithm", &["ppo", "a2c", "pqn"]),
        /// Of the games for two, those against past selves of the run; the past self's side learns nothing
        opponent_games: usize = 0, Between(0.0, 1_048_576.0), if OneOf("num_players", &["2"]),
        /// Agent steps between two past selves, which stay in the run's folder
        opponent_every: u64 = 100_000, Positive, if On("opponent_games"),
        /// Newest past selves, out of which one is drawn for each game
        opponent_pool: usize = 20, Positive, if On("opponent_games"),
        /// How a past self is drawn: uniform, latest, or prioritized, by the square of its share of the points against
        /// the learner
        opponent_draw: OpponentDraw = OpponentDraw::Prioritized, Any, if On("opponent_games"),
        /// Agents of each environment in which several act at once (`simple_spread`, `cart_poles`); each makes agent steps
        /// and learns. 0: as many as the environment has by itself
        num_agents: usize = 0, Between(0.0, 64.0),
        /// Backend that steps the environments
        backend: Backend = Backend::Auto, Any,
        /// Server whose environments are stepped over a socket, HOST:PORT or unix:PATH; its token is that of
        /// `ATARI_WRAPPERS_TOKEN`; several by commas, one for each of --env-groups [default: none, environments of this
        /// machine]
        remote: String = String::new(), Any,
        /// Seconds of silence after which a worker process counts as hung and is restarted;
        /// at least 60 for one that starts (async); or after which a server is given up (--remote)
        env_timeout: f64 = 300.0, Positive, if OneOf("backend", &["auto", "async"]),
        /// When an ended episode gives way to the next: same-step, or next-step, as EnvPool, Gymnasium from 1.0 on and
        /// CleanRL's scripts on EnvPool do: one more step, whose action counts for nothing, is learned from like any other
        autoreset: Autoreset = Autoreset::SameStep, Any, if OneOf("algorithm", &["ppo", "a2c", "pqn"]),
        /// Recipe that preprocesses the games; it decides each setting below that is `recipe` (Atari)
        recipe: Recipe = Recipe::Default, Any,
        /// What a game shows: screen, or ram for the console's 128 bytes (Atari)
        obs_type: OrRecipe<ObsType> = OrRecipe::Recipe, Any,
        /// A lost life ends the learner's episode (Atari)
        episodic_life: OrRecipe<bool> = OrRecipe::Recipe, Any,
        /// Learn from the sign of the reward; recipe: in Atari games whose recipe does so
        clip_reward: OrRecipe<bool> = OrRecipe::Recipe, Any,
        /// Press FIRE after a reset where the game needs it: true, false, steps, before-noops or
        /// after-noops (Atari)
        fire_reset: OrRecipe<FireReset> = OrRecipe::Recipe, Any,
        /// Largest number of no-ops at the start of a game (Atari)
        noop_max: OrRecipe<i64> = OrRecipe::Recipe, Between(0.0, HALF_AN_HOUR),
        /// Frames that each action is repeated for (Atari)
        frame_skip: OrRecipe<i64> = OrRecipe::Recipe, Between(1.0, HALF_AN_HOUR),
        /// Frames in an observation (Atari)
        frame_stack: OrRecipe<i64> = OrRecipe::Recipe, Between(1.0, 256.0),
        /// Probability that the emulator repeats the previous action instead (Atari)
        sticky_actions: OrRecipe<f64> = OrRecipe::Recipe, Between(0.0, 1.0),
        /// All 18 actions instead of those that the game uses (Atari)
        full_action_space: OrRecipe<bool> = OrRecipe::Recipe, Any,
        /// Continuous actions: ALE's [radius, angle, fire] instead of buttons (Atari), or those of `simple_spread`
        continuous: OrRecipe<bool> = OrRecipe::Recipe, Any,
            if OneOf("algorithm", &["ppo", "a2c", "ddpg", "td3", "maddpg"]),
        /// Position of stick or button from which a direction or FIRE counts as pressed (Atari, continuous)
        continuous_action_threshold: OrRecipe<f64> = OrRecipe::Recipe, Between(0.0, 1.0),
            if OneOf("continuous", &["true"]),
        /// Emulator frames after which a game is cut off, 0 for no limit (Atari)
        max_episode_frames: OrRecipe<i64> = OrRecipe::Recipe, NotNegative,
    }
}

/// Environments of several agents.
pub(crate) const SIMPLE_SPREAD: &str = "simple_spread";
const CART_POLES: &str = "cart_poles";
/// Before the name of a module that has a `parallel_env`.
pub(crate) const PETTINGZOO: &str = "pettingzoo:";

impl EnvSettings {
    /// Whether several agents act at once in each environment.
    pub(crate) fn has_agents(&self) -> bool {
        self.env_id.starts_with(PETTINGZOO)
            || [SIMPLE_SPREAD, CART_POLES].contains(&self.env_id.as_str())
    }

    /// Agents that act at once and learn: each player of each environment, but for past selves, and each agent, where it is
    /// known how many there are.
    pub(crate) fn num_rows(&self) -> usize {
        let players = self.num_envs * self.num_players * self.num_agents.max(1);
        players.saturating_sub(self.opponent_games)
    }

    /// The number of a row in the tables of a run on `num_ranks` ranks, where a game for two has two numbers: that of its
    /// second player is one more than that of its first, and a game against a past self has the first's alone.
    pub(crate) fn row_in_tables(&self, row: usize, num_ranks: usize) -> usize {
        let num_blocks = self.env_groups * num_ranks;
        let (games, against) = (self.num_envs / num_blocks, self.opponent_games / num_blocks);
        if against == 0 {
            return row;
        }
        // Each group of each rank has the games that both players learn from first.
        let both = self.num_players * (games - against);
        let (block, row) = (row / (both + against), row % (both + against));
        let behind = row.saturating_sub(both);
        self.num_players * games * block + row + (self.num_players - 1) * behind
    }

    /// Addresses of the servers that `remote` names.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &str> {
        let addresses = self.remote.split(',').map(str::trim);
        addresses.filter(|address| !address.is_empty())
    }
}

settings! {
    /// The network, whatever its heads.
    pub struct NetSettings {
        /// Network that turns observations into features; auto: nature for images, mlp for flat ones
        net: Net = Net::Auto, Any,
        /// Units in each of the two hidden layers of an mlp
        mlp_width: i64 = 64, Between(1.0, 65_536.0), if OneOf("net", &["auto", "mlp"]),
        /// Units of the layer behind the IMPALA network's convolutions
        impala_width: i64 = 256, Between(1.0, 65_536.0), if OneOf("net", &["impala"]),
        /// Initial weights: orthogonal, or uniform as those of PyTorch's layers; noisy layers have their own
        init: Init = Init::Orthogonal, Any,
    }
}

settings! {
    /// What a run may use of the machine.
    pub struct MachineSettings {
        /// Where the network runs: auto, cpu, cuda or cuda:N
        device: DeviceChoice = DeviceChoice::Auto, Any,
        /// Number format of the forward and backward pass; auto: tf32 on a CUDA device, bf16 on a processor that
        /// is faster in it, else fp32; tf32 on a CUDA device only
        precision: Precision = Precision::Fp32, Any,
        /// Record acting and gradient steps as CUDA graphs and replay them (CUDA device, not with an LSTM,
        /// several agents, DQN, DDPG, TD3 or MADDPG)
        cuda_graphs: bool = true, Any,
        /// Send observations to the CUDA device on a stream of their own, beside its work (not with DQN, DDPG,
        /// TD3 or MADDPG)
        cuda_streams: bool = true, Any,
        /// Threads that learn on the CPU, each from a part of every batch; 0: as many as there are cores
        torch_threads: i32 = 0, Between(0.0, 1024.0),
        /// Threads (native, ale) or processes (async) that step the environments; 0: as many as there are cores,
        /// at most one each
        env_threads: i64 = 0, Between(0.0, 4096.0),
    }
}
