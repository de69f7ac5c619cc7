//! Drawing continuous actions.

use rand_distr::{Distribution as _, StandardNormal};
use rand_pcg::Pcg64;

/// ln √(2π)
pub(super) const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_7;

/// Draws one action by its means and the logarithms of its deviations, or takes the means, and adds it to
/// `actions`; returns its log-density.
pub(crate) fn draw(numbers: &[f32], rng: &mut Pcg64, greedy: bool, actions: &mut Vec<f32>) -> f32 {
    let (means, log_stds) = numbers.split_at(numbers.len() / 2);
    let mut log_prob = 0.0;
    for (mean, log_std) in means.iter().zip(log_stds) {
        let (mean, log_std) = (f64::from(*mean), f64::from(*log_std));
        let action = if greedy {
            mean as f32
        } else {
            let normal: f64 = StandardNormal.sample(rng);
            (mean + normal * log_std.exp()) as f32
        };
        // Of the action as it is kept: its 24 bits are what learning will see.
        let z = (f64::from(action) - mean) * (-log_std).exp();
        log_prob -= 0.5 * z * z + log_std + LN_SQRT_2PI;
        actions.push(action);
    }
    log_prob as f32
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use tch::{Device, Kind, Tensor};

    use super::*;
    use crate::distributions::Distribution::DiagonalGaussian;

    #[test]
    fn draws_have_their_means_and_deviations_and_the_density_that_learning_gives_them() {
        let numbers = [1.0_f32, -2.0, 0.5_f32.ln(), 3_f32.ln()];
        let mut rng = Pcg64::seed_from_u64(1);
        let count = 20_000;
        let (mut actions, mut log_probs) = (Vec::new(), Vec::new());
        for _ in 0..count {
            log_probs.push(draw(&numbers, &mut rng, false, &mut actions));
        }
        let actions = Tensor::from_slice(&actions).view([count, 2]);
        let (mean, std) = (
            actions.mean_dim(0, false, Kind::Double),
            actions.std_dim(0, true, false),
        );
        let off = |numbers: Tensor, expected: [f64; 2]| {
            let difference = numbers.to_kind(Kind::Double) - Tensor::from_slice(&expected);
            difference.abs().max().double_value(&[])
        };
        assert!(off(mean, [1.0, -2.0]) < 0.07);
        assert!(off(std, [0.5, 3.0]) < 0.05);
        let numbers = Tensor::from_slice(&numbers);
        let policy = DiagonalGaussian {
            mean: numbers.narrow(0, 0, 2).expand([count, 2], false),
            log_std: numbers.narrow(0, 2, 2),
        };
        let difference = policy.log_prob(&actions) - Tensor::from_slice(&log_probs);
        assert!(difference.abs().max().double_value(&[]) < 1e-5);
        let mean_surprise = -policy.log_prob(&actions).mean(Kind::Double);
        let entropy = policy.entropy();
        assert_eq!(entropy.size(), [count]);
        let difference = mean_surprise - entropy.double_value(&[0]);
        assert!(difference.abs().double_value(&[]) < 0.02);
    }

    #[test]
    fn the_mean_is_the_most_probable() {
        let mut actions = Vec::new();
        let mut rng = Pcg64::seed_from_u64(1);
        let log_prob = draw(&[0.25, -7.0, 0.0, 0.0], &mut rng, true, &mut actions);
        assert_eq!(actions, [0.25, -7.0]);
        assert!((f64::from(log_prob) + 2.0 * LN_SQRT_2PI).abs() < 1e-6);
    }

    #[test]
    fn gradients_reach_means_and_deviations() {
        let mean = Tensor::zeros([3, 2], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        let log_std = Tensor::zeros([2], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        let policy = DiagonalGaussian {
            mean: mean.shallow_clone(),
            log_std: log_std.shallow_clone(),
        };
        let actions = Tensor::ones([3, 2], (Kind::Float, Device::Cpu)) * 2.0;
        policy.log_prob(&actions).sum(Kind::Float).backward();
        // ∂/∂μ = z/σ = 2, ∂/∂ log σ = z² − 1 = 3 for each of three rows.
        assert_eq!(mean.grad(), mean.full_like(2.0));
        assert_eq!(log_std.grad(), log_std.full_like(9.0));
    }
}
