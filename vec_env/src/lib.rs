//! Batches of reinforcement-learning environments, in whatever language they are written.
//!
//! [`VecEnv`] is what training asks of a batch. A step is split into [`VecEnv::send`] and
//! [`VecEnv::recv`], so that several batches can be in flight, and observations are written as they are
//! (uint8 for images) straight into memory of the caller's, named when the actions are sent
//! ([`ObsSlot`]). With same-step autoreset, the default, episodes restart within the step that ends
//! them: the observation received after an end is the first of the next episode.
//!
//! [`SyncVecEnv`] makes a batch of any single environment written in Rust ([`Env`]), such as those in
//! [`envs`], and [`ThreadedVecEnv`] one that several threads step:
//!
//! ```
//! use vec_env::{Actions, StepBatch, SyncVecEnv, VecEnv, envs::CartPole};
//!
//! let mut envs = SyncVecEnv::new(8, |index| CartPole::new(index as u64))?;
//! let mut obs = vec![0; 8 * envs.obs_spec().num_bytes()];
//! let mut step = StepBatch::default();
//! envs.reset(Some(0), &mut obs)?;
//! envs.step(Actions::Discrete(&[1; 8]), &mut obs, &mut step)?;
//! assert_eq!(step.reward, [1.0; 8]);
//! # Ok::<(), vec_env::EnvError>(())
//! ```
//!
//! This crate knows neither Python nor any tensor library.

mod agent_rows;
mod agents;
mod checks;
pub mod env;
pub mod envs;
mod error;
mod picture;
pub mod pool;
mod slot;
mod spaces;
mod step;
mod sub_env;
mod sync;
mod threaded;
mod turn;
mod vec_env;
#[cfg(feature = "window")]
mod window;

pub use agent_rows::{AgentRows, RowLayout};
pub use agents::{Agent, MultiAgentEnv};
pub use env::{Env, Transition};
pub use error::EnvError;
pub use picture::Picture;
pub use slot::{ObsBuffer, ObsSlot};
pub use spaces::{ActionBatch, ActionSpace, Actions, AutoresetMode, BatchSpec, Dtype, ObsSpec};
pub use step::{Episode, StepBatch};
pub use sync::SyncVecEnv;
pub use threaded::ThreadedVecEnv;
pub use vec_env::VecEnv;
#[cfg(feature = "window")]
pub use window::Window;

/// The README, whose example is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
