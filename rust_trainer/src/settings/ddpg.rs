//! The settings of DDPG and TD3.

use super::{dqn::check_learning_starts, fields::settings};
use crate::error::TrainerError;

settings! {
    /// Settings of DDPG (Lillicrap et al. 2016) and TD3 (Fujimoto et al. 2018) in the values of `CleanRL`, which has the
    /// delayed policy of TD3 in both.
    pub struct DdpgSettings {
        /// Learning rate, of the policy and of the critics
        learning_rate: f64 = 3e-4, Positive,
        /// Discount factor
        gamma: f64 = 0.99, Between(0.0, 1.0),
        /// Share of the networks that the target networks take on at each of their updates
        tau: f64 = 0.005, Between(0.0, 1.0),
        /// Transitions that a gradient step learns from; of maddpg steps of an environment, each with the transitions of all
        /// its agents
        batch_size: usize = 256, Between(1.0, 1_048_576.0),
        /// Transitions to keep
        replay_capacity: usize = 1_000_000, Between(1.0, 1e12),
        /// Transitions to collect by random actions before the first gradient step
        learning_starts: usize = 25_000, Positive,
        /// Agent steps, over all environments, for each gradient step
        train_frequency: u64 = 1, Between(1.0, 1_048_576.0),
        /// Gradient steps of the critics for each of the policy and of the target networks
        policy_frequency: u64 = 2, Between(1.0, 1_048_576.0),
        /// Deviation of the noise on actions while learning, in halves of the distance of their bounds
        exploration_noise: f64 = 0.1, NotNegative,
        /// The same of the noise on the target policy's actions: target policy smoothing
        policy_noise: f64 = 0.2, NotNegative, if OneOf("algorithm", &["td3"]),
        /// Largest noise on the target policy's actions, likewise
        noise_clip: f64 = 0.5, NotNegative, if OneOf("algorithm", &["td3"]),
        /// Agent steps between two rows of metrics; a run stops at one of them
        steps_per_update: u64 = 250, Between(1.0, 1_048_576.0),
    }
}

impl DdpgSettings {
    /// Environments stepped together by default.
    pub const NUM_ENVS: usize = 1;

    /// Refuses values that contradict each other.
    pub(crate) fn check(&self, _num_envs: usize) -> Result<(), TrainerError> {
        check_learning_starts(self.learning_starts, self.replay_capacity)
    }
}
