//! Environments written in Rust as Python packages.
//!
//! [`module!`] makes an extension module of a crate, whose environments are registered with Gymnasium: `gymnasium.make`
//! gives a `gymnasium.Env`, `gymnasium.make_vec` a `gymnasium.vector.VectorEnv` whose environments are stepped by threads
//! while the GIL is free. One of several agents becomes an environment of `PettingZoo`'s parallel API. The classes are in
//! `gymnasium_envs`, which is compiled into the module: such a package needs numpy and gymnasium, with several agents
//! pettingzoo, and nothing else.
//!
//! What is of use for any batch in Rust is here, too: [`OfProcess`], [`Destination`], [`with_actions`],
//! [`exception`].

// pyo3 hands over what it has extracted.
#![allow(clippy::needless_pass_by_value)]

mod agents;
mod arrays;
mod batch;
mod errors;
mod module;
mod of_process;

pub use agents::Agents;
pub use arrays::{Destination, with_actions};
pub use batch::Batch;
pub use errors::exception;
pub use module::{register, register_parallel};
pub use of_process::OfProcess;
pub use pyo3;
