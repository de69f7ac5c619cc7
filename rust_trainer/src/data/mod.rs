//! What is learned from: observations, rollouts, replay, advantages.

pub mod advantage;
mod observations;
mod priorities;
mod replay;
mod rollout;
mod samples;
mod truncation;

pub(crate) use observations::{Observations, rows_on_host};
pub(crate) use priorities::Priorities;
pub(crate) use replay::unfit;
pub use replay::{Entries, Replay, ReplayState, Transitions};
pub use rollout::Rollout;
pub use samples::{Batch, Samples};
pub(crate) use samples::{explained_variance, moments};
pub use truncation::truncated_obs;
