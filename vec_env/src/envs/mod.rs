//! Environments in Rust, as examples and for tests.

mod cart_pole;
mod grid_world;
mod pendulum;

pub use cart_pole::CartPole;
pub use grid_world::GridWorld;
pub use pendulum::Pendulum;
