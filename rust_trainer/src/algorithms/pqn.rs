//! Parallelized Q-network (Gallici et al. 2024, "Simplifying Deep Temporal Difference Learning"): Q-learning
//! without a replay memory and without a target network. Many environments in parallel take the place of
//! the one, layer normalization that of the other.
//!
//! A rollout of ε-greedy steps is learned from in a few epochs of minibatches, and forgotten. The targets
//! are the λ-returns of Peng's Q(λ) (Peng & Williams 1994):
//! `G_t = r_t + γ(1 − d_t)((1 − λ) max Q(s_{t+1}) + λ G_{t+1})`, with `d_t` 1 where the episode ended;
//! which is to say `max Q(s_t)` and the generalized advantage over it.

use rand_pcg::Pcg64;
use tch::{Device, Kind, Tensor};

use super::{
    learner::{Learner, Loss},
    nets::Blueprint,
    on_policy::{OnPolicy, Turn},
    schedule::{self, UpdateSettings, Updates},
};
use crate::{
    data::{Batch, Samples},
    error::TrainerError,
    nn::{Memory, Network, QStyle},
    optimizer::Optimizer,
    policy::{Choice, EpsilonGreedy, epsilon_greedy, epsilon_greedy_recorded, skip_epsilon_greedy},
    settings::PqnSettings,
    tensors::to_vec,
};

impl PqnSettings {
    /// What these settings decide of the network.
    #[must_use]
    pub fn style(&self) -> QStyle {
        QStyle {
            layer_norm: self.layer_norm,
            ..QStyle::default()
        }
    }

    /// ε in the rollout behind so many `updates`.
    fn epsilon_after(&self, updates: Updates) -> f64 {
        let falling = self.exploration_fraction * updates.total as f64;
        schedule::linear(self.start_e, self.end_e, updates.done as f64, falling)
    }
}

impl OnPolicy for PqnSettings {
    type Net = EpsilonGreedy;

    const TERMS: &'static [&'static str] = &["q_loss", "q_value"];

    fn common(&self) -> UpdateSettings {
        UpdateSettings {
            num_steps: self.num_steps,
            gamma: self.gamma,
            lambda: self.q_lambda,
            learning_rate: self.learning_rate,
            anneal_lr: self.anneal_lr,
            norm_reward: false,
            epochs: self.update_epochs,
            minibatches: self.num_minibatches,
            is_shuffled: true,
            norm_adv: false,
            max_grad_norm: self.max_grad_norm,
        }
    }

    fn net(&self, blueprint: &mut Blueprint<'_>) -> Result<EpsilonGreedy, TrainerError> {
        Ok(EpsilonGreedy {
            net: blueprint.q_net(self.style())?,
            epsilon: self.end_e,
        })
    }

    fn optimizer(&self, num_params: i64, device: Device) -> Optimizer {
        Optimizer::radam(num_params, device)
    }

    fn choose(&self, learner: &mut Learner<EpsilonGreedy>, turn: Turn<'_>) -> Choice {
        let (obs, epsilon) = (turn.obs, self.epsilon_after(turn.updates));
        let Learner {
            net: EpsilonGreedy { net, .. },
            rng,
            ranks,
            threads,
            acting,
            ..
        } = learner;
        let skip = |rng: &mut Pcg64| skip_epsilon_greedy(net.num_actions() as usize, epsilon, rng);
        let draw = |rng: &mut Pcg64| {
            if let Some(recording) = acting {
                return epsilon_greedy_recorded(recording, net, obs, epsilon, rng);
            }
            let q_values = net.forward_in_parts(obs, *threads, |net, obs| net.values(obs));
            epsilon_greedy(&q_values, epsilon, rng)
        };
        ranks.draw(rng, obs.size()[0] as usize, skip, draw)
    }

    /// The greatest action value of each observation.
    fn values(&self, learner: &Learner<EpsilonGreedy>, obs: &Tensor, _memory: &Memory) -> Vec<f32> {
        let q_values = learner
            .net
            .net
            .forward_in_parts(obs, learner.threads, |net, obs| net.values(obs));
        to_vec(&q_values.amax([1], false))
    }

    /// Half the mean squared error of the values of the actions taken; their mean is reported beside it.
    fn loss(&self, net: &EpsilonGreedy, batch: &Batch, samples: &Samples) -> Loss {
        let q_values = net.net.values(&batch.obs);
        let taken = q_values.gather(1, &samples.actions.unsqueeze(1), false);
        let taken = taken.squeeze_dim(1);
        let error = &taken - &samples.returns;
        let loss = error.square().mean(Kind::Float) * 0.5;
        Loss {
            terms: vec![loss.shallow_clone(), taken.mean(Kind::Float)],
            total: loss,
            more: (),
        }
    }

    fn epsilon(&self, updates: Updates) -> Option<f64> {
        Some(self.epsilon_after(updates))
    }
}
