//! How a learner did against each of its past selves, and how that decides whom it meets.

use std::collections::BTreeMap;

use rand::RngExt;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::settings::OpponentDraw;

/// What is left of a game's weight with each game after it: as in `AlphaStar`'s pseudocode, for the learner is not
/// what it was.
const DECAY: f64 = 0.99;

/// What games against a past self came to, recent ones counting most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Results {
    /// The learner's wins, and half of the draws.
    points: f64,
    games: f64,
}

/// The same of all past selves, by their agent steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WinRates(BTreeMap<u64, Results>);

impl WinRates {
    /// Counts a game against the past self of `step`.
    pub fn note(&mut self, step: u64, points: f64) {
        let results = self.0.entry(step).or_default();
        results.points = DECAY * results.points + points;
        results.games = DECAY * results.games + 1.0;
    }

    /// Forgets those against others than the past selves of `steps`.
    pub fn retain(&mut self, steps: &[u64]) {
        self.0.retain(|step, _| steps.contains(step));
    }

    /// The results of several games' places, put together.
    pub fn of_all<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for (&step, results) in all.flat_map(|rates| &rates.0) {
            let of_step = sum.0.entry(step).or_default();
            of_step.points += results.points;
            of_step.games += results.games;
        }
        sum
    }

    /// The share of points that the learner makes against the past self of `step`; a half where none is known.
    fn of_step(&self, step: u64) -> f64 {
        let results = self.0.get(&step).copied().unwrap_or_default();
        if results.games > 0.0 {
            results.points / results.games
        } else {
            0.5
        }
    }

    /// Draws one of `steps`, of which there is one at least.
    pub fn draw(&self, steps: &[u64], how: OpponentDraw, rng: &mut Pcg64) -> u64 {
        let newest = steps[steps.len() - 1];
        let weight = |step: u64| match how {
            OpponentDraw::Uniform => 1.0,
            OpponentDraw::Latest => f64::from(u8::from(step == newest)),
            OpponentDraw::Prioritized => (1.0 - self.of_step(step)).powi(2),
        };
        let mut weights: Vec<f64> = steps.iter().map(|&step| weight(step)).collect();
        if weights.iter().sum::<f64>() < 1e-10 {
            weights.fill(1.0); // all are beaten always
        }
        let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
        for (&step, weight) in steps.iter().zip(weights) {
            left -= weight;
            if left < 0.0 {
                return step;
            }
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const DRAWS: usize = 20_000;

    /// The shares in which the past selves of steps 0, 1, 2 are drawn.
    fn shares(rates: &WinRates, how: OpponentDraw) -> [f64; 3] {
        let mut rng = Pcg64::seed_from_u64(0);
        let mut counts = [0; 3];
        for _ in 0..DRAWS {
            counts[rates.draw(&[0, 1, 2], how, &mut rng) as usize] += 1;
        }
        counts.map(|count| f64::from(count) / DRAWS as f64)
    }

    fn assert_near(found: [f64; 3], expected: [f64; 3]) {
        let mut pairs = found.iter().zip(expected);
        assert!(
            pairs.all(|(found, expected)| (found - expected).abs() < 0.015),
            "{found:?}, expected {expected:?}"
        );
    }

    #[test]
    fn the_hard_ones_are_drawn_most_where_they_are_prioritized() {
        let mut rates = WinRates::default();
        assert_near(shares(&rates, OpponentDraw::Uniform), [1.0 / 3.0; 3]);
        assert_near(shares(&rates, OpponentDraw::Latest), [0.0, 0.0, 1.0]);
        // Of whom nothing is known the learner is taken to win half.
        assert_near(shares(&rates, OpponentDraw::Prioritized), [1.0 / 3.0; 3]);
        rates.note(0, 1.0);
        rates.note(1, 0.0);
        // Weights (1 − 1)², (1 − 0)², (1 − 0.5)².
        assert_near(shares(&rates, OpponentDraw::Prioritized), [0.0, 0.8, 0.2]);
        assert_near(shares(&rates, OpponentDraw::Uniform), [1.0 / 3.0; 3]);
        for step in [1, 2] {
            for _ in 0..3000 {
                rates.note(step, 1.0);
            }
        }
        assert_near(shares(&rates, OpponentDraw::Prioritized), [1.0 / 3.0; 3]);
    }

    #[test]
    fn results_fade_and_those_of_several_places_add_up() {
        let (mut one, mut other) = (WinRates::default(), WinRates::default());
        one.note(5, 1.0);
        one.note(5, 0.0);
        assert!((one.of_step(5) - 0.99 / 1.99).abs() < 1e-12);
        other.note(5, 0.5);
        other.note(7, 0.5);
        let mut all = WinRates::of_all([&one, &other].into_iter());
        assert!((all.of_step(5) - 1.49 / 2.99).abs() < 1e-12);
        all.retain(&[5]);
        assert_eq!(all.0.len(), 1);
    }
}
