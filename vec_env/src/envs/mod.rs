//! Environments in Rust, as examples and for tests.

mod cart_pole;
mod grid_world;
mod pendulum;
mod recall;

pub use cart_pole::CartPole;
pub use grid_world::GridWorld;
pub use pendulum::Pendulum;
pub use recall::Recall;
