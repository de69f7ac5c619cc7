//! Environments in Rust, as examples and for tests.

mod cart_pole;
mod grid_world;

pub use cart_pole::CartPole;
pub use grid_world::GridWorld;
