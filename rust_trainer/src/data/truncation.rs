//! Episodes that a time limit cut: what every algorithm bootstraps from.

use vec_env::StepBatch;

use crate::error::TrainerError;

/// The rows of episodes that `step` cut off: see [`truncated_obs`].
pub(super) fn truncated_rows(step: &StepBatch) -> impl Iterator<Item = usize> {
    let rows = 0..step.truncated.len();
    rows.filter(|&row| step.truncated[row] && !step.terminated[row])
}

/// The true last observation of each episode that `step` cut off, as `(row, bytes)`.
///
/// Such an episode goes on behind the limit: the value of this observation stands for what was cut off
/// (Pardo et al. 2018, "Time limits in reinforcement learning", eq. 6). The row's next observation does
/// not, for it is the next episode's first. An episode that also terminated has nothing behind it.
///
/// # Errors
/// [`TrainerError::NoFinalObs`] where the environment does not show it; nothing else can stand in for it.
pub fn truncated_obs(step: &StepBatch) -> Result<Vec<(usize, &[u8])>, TrainerError> {
    truncated_rows(step)
        .map(|row| {
            let mut shown = step.final_obs.iter();
            let last = shown.find(|(of_row, _)| *of_row == row);
            let (_, bytes) = last.ok_or(TrainerError::NoFinalObs(row))?;
            Ok((row, bytes.as_slice()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_needs_its_last_observation_and_nothing_else_does() {
        let mut step = StepBatch::default();
        step.clear(4, 1);
        step.terminated = vec![false, true, true, false];
        step.truncated = vec![false, false, true, true];
        let message = truncated_obs(&step).unwrap_err().to_string();
        assert!(message.contains("environment 3"), "{message}");
        step.final_obs = vec![(1, vec![1]), (3, vec![3]), (2, vec![2])];
        assert_eq!(truncated_obs(&step).unwrap(), [(3, [3].as_slice())]);
    }
}
