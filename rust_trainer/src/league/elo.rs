//! Elo ratings by maximum likelihood, with their intervals.
//!
//! The model is Bradley and Terry's (1952): player i makes a point against player j with probability
//! `1 / (1 + 10^((R_j − R_i) / 400))`. A win is a point, a draw half a point for each. With `p_ij` that probability,
//! `s_ij` the points of i against j and `n_ij = s_ij + s_ji` their games, the log-likelihood is `Σ s_ij log p_ij`
//! over all ordered pairs. It is concave, and Newton's method finds its maximum (Hunter 2004, "MM algorithms for
//! generalized Bradley–Terry models", whose assumption 1 says where there is one: [`Scores::have_maximum`]).
//!
//! Intervals are Wald's: 1.96 standard errors, from the inverse of the Fisher information
//! `I_ii = Σ_j n_ij p_ij p_ji`, `I_ij = −n_ij p_ij p_ji`, without the row and the column of the anchor, whose rating
//! is fixed. A draw counts as half a win, so that they are rather too wide where games are drawn.

use tch::Tensor;

use crate::{error::TrainerError, tensors::to_vec};

/// Elo points in a unit of the logistic function's scale.
const SCALE: f64 = 400.0 / std::f64::consts::LN_10;

/// The 97.5th percentile of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Newton's method doubles the right digits with each step; it takes some ten.
const MOST_STEPS: usize = 200;

/// The points that each player made against each other: wins, and half of the draws.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scores(Vec<Vec<f64>>);

/// A rating in Elo points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rating {
    pub elo: f64,
    /// From the rating to either end of its 95 % interval; 0 of the anchor.
    pub half_width: f64,
}

impl Scores {
    /// No games yet among so many players.
    pub fn new(num_players: usize) -> Self {
        Self(vec![vec![0.0; num_players]; num_players])
    }

    /// Adds the points of both sides of some games.
    pub fn add(&mut self, (first, second): (usize, usize), points: [f64; 2]) {
        self.0[first][second] += points[0];
        self.0[second][first] += points[1];
    }

    pub fn num_players(&self) -> usize {
        self.0.len()
    }

    /// Points of one player against another.
    pub fn points(&self, player: usize, opponent: usize) -> f64 {
        self.0[player][opponent]
    }

    /// The same with `count` draws more between any two that have met.
    pub fn with_draws(&self, count: f64) -> Self {
        let mut scores = self.clone();
        for player in 0..self.num_players() {
            for opponent in 0..self.num_players() {
                if self.games(player, opponent) > 0.0 {
                    scores.0[player][opponent] += count / 2.0;
                }
            }
        }
        scores
    }

    /// Whether the likelihood has a maximum: of any two groups that the players are split into, each has made a point
    /// against the other. Otherwise the better group's ratings grow without end.
    pub fn have_maximum(&self) -> bool {
        let reach_all = |made: &dyn Fn(usize, usize) -> f64| {
            let (mut reached, mut at) = (vec![false; self.num_players()], vec![0]);
            while let Some(player) = at.pop() {
                if !std::mem::replace(&mut reached[player], true) {
                    at.extend((0..self.num_players()).filter(|&other| made(player, other) > 0.0));
                }
            }
            reached.iter().all(|reached| *reached)
        };
        reach_all(&|player, other| self.0[player][other])
            && reach_all(&|player, other| self.0[other][player])
    }

    /// The ratings of all players, the `anchor`'s being 0.
    ///
    /// # Errors
    /// Scores that [have no maximum](Scores::have_maximum); libtorch's.
    pub fn ratings(&self, anchor: usize) -> Result<Vec<Rating>, TrainerError> {
        let failed = || {
            let problem = "no ratings: one group of players made no point against the others";
            TrainerError::Usage(problem.to_owned())
        };
        if !self.have_maximum() {
            return Err(failed());
        }
        let free: Vec<usize> = (0..self.num_players()).filter(|&i| i != anchor).collect();
        let mut at = vec![0.0; self.num_players()];
        let mut likelihood = self.log_likelihood(&at);
        for _ in 0..MOST_STEPS {
            let covariance = self.covariance(&at, &free)?;
            let gradient: Vec<f64> = free.iter().map(|&i| self.slope(&at, i)).collect();
            let step = to_vec::<f64>(&covariance.f_matmul(&Tensor::from_slice(&gradient))?);
            // A whole step may lead beyond the maximum, far from it.
            let mut share = 1.0;
            let (next, found) = loop {
                let mut next = at.clone();
                for (&player, step) in free.iter().zip(&step) {
                    next[player] += share * step;
                }
                let found = self.log_likelihood(&next);
                if found >= likelihood || share < 1e-9 {
                    break (next, found);
                }
                share /= 2.0;
            };
            (at, likelihood) = (next, found);
            if step.iter().all(|step| (share * step).abs() < 1e-9) {
                return self.with_intervals(&at, &free);
            }
        }
        Err(failed())
    }

    fn with_intervals(&self, at: &[f64], free: &[usize]) -> Result<Vec<Rating>, TrainerError> {
        let variances = to_vec::<f64>(&self.covariance(at, free)?.f_diagonal(0, 0, 1)?);
        let mut ratings: Vec<Rating> = (at.iter())
            .map(|at| Rating {
                elo: SCALE * at,
                half_width: 0.0,
            })
            .collect();
        for (&player, variance) in free.iter().zip(variances) {
            ratings[player].half_width = NORMAL * SCALE * variance.sqrt();
        }
        Ok(ratings)
    }

    fn games(&self, player: usize, opponent: usize) -> f64 {
        self.0[player][opponent] + self.0[opponent][player]
    }

    fn log_likelihood(&self, at: &[f64]) -> f64 {
        let players = 0..self.num_players();
        let of = |player: usize| {
            let others = (0..self.num_players()).filter(move |&other| other != player);
            others.map(move |other| (player, other))
        };
        let pairs = players.flat_map(of);
        // log p = −log(1 + e^(R_j − R_i)), which large differences do not overflow.
        pairs
            .map(|(i, j)| -self.0[i][j] * softplus(at[j] - at[i]))
            .sum()
    }

    /// The derivative of the log-likelihood by the rating of a player.
    fn slope(&self, at: &[f64], player: usize) -> f64 {
        let of = |other: usize| {
            self.0[player][other] - self.games(player, other) * expected(at[player] - at[other])
        };
        let others = (0..self.num_players()).filter(|&other| other != player);
        others.map(of).sum()
    }

    /// The inverse of the Fisher information of the `free` players' ratings.
    fn covariance(&self, at: &[f64], free: &[usize]) -> Result<Tensor, TrainerError> {
        let weight = |i: usize, j: usize| {
            let lead = at[i] - at[j];
            self.games(i, j) * expected(lead) * expected(-lead)
        };
        let others = |i: usize| (0..self.num_players()).filter(move |&other| other != i);
        let information = free.iter().flat_map(|&i| {
            free.iter().map(move |&j| {
                if i == j {
                    others(i).map(|other| weight(i, other)).sum()
                } else {
                    -weight(i, j)
                }
            })
        });
        let information = Tensor::from_slice(&information.collect::<Vec<f64>>());
        let size = free.len() as i64;
        let information = information.f_view([size, size])?;
        Ok(Tensor::f_linalg_inv(&information)?)
    }
}

/// The probability to make a point with so large a lead.
fn expected(lead: f64) -> f64 {
    1.0 / (1.0 + (-lead).exp())
}

/// `log(1 + e^x)`.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(rows: &[&[f64]]) -> Scores {
        Scores(rows.iter().map(|row| row.to_vec()).collect())
    }

    /// Two players: the rating is the logit of the score, its variance `1 / (n p q)`.
    #[test]
    fn two_players_have_the_rating_of_their_score() {
        let ratings = scores(&[&[0.0, 15.0], &[5.0, 0.0]]).ratings(1).unwrap();
        let elo = 400.0 * 3_f64.log10();
        let half_width = NORMAL * SCALE / (20.0 * 0.75 * 0.25_f64).sqrt();
        assert!((ratings[0].elo - elo).abs() < 1e-6, "{ratings:?}");
        assert!((ratings[0].half_width - half_width).abs() < 1e-6);
        assert_eq!(
            ratings[1],
            Rating {
                elo: 0.0,
                half_width: 0.0
            }
        );
    }

    #[test]
    fn who_never_loses_a_point_has_no_rating_until_a_draw_is_added() {
        // The first two each make points against the other, but none is made against them.
        let apart = scores(&[
            &[0.0, 4.0, 10.0, 10.0],
            &[6.0, 0.0, 10.0, 10.0],
            &[0.0, 0.0, 0.0, 5.0],
            &[0.0, 0.0, 5.0, 0.0],
        ]);
        assert!(!apart.have_maximum());
        assert!(apart.ratings(0).is_err());
        let ratings = apart.with_draws(1.0).ratings(3).unwrap();
        assert!(ratings[0].elo > 300.0 && ratings[0].elo < ratings[1].elo);
        assert!(ratings.iter().all(|rating| rating.half_width.is_finite()));
        // Who has not met has no draws either.
        let apart = scores(&[&[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0], &[0.0; 3]]);
        assert!(!apart.with_draws(1.0).have_maximum());
    }

    #[test]
    fn ratings_are_found_where_a_whole_step_leads_astray() {
        // From equal ratings Newton's first step overshoots by far: 9,999 points of 10,000.
        let scores = scores(&[&[0.0, 9999.0, 0.0], &[1.0, 0.0, 9999.0], &[0.0, 1.0, 0.0]]);
        let ratings = scores.ratings(2).unwrap();
        let step = 400.0 * 9999_f64.log10();
        assert!((ratings[1].elo - step).abs() < 1e-3, "{ratings:?}");
        assert!((ratings[0].elo - 2.0 * step).abs() < 1e-3, "{ratings:?}");
    }
}
