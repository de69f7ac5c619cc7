//! What the games of several seeds come to: scores with their intervals, and the mean curve.

use serde::Serialize;

use crate::report::{
    band::Point,
    bootstrap::{RESAMPLES, mean, mean_of_envs, stratified_bootstrap},
    running::{GAMES, GameWindow},
};

/// Points of a mean curve, and resamples for each.
const POINTS: u64 = 200;
pub(super) const RESAMPLES_OF_A_POINT: usize = 1_000;

/// The true games of a run in the order of their ends: the agent step of each, and its raw return.
pub type Games = Vec<(u64, f64)>;

/// The score of a run: the mean raw return of its last games; `None` of none.
#[must_use]
pub fn score(games: &Games) -> Option<f64> {
    let last = &games[games.len().saturating_sub(GAMES)..];
    let returns: Vec<f64> = last.iter().map(|game| game.1).collect();
    (!returns.is_empty()).then(|| mean(&returns))
}

/// A statistic over several runs, with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The statistic.
    pub value: f64,
    /// None where an environment has a single seed: what it would have been with another one is not known.
    pub low: Option<f64>,
    /// The same.
    pub high: Option<f64>,
}

impl Estimate {
    /// A `statistic` of the scores of each environment's seeds.
    #[must_use]
    pub fn of(scores: &[Vec<f64>], statistic: impl Fn(&[Vec<f64>]) -> f64) -> Self {
        let known = scores.iter().all(|of_env| of_env.len() > 1);
        let interval = known.then(|| stratified_bootstrap(scores, RESAMPLES, &statistic));
        Self {
            value: statistic(scores),
            low: interval.map(|ends| ends.low),
            high: interval.map(|ends| ends.high),
        }
    }

    pub(super) fn shown_interval(&self, decimals: usize) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{low:.decimals$} to {high:.decimals$}"),
            _ => "none of a single seed".to_owned(),
        }
    }
}

/// The mean over seeds of each run's mean of its last 100 games up to the step `end`, with its 95 % interval; from
/// where every seed has ended a game.
#[must_use]
pub fn mean_curve(runs: &[&Games], end: u64) -> Vec<Point> {
    mean_curve_of_last(GAMES, runs, end)
}

/// The same where the mean is of another number of games. What counts as a step may be another measure of how far a
/// run is, such as its milliseconds.
pub(crate) fn mean_curve_of_last(window: usize, runs: &[&Games], end: u64) -> Vec<Point> {
    let windows = runs.iter();
    let mut windows: Vec<_> = windows
        .map(|_| (GameWindow::of_last(window, "return"), 0))
        .collect();
    let mut points = Vec::new();
    for place in 1..=POINTS {
        let step = end * place / POINTS;
        for (games, (window, seen)) in runs.iter().zip(&mut windows) {
            let new = games[*seen..].iter();
            for game in new.take_while(|game| game.0 <= step) {
                window.push(game.1);
                *seen += 1;
            }
        }
        let means: Option<Vec<f64>> = windows.iter().map(|(window, _)| window.mean()).collect();
        if let Some(means) = means.filter(|means| !means.is_empty()) {
            points.push(Point {
                step,
                mean: mean(&means),
                interval: stratified_bootstrap(&[means], RESAMPLES_OF_A_POINT, mean_of_envs),
            });
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_curve_begins_where_every_seed_has_ended_a_game() {
        let late = vec![(100, 4.0), (200, 8.0)];
        let early = vec![(100, 0.0), (200, 0.0), (300, 0.0)];
        let curve = mean_curve(&[&early, &late], 400);
        assert_eq!(curve[0].step, 100);
        assert!((curve[0].mean - 2.0).abs() < 1e-12);
        let last = curve.last().unwrap();
        assert_eq!((last.step, last.mean), (400, 3.0));
        assert_eq!((last.interval.low, last.interval.high), (0.0, 6.0));
    }

    #[test]
    fn a_score_is_of_the_last_games_and_none_of_none() {
        let games: Games = (0..250).map(|game| (game, game as f64)).collect();
        assert_eq!(score(&games), Some(199.5));
        assert_eq!(score(&Games::new()), None);
    }
}
