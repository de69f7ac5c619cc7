//! How the state of a game is saved in which an opponent plays: the game's own state, and behind it the opponent's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vec_env::EnvError;

use super::{past_selves::past_self_of, self_play::NUM_PLAYERS};

/// What is saved of a game beside its own state.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedGame {
    /// Points so far, the opponent's second.
    pub points: [f64; NUM_PLAYERS],
    /// The next observation is the first of a game.
    pub began: bool,
    /// What the opponent says.
    pub opponent: Value,
}

/// The state of a game behind its length, and `saved` as JSON.
pub(super) fn join(game: &[u8], saved: &SavedGame) -> Result<Vec<u8>, EnvError> {
    let saved = serde_json::to_vec(saved).map_err(|error| EnvError::State(error.to_string()))?;
    let length = (game.len() as u64).to_le_bytes();
    Ok([&length, game, &saved].concat())
}

/// The parts of a state that [`join`] made.
pub(super) fn split(state: &[u8]) -> Result<(&[u8], SavedGame), EnvError> {
    let parts = || {
        let (length, rest) = state.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (game, saved) = rest.split_at_checked(length)?;
        Some((game, serde_json::from_slice(saved).ok()?))
    };
    parts().ok_or_else(|| EnvError::State("it is of no game against an opponent".to_owned()))
}

/// The agent steps of the past selves that play in games with these `states`; others may be among them.
pub(crate) fn past_selves_in(states: &[Vec<u8>]) -> BTreeSet<u64> {
    let saved = states.iter().filter_map(|state| split(state).ok());
    saved
        .filter_map(|(_, saved)| past_self_of(saved.opponent))
        .collect()
}
