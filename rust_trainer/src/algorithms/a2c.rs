//! Advantage actor-critic, the synchronous form of A3C (Mnih et al. 2016), as in Baselines: a single gradient step
//! on each rollout.

use tch::{Device, Kind, Tensor};

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
    settings::A2cSettings,
};

impl OnPolicy for A2cSettings {
    type Net = PolicyValueNet;

    const TERMS: &'static [&'static str] = &["policy_loss", "value_loss", "entropy"];

    fn common(&self) -> UpdateSettings {
        UpdateSettings {
            num_steps: self.num_steps,
            gamma: self.gamma,
            lambda: self.gae_lambda,
            learning_rate: self.learning_rate,
            anneal_lr: self.anneal_lr,
            norm_reward: self.norm_reward,
            epochs: 1,
            minibatches: 1,
            is_shuffled: false,
            norm_adv: self.norm_adv,
            max_grad_norm: self.max_grad_norm,
        }
    }

    fn net(&self, blueprint: &mut Blueprint<'_>) -> Result<PolicyValueNet, TrainerError> {
        blueprint.policy_value_net(self.lstm_size, self.norm_obs)
    }

    fn optimizer(&self, num_params: i64, device: Device) -> Optimizer {
        Optimizer::rms_prop(num_params, device, self.rmsprop_alpha, self.rmsprop_eps)
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

/// The loss of samples under the network's present `output`; its terms are `−E[log π(a|s) · A]`, the mean squared
/// error of the value against the n-step return, and the mean entropy of the policy in nats.
#[must_use]
pub fn loss(output: &Output, samples: &Samples, settings: &A2cSettings) -> Loss {
    let log_probs = output.policy.log_prob(&samples.actions);
    let policy_loss = -(log_probs * &samples.advantages).mean(Kind::Float);
    let squared_error = (&output.value - &samples.returns).square();
    let value_loss = squared_error.mean(Kind::Float);
    let entropy = output.policy.entropy().mean(Kind::Float);
    Loss {
        total: &policy_loss + &value_loss * settings.vf_coef - &entropy * settings.ent_coef,
        terms: vec![policy_loss, value_loss, entropy],
        more: (),
    }
}
