//! What happened in a run of ours, for the peer to do again.

use std::path::Path;

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rust_trainer::algorithms::State;
use tch::Tensor;
use toml::Table;

use super::{
    support::is_weight,
    updates::{BATCH, NUM_ACTIONS, NUM_ENVS},
};

/// Everything that happened, step by step, and what was drawn for each gradient step.
#[derive(Default)]
pub struct Record {
    pub obs: Vec<u8>,
    pub actions: Vec<i64>,
    pub rewards: Vec<f32>,
    pub terminated: Vec<bool>,
    pub truncated: Vec<bool>,
    pub last_obs: Vec<u8>,
    pub drawn: Vec<f64>,
    pub noise: Vec<f32>,
    /// Of implicit quantiles, in the order of their use.
    pub fractions: Vec<f32>,
    /// The random action of each environment, or -1 for the best.
    pub random_actions: Vec<i64>,
    pub act_noise: Vec<f32>,
    pub act_fractions: Vec<f32>,
}

impl Record {
    /// What the choice of actions draws: noise for the network and fractions, then an action where epsilon says so.
    pub fn foretell_actions(&mut self, of_use: &Drawn, epsilon: f64, rng: &mut Pcg64) {
        let noise = StandardNormal.sample_iter(&mut *rng).take(of_use.noise);
        self.act_noise.extend::<Vec<f32>>(noise.collect());
        let fractions = of_use.fractions[0] * NUM_ENVS;
        self.act_fractions
            .extend((0..fractions).map(|_| rng.random::<f32>()));
        for _ in 0..NUM_ENVS {
            let is_random = epsilon > 0.0 && rng.random::<f64>() < epsilon;
            let random = is_random.then(|| rng.random_range(0..NUM_ACTIONS as usize) as i64);
            self.random_actions.push(random.unwrap_or(-1));
        }
    }

    pub fn save(&self, obs_shape: [usize; 3], start: &State, path: &Path) {
        let envs = NUM_ENVS as i64;
        let steps = self.actions.len() as i64 / envs;
        let [channels, height, width] = obs_shape.map(|length| length as i64);
        let pictures =
            |bytes: &[u8]| Tensor::from_slice(bytes).view([-1, envs, channels, height, width]);
        let rows = |tensor: Tensor| tensor.view([-1, envs]);
        let drawn = Tensor::from_slice(&self.drawn).view([-1, BATCH as i64]);
        let by_row = |numbers: &[f32], rows: i64| {
            Tensor::from_slice(numbers).reshape([rows, numbers.len() as i64 / rows])
        };
        let noise = by_row(&self.noise, 2 * drawn.size()[0]);
        let noise = noise.reshape([drawn.size()[0], 2, noise.size()[1]]);
        let mut tensors = vec![
            ("obs".to_owned(), pictures(&self.obs)),
            (
                "actions".to_owned(),
                rows(Tensor::from_slice(&self.actions)),
            ),
            (
                "rewards".to_owned(),
                rows(Tensor::from_slice(&self.rewards)),
            ),
            (
                "terminated".to_owned(),
                rows(Tensor::from_slice(&self.terminated)),
            ),
            (
                "truncated".to_owned(),
                rows(Tensor::from_slice(&self.truncated)),
            ),
            ("last_obs".to_owned(), pictures(&self.last_obs)),
            (
                "random_actions".to_owned(),
                rows(Tensor::from_slice(&self.random_actions)),
            ),
            ("act_noise".to_owned(), by_row(&self.act_noise, steps)),
            (
                "act_fractions".to_owned(),
                by_row(&self.act_fractions, steps),
            ),
            (
                "fractions".to_owned(),
                by_row(&self.fractions, drawn.size()[0]),
            ),
            ("drawn".to_owned(), drawn),
            ("noise".to_owned(), noise),
        ];
        for (name, tensor) in start.tensors.iter().filter(|(name, _)| is_weight(name)) {
            tensors.push((format!("start.{name}"), tensor.shallow_clone()));
        }
        Tensor::write_safetensors(&tensors, path).unwrap();
    }
}

/// How much is drawn for one use of the network.
pub struct Drawn {
    pub noise: usize,
    /// For a row: of action values, of a target, of what learns.
    pub fractions: [usize; 3],
}

impl Drawn {
    pub fn of_use(settings: &Table, start: &State) -> Self {
        let sigmas = start
            .tensors
            .iter()
            .filter(|(name, _)| !name.starts_with("target.") && name.ends_with("weight_sigma"));
        let is_implicit = settings["distributional"].as_str() == Some("iqn");
        let counts = [
            "num_quantile_samples",
            "num_tau_prime_samples",
            "num_tau_samples",
        ];
        Self {
            noise: sigmas
                .map(|(_, sigma)| sigma.size().iter().sum::<i64>() as usize)
                .sum(),
            fractions: counts.map(|name| match settings.get(name) {
                Some(count) if is_implicit => count.as_integer().unwrap() as usize,
                _ => 0,
            }),
        }
    }
}
