//! What is learned from: observations, rollouts, replay, advantages, and the scale they are brought to.

pub mod advantage;
pub mod normalize;
mod observations;
mod priorities;
mod replay;
mod rollout;
mod samples;
mod truncation;

pub use observations::{Observations, obs_tensor};
pub use priorities::Priorities;
pub use replay::{Replay, Transitions};
pub use rollout::Rollout;
pub use samples::{Batch, Samples};
pub(crate) use samples::{explained_variance, moments};
pub use truncation::truncated_obs;
