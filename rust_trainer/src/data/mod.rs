//! What is learned from: observations, rollouts, advantages, and the scale they are brought to.

pub mod advantage;
pub mod normalize;
mod observations;
mod rollout;
mod truncation;

pub use observations::{Observations, obs_tensor};
pub use rollout::{Batch, Rollout, Samples};
pub use truncation::truncated_obs;
