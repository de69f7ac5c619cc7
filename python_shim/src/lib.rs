//! Vectorized Gymnasium environments for Rust programs that learn with libtorch.
//!
//! This is the one crate that knows about Python: it brings up the virtual environment's interpreter
//! inside the program, crosses into the package `atari_wrappers` with the GIL attached no longer than
//! a call takes, and hands out observations as bytes ([`VecEnv`](vec_env::VecEnv)) or tensors ([`VecGymEnv`]).
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
#[doc = include_str!("../../docs/rust.md")]
#[doc = include_str!("../README.md")]
struct Readme;

mod atari;
mod call;
pub mod distributed;
pub mod doctor;
mod error;
mod extension;
mod gym;
pub mod interpreter;
mod parallel;
pub mod tracker;
mod value;
mod variables;
mod video;

pub use atari::AtariRequest;
pub use call::call;
pub use error::{env_error, py_err};
pub use extension::{Hear, run_heard};
pub use gym::{ResetRequest, Step, VecGymEnv};
pub use interpreter::shutdown;
pub use parallel::ParallelEnv;
pub use pyo3::{PyErr, PyResult};
/// The libtorch bindings of the tensors here.
pub use tch;
pub use value::{Array, ArrayData, MakeOptions, Value};
/// The interface that training uses, which [`VecGymEnv`] implements.
pub use vec_env;
pub use video::VideoFile;

/// For the code that [`extension_module!`] makes.
#[doc(hidden)]
pub use pyo3;
