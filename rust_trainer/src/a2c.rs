//! Advantage actor-critic, the synchronous form of A3C (Mnih et al. 2016), as in Baselines.

use tch::{Kind, Tensor};

use crate::{
    learner::{Learner, Losses},
    nets::Output,
    rollout::{Batch, explained_variance},
    settings::Settings,
};

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
pub fn loss(output: &Output, batch: &Batch, settings: &Settings) -> Loss {
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
    settings: &Settings,
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
