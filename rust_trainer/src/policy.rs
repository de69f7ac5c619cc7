//! Policies: what is done about an observation, apart from the network that says so.

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Device, Kind, Tensor, no_grad_guard};
use vec_env::ActionBatch;

use crate::nn::PolicyValueNet;

/// Something that plays.
pub trait Policy {
    /// Where the network runs, and where it wants observations.
    fn device(&self) -> Device;

    /// Chooses actions for `obs`, `[num_envs, ...]` in the environment's own type: drawn by `rng`, or
    /// with `greedy` the best.
    fn act(&self, obs: &Tensor, rng: &mut Pcg64, greedy: bool) -> ActionBatch;
}

impl Policy for PolicyValueNet {
    fn device(&self) -> Device {
        self.params.device()
    }

    fn act(&self, obs: &Tensor, rng: &mut Pcg64, greedy: bool) -> ActionBatch {
        ActionBatch::Discrete(choose(self, obs, rng, greedy).actions)
    }
}

/// The generator of a seed.
#[must_use]
pub fn seeded_rng(seed: u64) -> Pcg64 {
    // The stream's number is arbitrary; it keeps this generator apart from others of the same seed.
    Pcg64::new(u128::from(seed), 0x7472_6169_6e65_7200)
}

/// Actions of a policy, and what the network thought of them; one each for every environment.
#[derive(Debug, Default)]
pub struct Choice {
    /// The actions.
    pub actions: Vec<i64>,
    /// Their log-probabilities.
    pub log_probs: Vec<f32>,
    /// The values of the observations.
    pub values: Vec<f32>,
}

/// Chooses actions for `obs` as [`Policy::act`]; one transfer from the device for all numbers.
pub fn choose(net: &PolicyValueNet, obs: &Tensor, rng: &mut Pcg64, greedy: bool) -> Choice {
    let _guard = no_grad_guard();
    let output = net.forward(obs);
    let log_probs = Categorical::new(&output.logits).log_probs;
    let num_actions = log_probs.size()[1] as usize;
    let table = to_vec::<f32>(&Tensor::cat(&[log_probs, output.value.unsqueeze(1)], 1));
    let mut choice = Choice::default();
    for row in table.chunks_exact(num_actions + 1) {
        let (log_probs, value) = (&row[..num_actions], row[num_actions]);
        let action = if greedy {
            most_probable(log_probs)
        } else {
            sample(log_probs, rng.random())
        };
        choice.actions.push(action as i64);
        choice.log_probs.push(log_probs[action]);
        choice.values.push(value);
    }
    choice
}

/// The values of `obs`, `[batch, ...]`.
#[must_use]
pub fn values(net: &PolicyValueNet, obs: &Tensor) -> Vec<f32> {
    let _guard = no_grad_guard();
    to_vec(&net.forward(obs).value)
}

/// A distribution over the actions `0..num_actions` for each of a batch of observations.
#[derive(Debug)]
pub struct Categorical {
    /// log π(action | observation), float32 `[batch, num_actions]`.
    log_probs: Tensor,
}

impl Categorical {
    /// From unnormalized log-probabilities, `[batch, num_actions]`.
    #[must_use]
    pub fn new(logits: &Tensor) -> Self {
        Self {
            log_probs: logits.log_softmax(-1, Kind::Float),
        }
    }

    /// Log-probabilities of `actions`, int64 `[batch]` → float32 `[batch]`.
    pub fn log_prob(&self, actions: &Tensor) -> Tensor {
        let chosen = self.log_probs.gather(1, &actions.unsqueeze(1), false);
        chosen.squeeze_dim(1)
    }

    /// Entropies in nats, float32 `[batch]`.
    pub fn entropy(&self) -> Tensor {
        -(self.log_probs.exp() * &self.log_probs).sum_dim_intlist(-1, false, Kind::Float)
    }
}

/// The numbers of a tensor on any device.
pub(crate) fn to_vec<T: tch::kind::Element + Default + Clone>(tensor: &Tensor) -> Vec<T> {
    let numel = tensor.numel();
    let mut values = vec![T::default(); numel];
    let tensor = tensor.to_device(Device::Cpu).contiguous();
    tensor.copy_data(&mut values, numel);
    values
}

fn most_probable(log_probs: &[f32]) -> usize {
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

    use super::{most_probable, sample};

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
        assert_eq!(most_probable(&[-2.0, -0.5, -3.0]), 1);
    }
}
