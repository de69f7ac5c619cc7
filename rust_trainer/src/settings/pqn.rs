//! The settings of PQN.

use super::fields::settings;
use crate::error::TrainerError;

settings! {
    /// Settings of PQN: those of the authors' code for Atari (`pqn_atari.yaml` of `purejaxql`): 128
    /// environments × 32 steps, 2 epochs of 32 minibatches, `RAdam`. `CleanRL`'s `pqn_atari_envpool.py` has
    /// 8 × 128, 4 epochs of 4, ε down to 0.01, and a learning rate that falls.
    pub struct PqnSettings {
        /// Agent steps of each environment between two updates
        num_steps: usize = 32, Between(1.0, 1_048_576.0),
        /// Learning rate
        learning_rate: f64 = 2.5e-4, Positive,
        /// Let the learning rate fall linearly to zero over the run
        anneal_lr: bool = false, Any,
        /// Discount factor
        gamma: f64 = 0.99, Between(0.0, 1.0),
        /// λ of the λ-returns
        q_lambda: f64 = 0.65, Between(0.0, 1.0),
        /// Minibatches that a rollout is split into
        num_minibatches: usize = 32, Positive,
        /// Passes over each rollout
        update_epochs: usize = 2, Between(1.0, 1_048_576.0),
        /// Initial ε: the probability of a random action
        start_e: f64 = 1.0, Between(0.0, 1.0),
        /// Final ε, with which a trained agent also plays without --greedy
        end_e: f64 = 0.001, Between(0.0, 1.0),
        /// Fraction of the run over which ε falls linearly from its initial to its final value
        exploration_fraction: f64 = 0.1, Between(0.0, 1.0),
        /// Layer normalization after each layer of the network
        layer_norm: bool = true, Any,
        /// Largest global norm of the gradient
        max_grad_norm: f64 = 10.0, Positive,
    }
}

impl PqnSettings {
    /// Environments stepped together by default.
    pub const NUM_ENVS: usize = 128;

    /// Refuses minibatches that cannot be made of the samples of `num_envs` environments.
    pub(crate) fn check(&self, num_envs: usize) -> Result<(), TrainerError> {
        let samples = num_envs * self.num_steps;
        if self.num_minibatches <= samples {
            return Ok(());
        }
        let problem = format!("is more than the {samples} samples of a rollout");
        let value = self.num_minibatches;
        Err(TrainerError::setting("num_minibatches", value, problem))
    }
}
