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

/// The mean of the middle half: of what is left without the lowest and the highest quarter, each rounded
/// down to whole values (`scipy.stats.trim_mean(values, 0.25)`); NaN of nothing.
pub(crate) fn interquartile_mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    mean(&sorted[cut..sorted.len() - cut])
}

/// The 95 % interval of `statistic`, a function of all scores together, by `resamples` draws: within each
/// stratum (an environment's seeds) as many scores as there are, with replacement.
///
/// The draws come from a generator of a fixed seed, so that the same scores have the same interval.
pub(crate) fn stratified_bootstrap(
    strata: &[Vec<f64>],
    resamples: usize,
    statistic: impl Fn(&[f64]) -> f64,
) -> Interval {
    let mut rng = Pcg64::seed_from_u64(0);
    let mut drawn = Vec::new();
    let mut values: Vec<f64> = (0..resamples)
        .map(|_| {
            drawn.clear();
            for scores in strata.iter().filter(|scores| !scores.is_empty()) {
                drawn.extend(
                    scores
                        .iter()
                        .map(|_| scores[rng.random_range(0..scores.len())]),
                );
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
            let iqm = interquartile_mean(&values[..count]);
            assert!((iqm - expected).abs() < 1e-12, "{count}: {iqm}");
        }
        assert!(interquartile_mean(&[]).is_nan());
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
        for statistic in [mean as fn(&[f64]) -> f64, interquartile_mean] {
            let mut all = Vec::new();
            for draw in 0..108_usize {
                let (first, second) = (draw % 4, draw / 4);
                let (pair, triple) = (&strata[0], &strata[1]);
                all.push(statistic(&[
                    pair[first % 2],
                    pair[first / 2],
                    triple[second % 3],
                    triple[second / 3 % 3],
                    triple[second / 9],
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
        let interval = stratified_bootstrap(&strata, 500, mean);
        assert_eq!((interval.low, interval.high), (40.0, 40.0));
    }
}
