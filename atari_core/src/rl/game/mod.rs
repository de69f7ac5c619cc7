//! One game by a recipe: the console behind it, rules, what is observed, and what a learner is told.

mod emulator;
mod env;
mod film;
mod observations;
mod polar;
mod powered_on;
mod rules;

pub use env::{AtariEnv, EnvAction, EnvStep};
pub use film::{Film, FilmEvent, FilmedGames};
pub use powered_on::PoweredOn;
pub use rules::Record;
