//! Advantage actor-critic, the synchronous form of A3C (Mnih et al. 2016), as in Baselines.

use tch::{Kind, Tensor};

use crate::{
    error::TrainerError,
    learner::{Learner, Losses},
    nets::Output,
    rollout::{Batch, explained_variance},
    settings::settings,
};

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
        /// Weight of the entropy bonus
        ent_coef: f64 = 0.01, NotNegative,
        /// Weight of the value loss
        vf_coef: f64 = 0.5, NotNegative,
        /// Largest global norm of the gradient
        max_grad_norm: f64 = 0.5, Positive,
        /// RMSprop's smoothing constant
        rmsprop_alpha: f64 = 0.99, Between(0.0, 1.0),
        /// RMSprop's ε
        rmsprop_eps: f64 = 1e-5, Positive,
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

/// The terms of the loss over a rollout; scalars.
pub struct Loss {
    /// What is minimized: `policy + vf_coef · value − ent_coef · entropy`.
    pub total: Tensor,
    /// `−E[log π(a|s) · A]`.
    pub policy: Tensor,
    /// Mean squared error of the value against the n-step return.
    pub value: Tensor,
    /// Mean entropy of the policy in nats.
    pub entropy: Tensor,
}

/// The loss of a rollout under the network's present `output`.
#[must_use]
pub fn loss(output: &Output, batch: &Batch, settings: &A2cSettings) -> Loss {
    let all_log_probs = output.logits.log_softmax(-1, Kind::Float);
    let log_probs = all_log_probs
        .gather(1, &batch.actions.unsqueeze(1), false)
        .squeeze_dim(1);
    let advantages = if settings.norm_adv {
        (&batch.advantages - batch.advantages.mean(Kind::Float))
            / (batch.advantages.std(true) + 1e-8)
    } else {
        batch.advantages.shallow_clone()
    };
    let policy = -(log_probs * advantages).mean(Kind::Float);
    let value = (&output.value - &batch.returns).square().mean(Kind::Float);
    let entropy = -(all_log_probs.exp() * &all_log_probs)
        .sum_dim_intlist(-1, false, Kind::Float)
        .mean(Kind::Float);
    let total = &policy + &value * settings.vf_coef - &entropy * settings.ent_coef;
    Loss {
        total,
        policy,
        value,
        entropy,
    }
}

/// Learns from one rollout with a single gradient step.
pub(crate) fn update(
    learner: &mut Learner,
    batch: &Batch,
    settings: &A2cSettings,
    learning_rate: f64,
) -> Losses {
    let loss = loss(&learner.net.forward(&batch.obs), batch, settings);
    let grad_norm = learner.descend(&loss.total, settings.max_grad_norm, learning_rate);
    let terms = Tensor::stack(&[loss.policy, loss.value, loss.entropy, grad_norm], 0).detach();
    let mut losses = Losses::mean_of(
        &["policy_loss", "value_loss", "entropy", "grad_norm"],
        &[terms],
    );
    losses.push("explained_variance", explained_variance(batch));
    losses
}
