//! Environments in Rust, as examples and for tests.

mod cart_pole;
mod cart_poles;
mod grid_world;
mod mountain_car;
mod pendulum;
mod recall;
mod simple_spread;

pub use cart_pole::CartPole;
pub use cart_poles::CartPoles;
pub use grid_world::GridWorld;
pub use mountain_car::{MountainCar, MountainCarContinuous};
pub use pendulum::Pendulum;
pub use recall::Recall;
pub use simple_spread::{Push, SimpleSpread};
