//! What a row says in `episodes.csv`, one for each finished true game, and in `evaluations.csv`.

use serde::{Deserialize, Serialize};

/// One finished true game: all lives, whatever the learner took for an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Agent steps of the whole run, over all envs, when the game ended.
    pub step: u64,
    /// Index of the env that played it.
    pub env: usize,
    /// Sum of the rewards as the game gave them, not clipped.
    pub raw_return: f64,
    /// Length in agent steps.
    pub length: u64,
    /// Length in emulator frames.
    pub frames: u64,
    /// Seconds of training since the start of the run, interruptions not counted.
    pub seconds: f64,
}

impl Episode {
    /// What it counts for: its raw return; in self-play, where one side wins what the other loses, its length, which
    /// the first player's row says for both.
    pub(crate) fn shown(&self, is_self_play: bool) -> Option<f64> {
        if is_self_play {
            self.env.is_multiple_of(2).then_some(self.length as f64)
        } else {
            Some(self.raw_return)
        }
    }
}

/// What the games of an evaluation brought: raw returns of true games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Agent steps that the policy had learned from.
    pub step: u64,
    /// Mean raw return.
    pub mean: f64,
    /// Standard deviation of the raw returns (of the population).
    pub std: f64,
    /// Lowest raw return.
    pub min: f64,
    /// Highest raw return.
    pub max: f64,
    /// Games played, once for each agent.
    pub episodes: usize,
    /// Mean length in agent steps.
    pub length: f64,
    /// Seconds that it took; they are not seconds of training.
    pub seconds: f64,
}
