//! Players of a game for two, rated by the games that each played against each.

mod elo;
mod standings;

pub(crate) use elo::Scores;
pub(crate) use standings::{Record, matrix, name, standings, table};
