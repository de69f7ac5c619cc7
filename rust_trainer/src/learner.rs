//! What all algorithms share: the network, its optimizer, the random numbers, and acting.

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Device, Kind, Tensor, no_grad_guard};

use vec_env::ObsSpec;

use crate::{
    a2c,
    advantage::gae,
    error::TrainerError,
    nets::ActorCritic,
    optimizer::{Optimizer, clip_grad_norm},
    ppo,
    rollout::{Batch, Rollout},
    settings::{AlgorithmSettings, Settings},
};

/// Everything that learning changes, and so everything that a checkpoint keeps.
#[derive(Debug)]
pub struct Learner {
    /// Policy and value function.
    pub net: ActorCritic,
    /// Its optimizer.
    pub optimizer: Optimizer,
    /// Draws the actions and shuffles the minibatches. On the host and of our own, so that every device
    /// samples alike and a checkpoint can hold it.
    pub rng: Pcg64,
}

/// What the policy chose for a batch of observations.
#[derive(Debug)]
pub struct Actions {
    /// The actions, one for each environment.
    pub actions: Vec<i64>,
    /// Their log-probabilities.
    pub log_probs: Vec<f32>,
    /// The values of the observations.
    pub values: Vec<f32>,
}

/// Named scalars of an update.
#[derive(Debug, Default)]
pub struct Losses(Vec<(&'static str, f64)>);

impl Losses {
    /// The mean of each term over several gradient steps; one transfer from the device for all.
    pub(crate) fn mean_of(names: &[&'static str], terms: &[Tensor]) -> Self {
        let mean = Tensor::stack(terms, 0).mean_dim(0, false, Kind::Double);
        let values = to_vec::<f64>(&mean);
        Self(names.iter().copied().zip(values).collect())
    }

    pub(crate) fn push(&mut self, name: &'static str, value: f64) {
        self.0.push((name, value));
    }

    /// The scalars with their names.
    #[must_use]
    pub fn as_slice(&self) -> &[(&'static str, f64)] {
        &self.0
    }

    /// The first of those scalars that must be finite and is not.
    pub(crate) fn diverged(&self) -> Option<&'static str> {
        let is_bad =
            |&&(name, value): &&(&str, f64)| name != "explained_variance" && !value.is_finite();
        self.0.iter().find(is_bad).map(|&(name, _)| name)
    }
}

impl Learner {
    /// A fresh learner; the seed decides weights, actions and shuffling.
    ///
    /// # Errors
    /// As [`ActorCritic::new`].
    pub fn new(
        settings: &Settings,
        spec: &ObsSpec,
        num_actions: i64,
        device: Device,
    ) -> Result<Self, TrainerError> {
        // The stream number is arbitrary; it keeps this generator apart from others of the same seed.
        let mut rng = Pcg64::new(u128::from(settings.run.seed), 0x7472_6169_6e65_7200);
        let net = ActorCritic::new(
            spec,
            num_actions,
            device,
            settings.machine.precision,
            &mut rng,
        )?;
        let numel = net.params.numel();
        let optimizer = match &settings.algorithm {
            AlgorithmSettings::Ppo(ppo) => Optimizer::adam(numel, device, ppo.adam_eps),
            AlgorithmSettings::A2c(a2c) => {
                Optimizer::rms_prop(numel, device, a2c.rmsprop_alpha, a2c.rmsprop_eps)
            }
        };
        Ok(Self {
            net,
            optimizer,
            rng,
        })
    }

    /// Chooses actions for `obs`, `[num_envs, ...]`: drawn from the policy, or its most probable ones.
    pub fn act(&mut self, obs: &Tensor, greedy: bool) -> Actions {
        let _guard = no_grad_guard();
        let output = self.net.forward(obs);
        let log_probs = output.logits.log_softmax(-1, Kind::Float);
        let num_actions = log_probs.size()[1] as usize;
        let table = to_vec::<f32>(&Tensor::cat(&[log_probs, output.value.unsqueeze(1)], 1));
        let mut chosen = Actions {
            actions: Vec::new(),
            log_probs: Vec::new(),
            values: Vec::new(),
        };
        for row in table.chunks_exact(num_actions + 1) {
            let (log_probs, value) = (&row[..num_actions], row[num_actions]);
            let action = if greedy {
                argmax(log_probs)
            } else {
                sample(log_probs, self.rng.random())
            };
            chosen.actions.push(action as i64);
            chosen.log_probs.push(log_probs[action]);
            chosen.values.push(value);
        }
        chosen
    }

    /// The values of `obs`, `[num, ...]`.
    #[must_use]
    pub fn values(&self, obs: &Tensor) -> Vec<f32> {
        let _guard = no_grad_guard();
        to_vec(&self.net.forward(obs).value)
    }

    /// Learns from one rollout with the algorithm of `settings`.
    pub fn update(
        &mut self,
        obs: Tensor,
        rollout: &Rollout,
        settings: &Settings,
        learning_rate: f64,
    ) -> Losses {
        let gae_lambda = match &settings.algorithm {
            AlgorithmSettings::Ppo(ppo) => ppo.gae_lambda,
            AlgorithmSettings::A2c(a2c) => a2c.gae_lambda,
        };
        let advantages = gae(
            &rollout.rewards,
            &rollout.values,
            &rollout.dones,
            &rollout.last_values,
            settings.algorithm.gamma(),
            gae_lambda,
        );
        let batch = Batch::new(obs, rollout, &advantages);
        match &settings.algorithm {
            AlgorithmSettings::Ppo(ppo) => ppo::update(self, &batch, ppo, learning_rate),
            AlgorithmSettings::A2c(a2c) => a2c::update(self, &batch, a2c, learning_rate),
        }
    }

    /// One gradient step on `loss`; returns the gradient's norm before clipping.
    pub(crate) fn descend(
        &mut self,
        loss: &Tensor,
        max_grad_norm: f64,
        learning_rate: f64,
    ) -> Tensor {
        let mut gradient = self.net.params.gradient(loss);
        let norm = clip_grad_norm(&mut gradient, max_grad_norm);
        self.optimizer
            .step(self.net.params.flat_mut(), &gradient, learning_rate);
        norm
    }
}

fn to_vec<T: tch::kind::Element + Default + Clone>(tensor: &Tensor) -> Vec<T> {
    let numel = tensor.numel();
    let mut values = vec![T::default(); numel];
    tensor
        .to_device(Device::Cpu)
        .contiguous()
        .copy_data(&mut values, numel);
    values
}

fn argmax(log_probs: &[f32]) -> usize {
    let mut best = 0;
    for (action, log_prob) in log_probs.iter().enumerate() {
        if *log_prob > log_probs[best] {
            best = action;
        }
    }
    best
}

/// The action in whose share of [0, 1) the uniform number falls.
fn sample(log_probs: &[f32], uniform: f64) -> usize {
    let total: f64 = log_probs
        .iter()
        .map(|log_prob| f64::from(*log_prob).exp())
        .sum();
    let mut left = uniform * total;
    for (action, log_prob) in log_probs.iter().enumerate() {
        left -= f64::from(*log_prob).exp();
        if left < 0.0 {
            return action;
        }
    }
    log_probs.len() - 1
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::{argmax, sample};

    #[test]
    fn samples_follow_the_probabilities() {
        let probabilities = [0.1_f32, 0.0, 0.6, 0.3];
        let log_probs = probabilities.map(f32::ln);
        let mut rng = rand_pcg::Pcg64::seed_from_u64(1);
        let mut counts = [0.0; 4];
        for _ in 0..20_000 {
            counts[sample(&log_probs, rng.random())] += 1.0 / 20_000.0;
        }
        assert!(counts[1] <= 0.0);
        for (count, probability) in counts.iter().zip(probabilities) {
            assert!((count - f64::from(probability)).abs() < 0.015, "{counts:?}");
        }
    }

    #[test]
    fn the_ends_of_the_unit_interval_are_actions() {
        let log_probs = [0.25_f32, 0.75].map(f32::ln);
        assert_eq!(sample(&log_probs, 0.0), 0);
        assert_eq!(sample(&log_probs, 1.0 - f64::EPSILON), 1);
    }

    #[test]
    fn the_most_probable_action_wins() {
        assert_eq!(argmax(&[-2.0, -0.5, -3.0]), 1);
    }
}
