//! Observations and rewards on a common scale, by statistics of all that has been seen.
//!
//! As Gymnasium's `NormalizeObservation` and `NormalizeReward`, behind which `CleanRL` and Baselines clip
//! to ±10: observations have their mean subtracted and are divided by their standard deviation, number by
//! number; rewards are divided by the standard deviation of the discounted return. All environments share the statistics, as
//! in Gymnasium's vector wrappers. What differs: last observations of episodes are not in the statistics, as they are in
//! those of Gymnasium's single environments; a time limit ends a return, as in its vector wrapper, where its single
//! environments' goes on into the next episode; and where episodes restart in the next step, the return of that step, 0, is
//! in them. Only learning updates the statistics: whoever just plays takes them as they are.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};
use vec_env::{Dtype, ObsSpec, StepBatch};

use crate::{error::TrainerError, tensors::to_vec};

/// What normalized numbers are clipped to.
const LIMIT: f64 = 10.0;
/// Added to the variance before its root is taken.
const EPSILON: f64 = 1e-8;

/// Mean and variance of rows of numbers that come in batches, each number of a row by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningMoments {
    mean: Vec<f64>,
    /// Of the population.
    variance: Vec<f64>,
    /// Rows seen.
    count: f64,
}

impl RunningMoments {
    /// Of rows of `width` numbers: mean 0 and variance 1, which count as a ten-thousandth of a row.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self {
            mean: vec![0.0; width],
            variance: vec![1.0; width],
            count: 1e-4,
        }
    }

    /// Takes rows, C order (Chan, Golub and `LeVeque` 1979, "Updating formulae and a pairwise algorithm for
    /// computing sample variances", eq. 2.1).
    pub fn update(&mut self, rows: &[f64]) {
        if rows.is_empty() {
            return;
        }
        let width = self.mean.len();
        let added = (rows.len() / width) as f64;
        let total = self.count + added;
        for (place, (mean, variance)) in self.mean.iter_mut().zip(&mut self.variance).enumerate() {
            let column = || rows.iter().skip(place).step_by(width);
            let new_mean = column().sum::<f64>() / added;
            let new_squares: f64 = column().map(|value| (value - new_mean).powi(2)).sum();
            let delta = new_mean - *mean;
            let squares =
                *variance * self.count + new_squares + delta.powi(2) * self.count * added / total;
            *mean += delta * added / total;
            *variance = squares / total;
        }
        self.count = total;
    }

    fn deviation(&self, place: usize) -> f64 {
        (self.variance[place] + EPSILON).sqrt()
    }
}

/// Brings flat observations to mean 0 and deviation 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObsNormalizer(RunningMoments);

impl ObsNormalizer {
    /// The setting that asks for it, and its name in a state.
    pub const NAME: &str = "norm_obs";

    /// For observations of `spec`; nothing seen yet.
    ///
    /// # Errors
    /// [`TrainerError::Setting`] for images and other bytes: the network scales those, and there is no room
    /// in them for other numbers.
    pub fn new(spec: &ObsSpec) -> Result<Self, TrainerError> {
        match (spec.dtype, spec.shape.as_slice()) {
            (Dtype::Float32, &[width]) => Ok(Self(RunningMoments::new(width))),
            (dtype, shape) => Err(TrainerError::setting(
                Self::NAME,
                true,
                format!(
                    "needs flat observations of float32; these are of type {dtype:?} and shape {shape:?}, which networks scale by themselves"
                ),
            )),
        }
    }

    /// One that was saved, of observations of `spec`.
    pub fn load(saved: Self, spec: &ObsSpec) -> Result<Self, TrainerError> {
        let Self(RunningMoments { mean, variance, .. }) = &saved;
        if spec.shape == [mean.len()] && variance.len() == mean.len() {
            return Ok(saved);
        }
        let problem = format!("value `{}`: is of other observations", Self::NAME);
        Err(TrainerError::State(problem))
    }

    /// Takes several observations into the statistics, float32 as bytes.
    pub fn update(&mut self, obs: &[u8]) {
        let numbers = obs.as_chunks().0.iter();
        let numbers = numbers.map(|bytes| f64::from(f32::from_ne_bytes(*bytes)));
        self.0.update(&numbers.collect::<Vec<_>>());
    }

    /// Normalizes several observations in place, float32 as bytes.
    pub fn apply(&self, obs: &mut [u8]) {
        let places = (0..self.0.mean.len()).cycle();
        for (bytes, place) in obs.as_chunks_mut().0.iter_mut().zip(places) {
            *bytes = self.scaled(f32::from_ne_bytes(*bytes), place).to_ne_bytes();
        }
    }

    /// Observations `[batch, width]` normalized, wherever they lie.
    pub fn normalized(&self, obs: &Tensor) -> Tensor {
        let places = (0..self.0.mean.len()).cycle();
        let numbers = to_vec::<f32>(&obs.to_kind(Kind::Float))
            .into_iter()
            .zip(places);
        let scaled = numbers.map(|(number, place)| self.scaled(number, place));
        let scaled = Tensor::from_slice(&scaled.collect::<Vec<f32>>());
        scaled.view_as(obs).to_device(obs.device())
    }

    fn scaled(&self, number: f32, place: usize) -> f32 {
        let Self(moments) = self;
        let scaled = (f64::from(number) - moments.mean[place]) / moments.deviation(place);
        scaled.clamp(-LIMIT, LIMIT) as f32
    }
}

/// Divides rewards by the standard deviation of the discounted return.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RewardNormalizer {
    moments: RunningMoments,
    /// Discounted sum of each environment's rewards in its episode so far.
    returns: Vec<f64>,
}

impl RewardNormalizer {
    /// The setting that asks for it, and its name in a state.
    pub const NAME: &str = "norm_reward";

    /// For `num_envs` environments; nothing seen yet.
    #[must_use]
    pub fn new(num_envs: usize) -> Self {
        Self {
            moments: RunningMoments::new(1),
            returns: vec![0.0; num_envs],
        }
    }

    /// One that was saved, of `num_envs` environments.
    pub fn load(saved: Self, num_envs: usize) -> Result<Self, TrainerError> {
        let widths = [saved.moments.mean.len(), saved.moments.variance.len()];
        if saved.returns.len() == num_envs && widths == [1, 1] {
            return Ok(saved);
        }
        let problem = format!("value `{}`: is not of {num_envs} environments", Self::NAME);
        Err(TrainerError::State(problem))
    }

    /// Forgets the episodes in progress: the environments start new ones.
    pub fn restart(&mut self) {
        self.returns.fill(0.0);
    }

    /// Takes the rewards of a step, `[num_envs]`, into the statistics and returns them scaled.
    ///
    /// In a step that terminates, what came before counts for nothing in the return: so Gymnasium has it. Rows of agents
    /// who took no part are left out of the statistics.
    pub fn normalize(&mut self, step: &StepBatch, gamma: f64) -> Vec<f32> {
        for (row, sum) in self.returns.iter_mut().enumerate() {
            let goes_on = if step.terminated[row] { 0.0 } else { 1.0 };
            *sum = *sum * gamma * goes_on + f64::from(step.reward[row]);
        }
        let rows = 0..self.returns.len();
        let rows = rows.filter(|row| !step.is_absent(*row));
        let returns: Vec<f64> = rows.map(|row| self.returns[row]).collect();
        self.moments.update(&returns);
        for (row, sum) in self.returns.iter_mut().enumerate() {
            if step.is_done(row) {
                *sum = 0.0;
            }
        }
        let deviation = self.moments.deviation(0);
        let scaled = step.reward.iter().map(|reward| {
            let scaled = f64::from(*reward) / deviation;
            scaled.clamp(-LIMIT, LIMIT) as f32
        });
        scaled.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_any_size_give_the_moments_of_all_rows() {
        let rows: Vec<f64> = (0..60).map(|i| f64::from(i * i % 37) - 9.0).collect();
        let mut parts = RunningMoments::new(2);
        for part in [&rows[..2], &rows[2..20], &rows[20..]] {
            parts.update(part);
        }
        for place in 0..2 {
            let column: Vec<f64> = rows.iter().skip(place).step_by(2).copied().collect();
            let mean = column.iter().sum::<f64>() / 30.0;
            let squares: f64 = column.iter().map(|x| (x - mean).powi(2)).sum();
            assert!((parts.mean[place] - mean).abs() < 1e-4 * mean.abs().max(1.0));
            assert!((parts.variance[place] / (squares / 30.0) - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn images_are_refused() {
        for (shape, dtype) in [(vec![4, 84, 84], Dtype::Uint8), (vec![128], Dtype::Uint8)] {
            let message = ObsNormalizer::new(&ObsSpec { shape, dtype })
                .unwrap_err()
                .to_string();
            assert!(
                message.contains("norm_obs") && message.contains("Uint8"),
                "{message}"
            );
        }
    }
}
