//! What games of one policy against another come to.

use serde::Serialize;

use super::evaluate::Game;
use crate::envs::Score;

/// What games against an opponent came to: columns of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Games.
    pub games: usize,
    /// Games in which the player made more points.
    pub wins: usize,
    /// Games in which both made as many.
    pub draws: usize,
    /// Games in which the opponent made more.
    pub losses: usize,
    /// Mean points of the player.
    pub points_for: f64,
    /// Mean points of the opponent.
    pub points_against: f64,
    /// Mean of the differences of points.
    pub difference: f64,
    /// The standard error of that mean: the standard deviation of a sample over the root of its size; NaN for
    /// a single game.
    pub standard_error: f64,
    /// Mean sum of all raw rewards of the player, penalties included.
    pub return_mean: f64,
    /// The same of the opponent.
    pub opponent_return_mean: f64,
    /// Mean length in agent steps.
    pub length_mean: f64,
}

impl Tally {
    /// Counts `games` and, at the same places, their `scores`.
    pub fn of(games: &[Game], scores: &[Score]) -> Self {
        let count = scores.len() as f64;
        let mean = |of: &dyn Fn(&Score) -> f64| scores.iter().map(of).sum::<f64>() / count;
        let lead = |score: &Score| score.points[0] - score.points[1];
        let difference = mean(&lead);
        let variance = mean(&|score| (lead(score) - difference).powi(2)) * count / (count - 1.0);
        let number =
            |of: &dyn Fn(f64) -> bool| scores.iter().filter(|score| of(lead(score))).count();
        let lengths = games.iter().map(|game| game.episode.length as f64);
        Self {
            games: scores.len(),
            wins: number(&|lead| lead > 0.0),
            losses: number(&|lead| lead < 0.0),
            draws: number(&|lead| lead == 0.0),
            points_for: mean(&|score| score.points[0]),
            points_against: mean(&|score| score.points[1]),
            difference,
            standard_error: (variance / count).sqrt(),
            return_mean: mean(&|score| score.returns[0]),
            opponent_return_mean: mean(&|score| score.returns[1]),
            length_mean: lengths.sum::<f64>() / count,
        }
    }
}

/// The scores of `games`, out of those of all games that ended: some are played beyond what is asked for.
pub fn scores_of(games: &[Game], all: &[Score]) -> Vec<Score> {
    let score = |game: &Game| {
        let mut of_env = all.iter().filter(|score| score.env == game.episode.env);
        of_env.nth(game.number).copied()
    };
    games.iter().filter_map(score).collect()
}

#[cfg(test)]
mod tests {
    use vec_env::Episode;

    use super::*;

    fn game(env: usize, number: usize) -> Game {
        let episode = Episode {
            env,
            raw_return: 0.0,
            length: 10 * (1 + number as i64),
            frames: 0,
        };
        Game { episode, number }
    }

    fn score(env: usize, points: [f64; 2]) -> Score {
        let returns = [points[0] - points[1], points[1] - points[0] - 1.0];
        Score {
            env,
            points,
            returns,
        }
    }

    #[test]
    fn scores_are_found_by_env_and_number_and_counted() {
        let all = [
            score(1, [3.0, 21.0]),
            score(0, [21.0, 5.0]),
            score(1, [21.0, 20.0]),
            score(0, [4.0, 4.0]),
            score(0, [0.0, 21.0]), // beyond what was asked for
        ];
        let games = [game(1, 0), game(0, 0), game(1, 1), game(0, 1)];
        let scores = scores_of(&games, &all);
        assert_eq!(scores, all[..4]);
        let tally = Tally::of(&games, &scores);
        assert_eq!((tally.wins, tally.draws, tally.losses), (2, 1, 1));
        assert_eq!(tally.games, 4);
        assert_eq!((tally.points_for, tally.points_against), (12.25, 12.5));
        // The standard error is numpy.std([-18, 16, 1, 0], ddof=1) / 2.
        for (found, expected) in [
            (tally.difference, -0.25),
            (tally.standard_error, 6.956_711_387_813_45),
            (tally.return_mean, -0.25),
            (tally.opponent_return_mean, -0.75),
            (tally.length_mean, 15.0),
        ] {
            assert!((found - expected).abs() < 1e-12, "{tally:?}");
        }
    }
}
