//! Drawing discrete actions.

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Kind, Tensor};

use crate::tensors::argmax;

/// Draws one action by the log-probabilities of all, or takes the most probable, and adds it to
/// `actions`; returns its log-probability.
pub(crate) fn draw(
    log_probs: &[f32],
    rng: &mut Pcg64,
    greedy: bool,
    actions: &mut Vec<i64>,
) -> f32 {
    let action = if greedy {
        argmax(log_probs)
    } else {
        sample(log_probs, rng.random())
    };
    actions.push(action as i64);
    log_probs[action]
}

/// As [`draw`] for many rows where they lie, `[batch, num_actions]`, with a uniform number of [0, 1) for each,
/// float64 `[batch]`: actions, int64, and their log-probabilities, `[batch]` each.
pub(crate) fn draw_all(log_probs: &Tensor, uniforms: &Tensor) -> (Tensor, Tensor) {
    let shares = log_probs.to_kind(Kind::Double).exp().cumsum(1, None);
    let last = log_probs.size()[1] - 1;
    let total = shares.narrow(1, last, 1);
    let is_before = shares.le_tensor(&(total * uniforms.unsqueeze(1)));
    let actions = is_before.sum_dim_intlist(1, false, Kind::Int64);
    let actions = actions.clamp_max(last);
    let chosen = log_probs.gather(1, &actions.unsqueeze(1), false);
    (actions, chosen.squeeze_dim(1))
}

/// The action in whose share of [0, 1) the uniform number falls.
fn sample(log_probs: &[f32], uniform: f64) -> usize {
    let total: f64 = log_probs
        .iter()
        .map(|log_prob| f64::from(*log_prob).exp())
        .sum();
    let mut left = uniform * total;
    for (action, log_prob) in log_probs.iter().enumerate() {
        left -= f64::from(*log_prob).exp();
        if left < 0.0 {
            return action;
        }
    }
    log_probs.len() - 1
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use tch::Tensor;

    use super::{draw_all, sample};

    #[test]
    fn samples_follow_the_probabilities() {
        let probabilities = [0.1_f32, 0.0, 0.6, 0.3];
        let log_probs = probabilities.map(f32::ln);
        let mut rng = rand_pcg::Pcg64::seed_from_u64(1);
        let mut counts = [0.0; 4];
        for _ in 0..20_000 {
            counts[sample(&log_probs, rng.random())] += 1.0 / 20_000.0;
        }
        assert!(counts[1] <= 0.0);
        for (count, probability) in counts.iter().zip(probabilities) {
            assert!((count - f64::from(probability)).abs() < 0.015, "{counts:?}");
        }
    }

    #[test]
    fn the_ends_of_the_unit_interval_are_actions() {
        let log_probs = [0.25_f32, 0.75].map(f32::ln);
        assert_eq!(sample(&log_probs, 0.0), 0);
        assert_eq!(sample(&log_probs, 1.0 - f64::EPSILON), 1);
    }

    #[test]
    fn many_rows_are_drawn_as_each_alone() {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(2);
        let logits: Vec<f32> = (0..5_000 * 6).map(|_| 4.0 * rng.random::<f32>()).collect();
        let log_probs = Tensor::from_slice(&logits)
            .view([-1, 6])
            .log_softmax(-1, None);
        let mut uniforms: Vec<f64> = (0..5_000).map(|_| rng.random()).collect();
        (uniforms[0], uniforms[1]) = (0.0, 1.0 - f64::EPSILON);
        let (actions, chosen) = draw_all(&log_probs, &Tensor::from_slice(&uniforms));
        let table = Vec::<Vec<f32>>::try_from(&log_probs).unwrap();
        let alone: Vec<usize> = table
            .iter()
            .zip(&uniforms)
            .map(|(row, uniform)| sample(row, *uniform))
            .collect();
        let actions = Vec::<i64>::try_from(actions).unwrap();
        assert!(actions.iter().zip(&alone).all(|(a, b)| *a as usize == *b));
        let expected: Vec<f32> = table.iter().zip(&alone).map(|(row, a)| row[*a]).collect();
        assert_eq!(Vec::<f32>::try_from(chosen).unwrap(), expected);
    }
}
