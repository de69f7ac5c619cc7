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
    fn one_step_episodes_have_the_plain_error() {
        let advantages = gae(&[1.0, 2.0], &[0.5, 0.25], &[true, true], &[9.0], 0.9, 0.95);
        assert_eq!(advantages, [0.5, 1.75]);
    }

    #[test]
    fn lambda_one_is_the_discounted_return_minus_the_value() {
        let advantages = gae(
            &[1.0, 1.0, 1.0],
            &[0.0, 0.5, 0.0],
            &[false, false, false],
            &[8.0],
            0.5,
            1.0,
        );
        assert_eq!(
            advantages,
            [1.0 + 0.5 + 0.25 + 1.0, 1.0 + 0.5 + 2.0 - 0.5, 1.0 + 4.0]
        );
    }

    #[test]
    fn environments_do_not_mix() {
        let advantages = gae(
            &[1.0, 0.0, 0.0, 5.0],
            &[0.0; 4],
            &[false, true, false, false],
            &[0.0, 0.0],
            0.5,
            1.0,
        );
        assert_eq!(advantages, [1.0, 0.0, 0.0, 5.0]);
    }
}
