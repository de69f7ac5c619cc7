//! Advantage actor-critic, the synchronous form of A3C (Mnih et al. 2016), as in Baselines.
//!
//! [`ActorCritic`](super::ActorCritic) collects a rollout; here is what A2C learns from it.

use tch::{Device, Kind, Tensor};

use super::{
    Learner, Metrics,
    actor_critic::{OnPolicy, Shared},
    learner::{AllSamples, Loss as PartLoss},
};
use crate::{
    data::{Batch, Rollout, Samples},
    error::TrainerError,
    nn::{Output, PolicyValueNet},
    optimizer::Optimizer,
    settings::A2cSettings,
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

/// The loss of samples under the network's present `output`; their advantages are normalized already, where
/// the settings say so.
#[must_use]
pub fn loss(output: &Output, samples: &Samples, settings: &A2cSettings) -> Loss {
    let log_probs = output.policy.log_prob(&samples.actions);
    let policy_loss = -(log_probs * &samples.advantages).mean(Kind::Float);
    let squared_error = (&output.value - &samples.returns).square();
    let value_loss = squared_error.mean(Kind::Float);
    let entropy = output.policy.entropy().mean(Kind::Float);
    Loss {
        total: &policy_loss + &value_loss * settings.vf_coef - &entropy * settings.ent_coef,
        policy: policy_loss,
        value: value_loss,
        entropy,
    }
}

impl OnPolicy for A2cSettings {
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
        Optimizer::rms_prop(num_params, device, self.rmsprop_alpha, self.rmsprop_eps)
    }

    /// A single gradient step on the whole rollout.
    fn update(
        &self,
        learner: &mut Learner<PolicyValueNet>,
        rollout: &mut Rollout,
        samples: (&Samples, &AllSamples),
        learning_rate: f64,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Metrics>, TrainerError> {
        if should_stop() {
            return Ok(None);
        }
        let all: Vec<i64> = (0..learner.num_sequences(rollout)).collect();
        let parts = learner.parts(rollout, samples, &all, self.norm_adv);
        let loss = |net: &PolicyValueNet, (batch, samples): (Batch, Samples)| {
            let loss = loss(&batch.forward(net), &samples, self);
            PartLoss::new(loss.total, vec![loss.policy, loss.value, loss.entropy])
        };
        let (terms, _) = learner.descend(parts, loss, self.max_grad_norm, learning_rate)?;
        let names = ["policy_loss", "value_loss", "entropy", "grad_norm"];
        learner.metrics(&names, &[terms]).map(Some)
    }
}
