//! Trains reinforcement-learning agents on vectorized environments, with libtorch.
//!
//! A run reads from top to bottom in [`train`]: a [`rollout`] is collected by the [`learner`], which
//! learns from it with the algorithm of the [`settings`], [`ppo`] or [`a2c`]. Environments come through
//! [`vec_env::VecEnv`], whether they live in Python or in Rust; this crate cannot tell.

pub mod a2c;
pub mod advantage;
pub mod checkpoint;
pub mod cli;
pub mod device;
mod doctor;
pub mod error;
pub mod evaluate;
pub mod learner;
pub mod make_env;
pub mod nets;
pub mod openmp;
pub mod optimizer;
pub mod params;
pub mod ppo;
pub mod report;
pub mod rollout;
pub mod settings;
pub mod signals;
pub mod train;

#[cfg(feature = "extension-module")]
python_shim::extension_module!(_rust_trainer, crate::cli::run);
