//! Batches: environments on threads of our own, behind the [`VecEnv`](vec_env::VecEnv) trait.

mod affinity;
mod calls;
mod env;
mod pool;
mod queues;
mod results;
mod rows;
mod sub_env;
mod subsets;
#[cfg(test)]
mod tests;
mod ticket;

pub use calls::ResetRequest;
pub use env::{AtariVecEnv, BatchOptions};
pub use ticket::{Asked, Ticket};
