//! The fractions at which implicit quantiles are asked for (IQN: Dabney et al. 2018, "Implicit quantile networks").

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Device, Tensor};

use crate::{nn::Returns, ranks::Ranks, settings::DqnSettings};

/// What a gradient step draws of them, float32 `[batch, quantiles]` each.
#[derive(Debug)]
pub struct Fractions {
    /// Of the values by which an action is chosen for the target.
    pub judged: Tensor,
    /// Of the target.
    pub target: Tensor,
    /// Of the values that learn.
    pub learned: Tensor,
}

/// Those of the action values in each of the `rows` of this rank, float32 `[rows, quantiles]`; none where quantiles are
/// not implicit.
pub fn of_actions(returns: Returns, rows: usize, ranks: &Ranks, rng: &mut Pcg64) -> Option<Tensor> {
    let Returns::Implicit { samples, .. } = returns else {
        return None;
    };
    let skip = |rng: &mut Pcg64| drop(uniform(1, samples, rng));
    let draw = |rng: &mut Pcg64| uniform(rows, samples, rng);
    Some(ranks.draw(rng, rows, skip, draw))
}

/// Drawn row by row, uniform in [0, 1).
fn uniform(rows: usize, quantiles: i64, rng: &mut Pcg64) -> Tensor {
    let count = rows * quantiles as usize;
    let drawn: Vec<f32> = (0..count).map(|_| rng.random()).collect();
    Tensor::from_slice(&drawn).view([-1, quantiles])
}

impl Fractions {
    /// Those of a whole batch; none where quantiles are not implicit.
    pub fn of_batch(returns: Returns, settings: &DqnSettings, rng: &mut Pcg64) -> Option<Self> {
        let Returns::Implicit { samples, .. } = returns else {
            return None;
        };
        let mut some = |quantiles| uniform(settings.batch_size, quantiles, rng);
        Some(Self {
            judged: some(samples),
            target: some(settings.num_tau_prime_samples),
            learned: some(settings.num_tau_samples),
        })
    }

    /// Those of some transitions, by their places in the batch.
    pub fn of_places(&self, places: &[usize], device: Device) -> Self {
        let places: Vec<i64> = places.iter().map(|&place| place as i64).collect();
        let places = Tensor::from_slice(&places);
        let chosen = |all: &Tensor| all.index_select(0, &places).to_device(device);
        Self {
            judged: chosen(&self.judged),
            target: chosen(&self.target),
            learned: chosen(&self.learned),
        }
    }
}
