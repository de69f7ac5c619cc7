//! Batches of reinforcement-learning environments, in whatever language they are written.
//!
//! [`VecEnv`] is what training asks of a batch. A step is split into [`VecEnv::send`] and
//! [`VecEnv::recv`], so that several batches can be in flight, and observations are written as they are
//! (uint8 for images) straight into memory of the caller's, named when the actions are sent
//! ([`ObsSlot`]). With same-step autoreset, the default, episodes restart within the step that ends
//! them: the observation received after an end is the first of the next episode.
//!
//! This crate knows neither Python nor any tensor library.

mod error;
mod slot;
mod spaces;
mod step;
mod vec_env;

pub use error::EnvError;
pub use slot::{ObsBuffer, ObsSlot};
pub use spaces::{ActionBatch, ActionSpace, Actions, AutoresetMode, Dtype, ObsSpec};
pub use step::{Episode, FinalInfo, StepBatch};
pub use vec_env::VecEnv;
