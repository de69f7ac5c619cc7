//! Ways of training compared by the scores of their seeds, as Agarwal et al. 2021 recommend and rliable computes: the
//! probability that one does better than another, and performance profiles. Scores stand apart for each environment.

use super::scores::{Estimate, RESAMPLES_OF_A_POINT};
use crate::report::bootstrap::{Interval, mean, stratified_bootstrap};

/// The probability that a run of the first does better than a run of the second on an environment drawn at random:
/// the mean over environments of the Mann-Whitney statistic divided by the number of pairs, where equal scores count
/// half. Both have the scores of the same environments, at least one each. The interval draws the seeds of both anew.
pub(crate) fn improvement(ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> Estimate {
    let strata: Vec<_> = ours.iter().chain(theirs).cloned().collect();
    let statistic = |drawn: &[Vec<f64>]| {
        let (ours, theirs) = drawn.split_at(ours.len());
        let pairs = ours.iter().zip(theirs);
        let of_envs: Vec<f64> = pairs.map(|(ours, theirs)| wins(ours, theirs)).collect();
        mean(&of_envs)
    };
    Estimate::of(&strata, statistic)
}

/// The part of all pairs in which the first wins.
fn wins(ours: &[f64], theirs: &[f64]) -> f64 {
    let pairs = ours
        .iter()
        .flat_map(|one| theirs.iter().map(move |other| (one, other)));
    let won = pairs.map(|(one, other)| match one.total_cmp(other) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    });
    won.sum::<f64>() / (ours.len() * theirs.len()) as f64
}

/// The performance profile: at each of `thresholds` the part of the runs whose score is higher, each environment
/// counted alike, and its interval.
pub(crate) fn profile(scores: &[Vec<f64>], thresholds: &[f64]) -> Vec<(f64, Interval)> {
    let at = |threshold: f64| {
        let above = |drawn: &[Vec<f64>]| {
            let of_envs = drawn.iter().map(|scores| {
                let count = scores.iter().filter(|&&score| score > threshold).count();
                count as f64 / scores.len() as f64
            });
            mean(&of_envs.collect::<Vec<_>>())
        };
        let interval = stratified_bootstrap(scores, RESAMPLES_OF_A_POINT, above);
        (above(scores), interval)
    };
    thresholds.iter().map(|&threshold| at(threshold)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `scipy.stats.mannwhitneyu(ours, theirs).statistic / (3 * 4)` of `SciPy` 1.17.1, the mean of two.
    #[test]
    fn the_probability_of_improvement_is_mann_whitneys() {
        let ours = [vec![3.0, 1.0, 5.0], vec![0.0, 0.0, 2.0]];
        let theirs = [vec![1.0, 2.0, 4.0, 0.5], vec![0.0, 1.0, 3.0, -1.0]];
        let found = improvement(&ours, &theirs);
        let expected = f64::midpoint(8.5 / 12.0, 6.0 / 12.0);
        assert!((found.value - expected).abs() < 1e-12, "{found:?}");
        assert!(found.low < Some(found.value) && found.high > Some(found.value));
        let back = improvement(&theirs, &ours);
        assert!((found.value + back.value - 1.0).abs() < 1e-12);
        assert_eq!(improvement(&[vec![1.0]], &[vec![0.0]]).low, None);
    }

    #[test]
    fn a_profile_falls_from_all_to_none() {
        let scores = [vec![1.0, 3.0], vec![2.0, 2.0, 8.0, 10.0]];
        let found = profile(&scores, &[0.0, 1.0, 2.0, 9.0, 10.0]);
        let parts: Vec<f64> = found.iter().map(|point| point.0).collect();
        assert_eq!(parts, [1.0, 0.75, 0.5, 0.125, 0.0]);
        assert_eq!((found[0].1.low, found[4].1.high), (1.0, 0.0));
        assert!(found[2].1.low < 0.5 && found[2].1.high > 0.5);
    }
}
