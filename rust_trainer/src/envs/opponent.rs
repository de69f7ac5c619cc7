//! [`Opponent`]: whoever plays the other side of games for two, and what games against it come to.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use vec_env::{EnvError, env::Random};

use super::self_play::NUM_PLAYERS;

/// Whoever plays the other side of a batch of games.
pub trait Opponent: Send {
    /// All games begin anew. Equal seeds give equal play; without one the random numbers go on.
    fn reset(&mut self, seed: Option<u64>);

    /// Chooses an action for each game from `obs`, a row for each as [`SelfPlay`](super::SelfPlay) shows it;
    /// `began[game]` says that the observation is a game's first.
    ///
    /// # Errors
    /// [`EnvError::Backend`] for what its network says.
    fn act(&mut self, obs: &[u8], began: &[bool]) -> Result<Vec<i64>, EnvError>;

    /// Hears what a game came to that was played to its end.
    fn ended(&mut self, _game: usize, _score: &Score) {}

    /// What it needs to go on in each game.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] where it cannot be saved.
    fn save(&self) -> Result<Vec<Value>, EnvError> {
        Err(cannot_be_saved())
    }

    /// Goes on from what [`Opponent::save`] returned: from all of it, or nothing changes.
    ///
    /// # Errors
    /// [`EnvError::State`] for what does not fit; those of [`Opponent::save`].
    fn restore(&mut self, _states: &[Value]) -> Result<(), EnvError> {
        Err(cannot_be_saved())
    }
}

fn cannot_be_saved() -> EnvError {
    EnvError::Unsupported("the opponent cannot be saved".to_owned())
}

/// Plays anything.
pub struct RandomOpponent {
    num_actions: i64,
    random: Random,
}

impl RandomOpponent {
    /// Each of `num_actions` actions as often as any other.
    #[must_use]
    pub fn new(num_actions: i64) -> Self {
        Self {
            num_actions,
            random: Random::new(0),
        }
    }
}

impl Opponent for RandomOpponent {
    fn reset(&mut self, seed: Option<u64>) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
    }

    fn act(&mut self, _obs: &[u8], began: &[bool]) -> Result<Vec<i64>, EnvError> {
        let actions = began
            .iter()
            .map(|_| self.random.below(self.num_actions as usize));
        Ok(actions.map(|action| action as i64).collect())
    }
}

/// What both sides of a game got that was played to its end; the opponent's second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Index of the environment that the game is in a batch.
    pub env: usize,
    /// Points made: sum of the positive raw rewards.
    pub points: [f64; NUM_PLAYERS],
    /// Sum of all raw rewards.
    pub returns: [f64; NUM_PLAYERS],
}

/// The scores of a batch, in the order in which its games ended; read while the batch is in use elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Scores(Arc<Mutex<Vec<Score>>>);

impl Scores {
    /// Takes out those that are there.
    #[must_use]
    pub fn take(&self) -> Vec<Score> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn push(&self, score: Score) {
        let mut scores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        scores.push(score);
    }
}
