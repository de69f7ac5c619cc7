//! One game by a recipe: the console behind it, its episodes, what is observed, and what a learner is told.

mod emulator;
mod env;
mod episodes;
mod film;
mod observations;
mod polar;
mod powered_on;

pub use env::{AtariEnv, EnvAction, EnvStep};
pub use episodes::Record;
pub use film::{Film, FilmEvent, FilmedGames};
pub use powered_on::PoweredOn;
