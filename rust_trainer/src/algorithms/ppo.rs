//! Proximal policy optimization (Schulman et al. 2017), with the details of the Baselines implementation
//! that published Atari scores rest on (Huang et al., "The 37 Implementation Details of PPO").
//!
//! [`ActorCritic`](super::ActorCritic) collects a rollout; here is what PPO learns from it.

use tch::{Device, Kind, Tensor, no_grad};

use super::{
    Learner, Metrics,
    actor_critic::{OnPolicy, Shared},
    learner::{AllSamples, Loss as PartLoss},
    minibatches::{Descent, Minibatches},
};
use crate::{
    data::{Batch, Rollout, Samples},
    error::TrainerError,
    nn::{Output, PolicyValueNet},
    optimizer::Optimizer,
    settings::PpoSettings,
};

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

/// The loss of samples under the network's present `output`; their advantages are normalized already, where
/// the settings say so.
#[must_use]
pub fn loss(output: &Output, samples: &Samples, settings: &PpoSettings) -> Loss {
    let clip = settings.clip_coef;
    let log_ratio = output.policy.log_prob(&samples.actions) - &samples.log_probs;
    let ratio = log_ratio.exp();

    let unclipped = &samples.advantages * &ratio;
    let clipped = &samples.advantages * ratio.clamp(1.0 - clip, 1.0 + clip);
    let policy_loss = -unclipped.minimum(&clipped).mean(Kind::Float);

    let squared_error = (&output.value - &samples.returns).square();
    let squared_error = if settings.clip_vloss {
        let clipped = &samples.values + (&output.value - &samples.values).clamp(-clip, clip);
        squared_error.maximum(&(clipped - &samples.returns).square())
    } else {
        squared_error
    };
    let value_loss = squared_error.mean(Kind::Float) * 0.5;

    let entropy = output.policy.entropy().mean(Kind::Float);
    let (approx_kl, clip_fraction) = no_grad(|| {
        let is_clipped = (&ratio - 1.0).abs().gt(clip).to_kind(Kind::Float);
        let approx_kl = ((&ratio - 1.0) - &log_ratio).mean(Kind::Float);
        (approx_kl, is_clipped.mean(Kind::Float))
    });
    Loss {
        total: &policy_loss + &value_loss * settings.vf_coef - &entropy * settings.ent_coef,
        policy: policy_loss,
        value: value_loss,
        entropy,
        approx_kl,
        clip_fraction,
    }
}

impl OnPolicy for PpoSettings {
    fn shared(&self) -> Shared {
        Shared {
            num_steps: self.num_steps,
            gamma: self.gamma,
            gae_lambda: self.gae_lambda,
            learning_rate: self.learning_rate,
            anneal_lr: self.anneal_lr,
            norm_obs: self.norm_obs,
            norm_reward: self.norm_reward,
            lstm_size: self.lstm_size,
        }
    }

    fn optimizer(&self, num_params: i64, device: Device) -> Optimizer {
        Optimizer::adam(num_params, device, self.adam_eps)
    }

    /// `update_epochs` passes over `num_minibatches` minibatches, drawn anew for each pass without
    /// replacement: of samples, or with an LSTM of environments. The metrics are means over all of them.
    fn update(
        &self,
        learner: &mut Learner<PolicyValueNet>,
        rollout: &mut Rollout,
        samples: (&Samples, &AllSamples),
        learning_rate: f64,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Metrics>, TrainerError> {
        let how = Descent {
            norm_adv: self.norm_adv,
            max_grad_norm: self.max_grad_norm,
            learning_rate,
        };
        let passes = (self.update_epochs, self.num_minibatches);
        let minibatches = Minibatches::draw(learner, rollout, passes, learning_rate);
        let mut terms = Vec::new();
        for minibatch in minibatches.iter() {
            if should_stop() {
                return Ok(None);
            }
            let loss = |net: &PolicyValueNet, (batch, samples): (Batch, Samples)| {
                let loss = loss(&batch.forward(net), &samples, self);
                let terms = vec![
                    loss.policy,
                    loss.value,
                    loss.entropy,
                    loss.approx_kl,
                    loss.clip_fraction,
                ];
                PartLoss::new(loss.total, terms)
            };
            terms.push(learner.step(rollout, samples, &minibatch, how, loss)?);
        }
        let names = [
            "policy_loss",
            "value_loss",
            "entropy",
            "approx_kl",
            "clip_fraction",
            "grad_norm",
        ];
        learner.metrics(&names, &terms).map(Some)
    }
}
