//! Statistics over several runs, as Agarwal et al. 2021 ("Deep reinforcement learning at the edge of the
//! statistical precipice") recommend and their library rliable computes: interquartile means, and 95 %
//! intervals by the stratified bootstrap, which draws seeds anew within each environment.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Resamples of a bootstrap whose ends are reported.
pub const RESAMPLES: usize = 20_000;

/// An interval that holds 95 % of the resampled statistics: from the 2.5th to the 97.5th percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The mean; NaN of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean over environments of the mean of each one's scores; NaN of nothing.
#[must_use]
pub fn mean_of_envs(scores: &[Vec<f64>]) -> f64 {
    let means: Vec<f64> = scores.iter().map(|of_env| mean(of_env)).collect();
    mean(&means)
}

/// The mean of the middle half of the scores, each environment counted alike: of what is left without the lowest and
/// the highest quarter, each rounded down to whole scores (`scipy.stats.trim_mean(scores, 0.25)` where all
/// environments have equally many); NaN of nothing.
pub(crate) fn interquartile_mean(scores: &[Vec<f64>]) -> f64 {
    let weighted = scores.iter().flat_map(|of_env| {
        let weight = 1.0 / of_env.len() as f64;
        of_env.iter().map(move |&score| (score, weight))
    });
    let mut weighted: Vec<(f64, f64)> = weighted.collect();
    weighted.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Weights that are a quarter together may add up to a little more.
    let quarter = scores.len() as f64 * (0.25 + 1e-9);
    let in_quarter = |sum: &mut f64, weight: f64| {
        *sum += weight;
        (*sum <= quarter).then_some(())
    };
    let weights = weighted.iter().map(|&(_, weight)| weight);
    let low = weights.clone().scan(0.0, in_quarter).count();
    let high = weights.rev().scan(0.0, in_quarter).count();
    let middle = &weighted[low..weighted.len() - high];
    let total: f64 = middle.iter().map(|&(_, weight)| weight).sum();
    middle
        .iter()
        .map(|(score, weight)| score * weight)
        .sum::<f64>()
        / total
}

/// The 95 % interval of `statistic`, a function of the scores of each environment, by `resamples` draws: within each
/// stratum (an environment's seeds) as many scores as there are, with replacement.
///
/// The draws come from a generator of a fixed seed, so that the same scores have the same interval.
pub(crate) fn stratified_bootstrap(
    strata: &[Vec<f64>],
    resamples: usize,
    statistic: impl Fn(&[Vec<f64>]) -> f64,
) -> Interval {
    let mut rng = Pcg64::seed_from_u64(0);
    let mut drawn = strata.to_vec();
    let mut values: Vec<f64> = (0..resamples)
        .map(|_| {
            for (drawn, scores) in drawn.iter_mut().zip(strata) {
                drawn.fill_with(|| scores[rng.random_range(0..scores.len())]);
            }
            statistic(&drawn)
        })
        .collect();
    values.sort_by(f64::total_cmp);
    Interval {
        low: quantile(&values, 0.025),
        high: quantile(&values, 0.975),
    }
}

/// The quantile of values in ascending order, between two of them by a straight line, as
/// `numpy.quantile` has it; NaN of nothing.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = part * last as f64;
    let below = place.floor();
    let (low, high) = (
        sorted[below as usize],
        sorted[(below as usize + 1).min(last)],
    );
    low + (place - below) * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `scipy.stats.trim_mean(values, 0.25)` of `SciPy` 1.17.1.
    #[test]
    fn the_interquartile_mean_is_scipys() {
        let values = [3.5, -1.0, 200.0, 4.0, 8.25, 0.5, 17.0, 2.0, 11.0, 5.5, 6.0];
        for (count, expected) in [
            (1, 3.5),
            (3, 67.5),
            (4, 3.75),
            (5, 5.25),
            (8, 4.4375),
            (11, 5.75),
        ] {
            let iqm = interquartile_mean(&[values[..count].to_vec()]);
            assert!((iqm - expected).abs() < 1e-12, "{count}: {iqm}");
        }
        assert!(interquartile_mean(&[]).is_nan());
        let apart = [values[..4].to_vec(), values[4..8].to_vec()];
        assert!((interquartile_mean(&apart) - 4.4375).abs() < 1e-12);
    }

    /// As if each of the two scores had been run twice.
    #[test]
    fn an_environment_with_fewer_seeds_counts_alike() {
        let uneven = [vec![0.0, 100.0], vec![7.0, 1.0, 9.0, 3.0]];
        let even = [vec![0.0, 100.0, 0.0, 100.0], uneven[1].clone()];
        assert!((mean_of_envs(&uneven) - mean_of_envs(&even)).abs() < 1e-12);
        assert!((interquartile_mean(&uneven) - interquartile_mean(&even)).abs() < 1e-12);
    }

    /// Against `numpy.quantile` of `NumPy` 2.4.
    #[test]
    fn quantiles_are_numpys() {
        let sorted = [-3.0, 0.5, 1.0, 4.0, 10.0];
        for (part, expected) in [
            (0.0, -3.0),
            (0.025, -2.65),
            (0.4, 0.8),
            (0.975, 9.4),
            (1.0, 10.0),
        ] {
            let value = quantile(&sorted, part);
            assert!((value - expected).abs() < 1e-12, "{part}: {value}");
        }
    }

    /// Two strata of two and three scores have 2² · 3³ = 108 resamples: their exact distribution.
    #[test]
    fn the_bootstrap_comes_to_its_exact_distribution() {
        let strata = [vec![1.0, 5.0], vec![-2.0, 0.0, 10.0]];
        for statistic in [mean_of_envs as fn(&[Vec<f64>]) -> f64, interquartile_mean] {
            let mut all = Vec::new();
            for draw in 0..108_usize {
                let (first, second) = (draw % 4, draw / 4);
                let (pair, triple) = (&strata[0], &strata[1]);
                let thirds = [second % 3, second / 3 % 3, second / 9];
                all.push(statistic(&[
                    vec![pair[first % 2], pair[first / 2]],
                    thirds.map(|third| triple[third]).to_vec(),
                ]));
            }
            // Each many times, so that its quantiles are its own values and none between two of them.
            let mut all: Vec<f64> = all.repeat(100);
            all.sort_by(f64::total_cmp);
            let interval = stratified_bootstrap(&strata, 50_000, statistic);
            assert_eq!(
                (interval.low, interval.high),
                (quantile(&all, 0.025), quantile(&all, 0.975)),
            );
        }
    }

    /// Drawing over all scores together would mix the environments: one that is far from the other
    /// would widen the interval of their mean.
    #[test]
    fn strata_are_not_mixed() {
        let strata = [vec![0.0, 0.0, 0.0], vec![100.0, 100.0]];
        let interval = stratified_bootstrap(&strata, 500, mean_of_envs);
        assert_eq!((interval.low, interval.high), (50.0, 50.0));
    }
}
