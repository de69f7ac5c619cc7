//! Between the console and a batch of observations: recipes, preprocessing, random streams, batches on threads.
//!
//! The names, the recipes and the results are those of the Python package `atari_wrappers`, whose backends are the
//! oracle of the tests.

pub mod batch;
mod choices;
pub mod game;
pub mod pixels;
mod presets;
pub mod random;
pub mod recipe;

pub use crate::state::BadState;
pub use batch::{AtariVecEnv, BatchOptions};
pub use game::AtariEnv;
pub use presets::Preset;
pub use recipe::Recipe;
