//! The settings of A2C.

use super::fields::settings;
use crate::error::TrainerError;

settings! {
    /// Settings of A2C: Mnih et al. 2016 as in Baselines: 16 environments × 5 steps, λ = 1, `RMSprop`.
    pub struct A2cSettings {
        /// Agent steps of each environment between two updates
        num_steps: usize = 5, Between(1.0, 1_048_576.0),
        /// Learning rate
        learning_rate: f64 = 7e-4, Positive,
        /// Let the learning rate fall linearly to zero over the run
        anneal_lr: bool = true, Any,
        /// Discount factor
        gamma: f64 = 0.99, Between(0.0, 1.0),
        /// λ of generalized advantage estimation
        gae_lambda: f64 = 1.0, Between(0.0, 1.0),
        /// Normalize advantages to mean 0 and deviation 1
        norm_adv: bool = false, Any,
        /// Normalize flat observations to mean 0 and deviation 1 of all seen so far, clipped to ±10
        norm_obs: bool = false, Any,
        /// Divide rewards by the deviation of the discounted return so far, clipped to ±10
        norm_reward: bool = false, Any,
        /// Weight of the entropy bonus
        ent_coef: f64 = 0.01, NotNegative,
        /// Weight of the value loss, the mean squared error
        vf_coef: f64 = 0.5, NotNegative,
        /// Largest global norm of the gradient
        max_grad_norm: f64 = 0.5, Positive,
        /// RMSprop's smoothing constant
        rmsprop_alpha: f64 = 0.99, Between(0.0, 1.0),
        /// RMSprop's ε
        rmsprop_eps: f64 = 1e-5, Positive,
        /// Size of an LSTM between body and heads, so that the policy remembers; 0: none
        lstm_size: i64 = 0, Between(0.0, 65_536.0),
    }
}

impl A2cSettings {
    /// Environments stepped together by default.
    pub const NUM_ENVS: usize = 16;

    /// Refuses a rollout of one sample where advantages are normalized.
    pub(crate) fn check(&self, num_envs: usize) -> Result<(), TrainerError> {
        if self.norm_adv && num_envs * self.num_steps < 2 {
            let problem = "leaves a rollout of one sample; nothing to normalize".to_owned();
            return Err(TrainerError::setting("num_steps", self.num_steps, problem));
        }
        Ok(())
    }
}
