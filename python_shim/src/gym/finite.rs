//! Refusing numbers that no learner can take in, before they are in its memory: a loss would show them later,
//! and not say where they come from.

use vec_env::{Dtype, EnvError, ObsSpec, StepBatch};

/// Refuses rewards and observations of environment `id` that are not finite.
///
/// # Errors
/// [`EnvError::Backend`], which names the environment and what it gave.
pub(super) fn check(
    id: &str,
    spec: &ObsSpec,
    obs: &[u8],
    batch: &StepBatch,
) -> Result<(), EnvError> {
    let env_of = |row: usize| batch.env_ids.get(row).copied().unwrap_or(row);
    for rewards in [&batch.raw_reward, &batch.reward] {
        if let Some(place) = rewards.iter().position(|reward| !reward.is_finite()) {
            let players = rewards.len() / batch.env_ids.len().max(1);
            let env = env_of(place / players.max(1));
            let reward = rewards[place];
            return Err(refusal(id, env, &format!("gave the reward {reward}")));
        }
    }
    if spec.dtype != Dtype::Float32 {
        return Ok(());
    }
    let rows = obs.chunks_exact(spec.num_bytes().max(1)).enumerate();
    let last = batch.final_obs.iter();
    for (row, bytes) in rows.chain(last.map(|(row, bytes)| (*row, bytes.as_slice()))) {
        let (floats, _) = bytes.as_chunks();
        let mut floats = floats.iter().map(|bytes| f32::from_ne_bytes(*bytes));
        if floats.clone().all(f32::is_finite) {
            continue;
        }
        if let Some(place) = floats.position(|float| !float.is_finite()) {
            let shown = f32::from_ne_bytes(bytes.as_chunks().0[place]);
            let what = format!(
                "showed {shown} at place {place} of an observation of shape {:?}",
                spec.shape
            );
            return Err(refusal(id, env_of(row), &what));
        }
    }
    Ok(())
}

fn refusal(id: &str, env: usize, what: &str) -> EnvError {
    EnvError::Backend {
        message: format!(
            "environment {env} of `{id}` {what}: nothing can be learned from numbers that are not finite; \
             mend the environment, or wrap it"
        ),
        details: None,
        is_usage: false,
    }
}
