//! The settings of PPO.

use super::fields::settings;
use crate::error::TrainerError;

settings! {
    /// Settings of PPO: Schulman et al. 2017, table 5, with the learning rate and ε of the Baselines
    /// implementation (Huang et al., "The 37 Implementation Details of PPO").
    pub struct PpoSettings {
        /// Agent steps of each environment between two updates
        num_steps: usize = 128, Between(1.0, 1_048_576.0),
        /// Learning rate
        learning_rate: f64 = 2.5e-4, Positive,
        /// Let the learning rate fall linearly to zero over the run
        anneal_lr: bool = true, Any,
        /// Discount factor
        gamma: f64 = 0.99, Between(0.0, 1.0),
        /// λ of generalized advantage estimation
        gae_lambda: f64 = 0.95, Between(0.0, 1.0),
        /// Minibatches that a rollout is split into
        num_minibatches: usize = 4, Positive,
        /// Passes over each rollout
        update_epochs: usize = 4, Between(1.0, 1_048_576.0),
        /// Normalize advantages to mean 0 and deviation 1 in each minibatch
        norm_adv: bool = true, Any,
        /// Clip range of the probability ratio, and of the value with --clip-vloss
        clip_coef: f64 = 0.1, Positive,
        /// Clip the value loss too
        clip_vloss: bool = true, Any,
        /// Normalize flat observations to mean 0 and deviation 1 of all seen so far, clipped to ±10
        norm_obs: bool = false, Any,
        /// Divide rewards by the deviation of the discounted return so far, clipped to ±10
        norm_reward: bool = false, Any,
        /// Weight of the entropy bonus
        ent_coef: f64 = 0.01, NotNegative,
        /// Weight of the value loss, which is half the mean squared error
        vf_coef: f64 = 0.5, NotNegative,
        /// Largest global norm of the gradient
        max_grad_norm: f64 = 0.5, Positive,
        /// Adam's ε
        adam_eps: f64 = 1e-5, Positive,
        /// The value function reads what all agents of its environment observe: MAPPO (several agents)
        central_critic: bool = false, Any,
        /// One network plays all agents of an environment; false: one for each (several agents, flat observations)
        share_weights: bool = true, Any,
        /// Size of an LSTM between body and heads, so that the policy remembers; 0: none
        lstm_size: i64 = 0, Between(0.0, 65_536.0),
    }
}

impl PpoSettings {
    /// Environments stepped together by default.
    pub const NUM_ENVS: usize = 8;

    /// Refuses minibatches that cannot be made of the samples of `num_envs` environments; with an LSTM,
    /// which takes the steps of an environment together, of the environments.
    pub(crate) fn check(&self, num_envs: usize) -> Result<(), TrainerError> {
        let samples = num_envs * self.num_steps;
        let problem = if self.lstm_size > 0 && self.num_minibatches > num_envs {
            format!(
                "is more than the {num_envs} environments (num_envs), whose steps an LSTM takes together"
            )
        } else if self.num_minibatches > samples {
            format!("is more than the {samples} samples of a rollout")
        } else if self.norm_adv && samples / self.num_minibatches < 2 {
            format!("leaves minibatches of under 2 samples out of {samples}; nothing to normalize")
        } else {
            return Ok(());
        };
        let value = self.num_minibatches;
        Err(TrainerError::setting("num_minibatches", value, problem))
    }
}
