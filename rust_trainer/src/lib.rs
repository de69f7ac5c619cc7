//! Trains reinforcement-learning agents on vectorized environments, with libtorch.
//!
//! A run reads from top to bottom in [`train`]: it steps environments with the actions of one of the
//! [`algorithms`] and tells it what that gave. Environments come through [`vec_env::VecEnv`], whether they
//! live in Python or in Rust; this crate cannot tell.

pub mod algorithms;
pub mod checkpoint;
pub mod cli;
pub mod data;
pub mod device;
mod doctor;
pub mod error;
pub mod evaluate;
pub mod make_env;
pub mod nn;
pub mod openmp;
pub mod optimizer;
pub mod policy;
pub mod report;
pub mod settings;
pub mod signals;
pub mod train;

#[cfg(feature = "extension-module")]
python_shim::extension_module!(_rust_trainer, crate::cli::run);
