//! Vectorized Gymnasium environments for Rust programs that learn with libtorch.
//!
//! This is the one crate that knows about Python: it brings up the virtual environment's interpreter
//! inside the program, crosses into the package `atari_wrappers` with the GIL attached no longer than
//! a call takes, and hands out observations as bytes ([`VecEnv`]) or tensors ([`VecGymEnv`]).
//!
//! ```no_run
//! use python_shim::{PyResult, VecGymEnv};
//!
//! fn main() -> PyResult<()> {
//!     let env = VecGymEnv::new("SpaceInvadersNoFrameskip-v4", None, 8)?;
//!     assert_eq!(env.observation_space(), [8, 4, 84, 84]);
//!     let mut obs = env.reset()?; // Float [8, 4, 84, 84]
//!     for _ in 0..100 {
//!         let actions = (0..8).map(|_| obs.int64_value(&[0, 0, 0, 0]) % env.action_space()).collect();
//!         let step = env.step(actions)?;
//!         println!("{} of 8 episodes ended", step.is_done.sum(tch::Kind::Float));
//!         obs = step.obs;
//!     }
//!     Ok(())
//! }
//! ```
//!
//! `examples/random_policy.rs` is a whole program, and `README.md` says what the build script of
//! another crate needs so that its program finds libpython and libtorch.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod doctor;
mod env;
mod error;
mod extension;
mod gym;
pub mod interpreter;
pub mod python;

pub use env::{
    ActionBatch, ActionSpace, Actions, Array, ArrayData, AutoresetMode, Episode, FinalInfo, Image,
    MakeOptions, ObsSpec, ResetRequest, StepBatch, SubEnv, SubEnvs, Value, VecEnv,
};
pub use error::EnvError;
pub use gym::{Step, VecGymEnv};
pub use interpreter::shutdown;
pub use pyo3::{PyErr, PyResult};

/// For the code that [`extension_module!`] makes.
#[doc(hidden)]
pub use pyo3;
