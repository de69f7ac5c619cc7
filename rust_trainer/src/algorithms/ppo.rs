//! Proximal policy optimization (Schulman et al. 2017), with the details of the Baselines implementation
//! that published Atari scores rest on (Huang et al., "The 37 Implementation Details of PPO").
//!
//! Here is what it collects with, aims at and minimizes; the loop around is `on_policy`'s.

use tch::{Device, Kind, Tensor, no_grad};

use super::{
    learner::{Learner, Loss},
    nets::Blueprint,
    on_policy::{OnPolicy, Turn},
    schedule::UpdateSettings,
};
use crate::{
    data::{Batch, Samples},
    error::TrainerError,
    nn::{Memory, Output, PolicyValueNet},
    optimizer::Optimizer,
    policy::{Choice, values},
    settings::PpoSettings,
};

impl OnPolicy for PpoSettings {
    type Net = PolicyValueNet;

    const TERMS: &'static [&'static str] = &[
        "policy_loss",
        "value_loss",
        "entropy",
        "approx_kl",
        "clip_fraction",
        "old_approx_kl",
    ];

    fn common(&self) -> UpdateSettings {
        UpdateSettings {
            num_steps: self.num_steps,
            gamma: self.gamma,
            lambda: self.gae_lambda,
            learning_rate: self.learning_rate,
            anneal_lr: self.anneal_lr,
            norm_reward: self.norm_reward,
            epochs: self.update_epochs,
            minibatches: self.num_minibatches,
            is_shuffled: true,
            norm_adv: self.norm_adv,
            max_grad_norm: self.max_grad_norm,
        }
    }

    fn net(&self, blueprint: &mut Blueprint<'_>) -> Result<PolicyValueNet, TrainerError> {
        blueprint.policy_value_net(self.lstm_size, self.norm_obs)
    }

    fn optimizer(&self, num_params: i64, device: Device) -> Optimizer {
        Optimizer::adam(num_params, device, self.adam_eps)
    }

    fn choose(&self, learner: &mut Learner<PolicyValueNet>, turn: Turn<'_>) -> Choice {
        learner.choose(turn)
    }

    fn values(&self, learner: &Learner<PolicyValueNet>, obs: &Tensor, memory: &Memory) -> Vec<f32> {
        values(&learner.net, obs, memory)
    }

    fn loss(&self, net: &PolicyValueNet, batch: &Batch, samples: &Samples) -> Loss {
        loss(&batch.forward(net), samples, self)
    }
}

/// The loss of samples under the network's present `output`; its terms are
///
/// - the clipped surrogate objective, negated (eq. 7),
/// - half the squared error of the value, clipped like the ratio if asked,
/// - the mean entropy of the policy in nats,
/// - the KL divergence from the old policy, `E[(r − 1) − log r]` (Schulman, "Approximating KL divergence"),
/// - the share of samples whose ratio is clipped,
/// - the plain estimate of the same divergence, `E[−log r]`, which `CleanRL` logs beside it.
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
    let (approx_kl, clip_fraction, old_approx_kl) = no_grad(|| {
        let is_clipped = (&ratio - 1.0).abs().gt(clip).to_kind(Kind::Float);
        let approx_kl = ((&ratio - 1.0) - &log_ratio).mean(Kind::Float);
        let old_approx_kl = -log_ratio.mean(Kind::Float);
        (approx_kl, is_clipped.mean(Kind::Float), old_approx_kl)
    });
    Loss {
        total: &policy_loss + &value_loss * settings.vf_coef - &entropy * settings.ent_coef,
        terms: vec![
            policy_loss,
            value_loss,
            entropy,
            approx_kl,
            clip_fraction,
            old_approx_kl,
        ],
        more: (),
    }
}
