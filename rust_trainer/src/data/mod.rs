//! What is learned from: observations, rollouts, advantages.

pub mod advantage;
mod observations;
mod rollout;
mod truncation;

pub use observations::{Observations, obs_tensor};
pub use rollout::{Rollout, Samples};
pub use truncation::truncated_obs;
