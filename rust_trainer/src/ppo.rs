//! Proximal policy optimization (Schulman et al. 2017), with the details of the Baselines implementation
//! that published Atari scores rest on (Huang et al., "The 37 Implementation Details of PPO").

use rand::seq::SliceRandom;
use tch::{Kind, Tensor, no_grad};

use crate::{
    error::TrainerError,
    learner::{Learner, Losses},
    nets::Output,
    rollout::{Batch, explained_variance},
    settings::settings,
};

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
        update_epochs: usize = 4, Positive,
        /// Normalize advantages to mean 0 and deviation 1 in each minibatch
        norm_adv: bool = true, Any,
        /// Clip range of the probability ratio, and of the value with --clip-vloss
        clip_coef: f64 = 0.1, Positive,
        /// Clip the value loss too
        clip_vloss: bool = true, Any,
        /// Weight of the entropy bonus
        ent_coef: f64 = 0.01, NotNegative,
        /// Weight of the value loss
        vf_coef: f64 = 0.5, NotNegative,
        /// Largest global norm of the gradient
        max_grad_norm: f64 = 0.5, Positive,
        /// Adam's ε
        adam_eps: f64 = 1e-5, Positive,
    }
}

impl PpoSettings {
    /// Environments stepped together by default.
    pub const NUM_ENVS: usize = 8;

    /// Refuses minibatches that cannot be made of the samples of `num_envs` environments.
    pub(crate) fn check(&self, num_envs: usize) -> Result<(), TrainerError> {
        let samples = num_envs * self.num_steps;
        let problem = if self.num_minibatches > samples {
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

/// The terms of the loss over a minibatch; scalars.
pub struct Loss {
    /// What is minimized: `policy + vf_coef · value − ent_coef · entropy`.
    pub total: Tensor,
    /// Clipped surrogate objective, negated (eq. 7).
    pub policy: Tensor,
    /// Half the squared error of the value, clipped like the ratio if asked.
    pub value: Tensor,
    /// Mean entropy of the policy in nats.
    pub entropy: Tensor,
    /// KL divergence from the old policy, `E[(r − 1) − log r]` (Schulman, "Approximating KL divergence").
    pub approx_kl: Tensor,
    /// Share of samples whose ratio is clipped.
    pub clip_fraction: Tensor,
}

/// The loss of a minibatch under the network's present `output`.
#[must_use]
pub fn loss(output: &Output, batch: &Batch, settings: &PpoSettings) -> Loss {
    let clip = settings.clip_coef;
    let all_log_probs = output.logits.log_softmax(-1, Kind::Float);
    let log_probs = all_log_probs
        .gather(1, &batch.actions.unsqueeze(1), false)
        .squeeze_dim(1);
    let log_ratio = log_probs - &batch.log_probs;
    let ratio = log_ratio.exp();

    let advantages = if settings.norm_adv {
        (&batch.advantages - batch.advantages.mean(Kind::Float))
            / (batch.advantages.std(true) + 1e-8)
    } else {
        batch.advantages.shallow_clone()
    };
    let unclipped = &advantages * &ratio;
    let clipped = &advantages * ratio.clamp(1.0 - clip, 1.0 + clip);
    let policy = -unclipped.minimum(&clipped).mean(Kind::Float);

    let squared_error = (&output.value - &batch.returns).square();
    let squared_error = if settings.clip_vloss {
        let clipped = &batch.values + (&output.value - &batch.values).clamp(-clip, clip);
        squared_error.maximum(&(clipped - &batch.returns).square())
    } else {
        squared_error
    };
    let value = squared_error.mean(Kind::Float) * 0.5;

    let entropy = -(all_log_probs.exp() * &all_log_probs)
        .sum_dim_intlist(-1, false, Kind::Float)
        .mean(Kind::Float);
    let total = &policy + &value * settings.vf_coef - &entropy * settings.ent_coef;
    let (approx_kl, clip_fraction) = no_grad(|| {
        let approx_kl = ((&ratio - 1.0) - &log_ratio).mean(Kind::Float);
        let clip_fraction = (&ratio - 1.0)
            .abs()
            .gt(clip)
            .to_kind(Kind::Float)
            .mean(Kind::Float);
        (approx_kl, clip_fraction)
    });
    Loss {
        total,
        policy,
        value,
        entropy,
        approx_kl,
        clip_fraction,
    }
}

/// Learns from one rollout: `update_epochs` passes over `num_minibatches` minibatches, drawn anew for
/// each pass without replacement. The losses reported are means over all of them.
pub(crate) fn update(
    learner: &mut Learner,
    batch: &Batch,
    settings: &PpoSettings,
    learning_rate: f64,
) -> Losses {
    let mut order: Vec<i64> = (0..batch.len() as i64).collect();
    let minibatch_size = batch.len().div_ceil(settings.num_minibatches);
    let mut terms = Vec::new();
    for _ in 0..settings.update_epochs {
        order.shuffle(&mut learner.rng);
        for indices in order.chunks(minibatch_size) {
            let minibatch =
                batch.select(&Tensor::from_slice(indices).to_device(batch.obs.device()));
            let loss = loss(&learner.net.forward(&minibatch.obs), &minibatch, settings);
            let grad_norm = learner.descend(&loss.total, settings.max_grad_norm, learning_rate);
            let parts = [
                loss.policy,
                loss.value,
                loss.entropy,
                loss.approx_kl,
                loss.clip_fraction,
                grad_norm,
            ];
            terms.push(Tensor::stack(&parts, 0).detach());
        }
    }
    let names = [
        "policy_loss",
        "value_loss",
        "entropy",
        "approx_kl",
        "clip_fraction",
        "grad_norm",
    ];
    let mut losses = Losses::mean_of(&names, &terms);
    losses.push("explained_variance", explained_variance(batch));
    losses
}
