//! The running statistics of observations and rewards, in the state of an algorithm.

use vec_env::ObsSpec;

use super::State;
use crate::{
    error::TrainerError,
    normalize::{ObsNormalizer, RewardNormalizer},
};

/// Names of the statistics in a state.
pub(super) const NORM_OBS: &str = "norm_obs";
pub(super) const NORM_REWARD: &str = "norm_reward";

/// The statistics of observations in a state, for observations of `spec`.
pub(super) fn load_obs_normalizer(
    state: &State,
    spec: &ObsSpec,
) -> Result<ObsNormalizer, TrainerError> {
    let loaded: ObsNormalizer = state.value(NORM_OBS)?;
    if loaded.fits(spec) {
        return Ok(loaded);
    }
    let problem = format!("value `{NORM_OBS}`: is of other observations");
    Err(TrainerError::State(problem))
}

/// The statistics of rewards in a state, for `num_envs` environments of all ranks.
pub(super) fn load_reward_normalizer(
    state: &State,
    num_envs: usize,
) -> Result<RewardNormalizer, TrainerError> {
    let loaded: RewardNormalizer = state.value(NORM_REWARD)?;
    if loaded.fits(num_envs) {
        return Ok(loaded);
    }
    let problem = format!("value `{NORM_REWARD}`: is not of {num_envs} environments");
    Err(TrainerError::State(problem))
}
