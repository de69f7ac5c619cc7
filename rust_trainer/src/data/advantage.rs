//! Generalized advantage estimation.

/// Advantages of a rollout (Schulman et al. 2016, eq. 16), float32 `[num_steps · num_envs]`, step-major.
///
/// `A_t = δ_t + γλ(1 − d_t)A_{t+1}` with `δ_t = r_t + γ(1 − d_t)V(s_{t+1}) − V(s_t)`, where `d_t` is 1 if the
/// episode ended in step t. An episode that a time limit cut must come with `γV(final observation)`
/// already added to its last reward.
///
/// `rewards`, `values` and `dones` are `[num_steps · num_envs]`, `last_values` `[num_envs]` the values of
/// the observations after the last step.
///
/// # Panics
/// If the lengths do not fit together.
#[must_use]
pub fn gae(
    rewards: &[f32],
    values: &[f32],
    dones: &[bool],
    last_values: &[f32],
    gamma: f64,
    lambda: f64,
) -> Vec<f32> {
    let num_envs = last_values.len();
    assert!(
        rewards.len() == values.len()
            && values.len() == dones.len()
            && rewards.len().is_multiple_of(num_envs)
    );
    let mut advantages = vec![0.0; rewards.len()];
    for (env, last_value) in last_values.iter().enumerate() {
        let mut next_value = f64::from(*last_value);
        let mut next_advantage = 0.0;
        for index in (env..rewards.len()).step_by(num_envs).rev() {
            let goes_on = if dones[index] { 0.0 } else { 1.0 };
            let value = f64::from(values[index]);
            let delta = f64::from(rewards[index]) + gamma * goes_on * next_value - value;
            next_advantage = delta + gamma * lambda * goes_on * next_advantage;
            next_value = value;
            advantages[index] = next_advantage as f32;
        }
    }
    advantages
}

#[cfg(test)]
mod tests {
    use super::gae;

    #[test]
    fn advantages_are_those_of_small_cases_by_hand() {
        let one_step_episodes = gae(&[1.0, 2.0], &[0.5, 0.25], &[true; 2], &[9.0], 0.9, 0.95);
        assert_eq!(one_step_episodes, [0.5, 1.75]);
        // With λ = 1 it is the discounted return minus the value.
        let discounted = gae(&[1.0; 3], &[0.0, 0.5, 0.0], &[false; 3], &[8.0], 0.5, 1.0);
        assert_eq!(discounted, [1.75 + 1.0, 1.5 + 2.0 - 0.5, 1.0 + 4.0]);
        let ends = [false, true, false, false];
        let of_two_envs = gae(&[1.0, 0.0, 0.0, 5.0], &[0.0; 4], &ends, &[0.0; 2], 0.5, 1.0);
        assert_eq!(of_two_envs, [1.0, 0.0, 0.0, 5.0]);
    }
}
