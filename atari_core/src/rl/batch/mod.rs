//! Batches: environments on threads of our own, behind the [`VecEnv`](::vec_env::VecEnv) trait.

mod in_flight;
mod options;
mod results;
mod sub_env;
#[cfg(test)]
mod tests;
mod ticket;
mod vec_env;

pub use options::BatchOptions;
pub use ticket::{Asked, Ticket};
pub use vec_env::AtariVecEnv;
