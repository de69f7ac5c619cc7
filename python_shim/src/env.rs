//! A vectorized environment, in whatever language it is written.
//!
//! [`VecEnv`] is the interface that training uses, and the whole of what `atari_wrappers.VecEnv` does.
//! A step is split into [`VecEnv::send`] and [`VecEnv::recv`], so that several groups of environments
//! can be in flight, and observations are written as they are (uint8 for images) straight into memory
//! of the caller's. With same-step autoreset, the default, episodes restart within the step that ends
//! them: the observation received after an end is the first of the next episode.

mod batch;
mod image;
mod reset;
mod spaces;
mod sub_env;
mod value;

use std::time::Duration;

pub use batch::{Episode, FinalInfo, StepBatch};
pub use image::Image;
pub use reset::ResetRequest;
pub use spaces::{ActionBatch, ActionSpace, Actions, AutoresetMode, ObsSpec};
pub use sub_env::{SubEnv, SubEnvs};
pub use value::{Array, ArrayData, MakeOptions, Value};

use crate::EnvError;

/// A batch of environments, stepped together.
///
/// An environment written in Rust has to supply the first seven methods; the others say
/// [`EnvError::Unsupported`], or what holds of a batch without more to it, until they are supplied.
///
/// Observations are written as raw bytes in native endianness: a row of [`ObsSpec::num_bytes`] for each
/// environment, C order. `indices` are those of environments, `None` for all. Whatever looks into the
/// environments (resets, pictures, attributes, states) is [`EnvError::Order`] while a step is in flight.
///
/// After [`EnvError::Worker`] and [`EnvError::Timeout`] the batch goes on: the step is still in flight.
pub trait VecEnv: Send {
    /// Number of environments in the batch.
    fn num_envs(&self) -> usize;

    /// Shape and type of one observation.
    fn obs_spec(&self) -> &ObsSpec;

    /// Number of discrete actions; valid ones are `0..num_actions`. 0 for other action spaces.
    fn num_actions(&self) -> i64;

    /// Starts new episodes everywhere and writes their first observations to `obs`.
    ///
    /// `seed` makes the batch reproducible; the environments of one batch still differ. A step that
    /// was sent and not received is dropped.
    ///
    /// # Errors
    /// [`EnvError::BufferSize`] for a buffer of the wrong length, [`EnvError::Closed`] after
    /// [`VecEnv::close`], [`EnvError::Worker`] where an environment failed, [`EnvError::Order`] where
    /// fewer environments than a batch takes are in flight.
    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError>;

    /// Starts one step and returns at once; emulation goes on in its own threads. One discrete action
    /// for each environment received last, all of them after a reset.
    ///
    /// # Errors
    /// [`EnvError::ActionCount`] and [`EnvError::ActionRange`] before anything is sent,
    /// [`EnvError::Order`] without a reset or when a step is already in flight.
    fn send(&mut self, actions: &[i64]) -> Result<(), EnvError>;

    /// Waits for the step in flight, or for the first [`VecEnv::batch_size`] environments of it that
    /// are ready; writes their next observations to `obs`, a row each, and the rest to `batch`.
    ///
    /// # Errors
    /// [`EnvError::Order`] when no step is in flight, [`EnvError::BufferSize`] for a buffer of the
    /// wrong length (the step stays in flight), [`EnvError::Worker`] where an environment failed.
    fn recv(&mut self, obs: &mut [u8], batch: &mut StepBatch) -> Result<(), EnvError>;

    /// Frees what the environments hold. Closing twice is fine; any other call afterwards is
    /// [`EnvError::Closed`].
    ///
    /// # Errors
    /// [`EnvError::Python`] for what the environment raises while it closes.
    fn close(&mut self) -> Result<(), EnvError>;

    /// What steps the environments: `ale`, `sync` or `async` for those of Python.
    #[expect(clippy::unnecessary_literal_bound, reason = "others own the name")]
    fn backend(&self) -> &str {
        "rust"
    }

    /// The actions of one environment.
    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete {
            n: self.num_actions(),
        }
    }

    /// Players in each environment, 1 or 2.
    fn num_players(&self) -> usize {
        1
    }

    /// Environments that one [`VecEnv::recv`] waits for.
    fn batch_size(&self) -> usize {
        self.num_envs()
    }

    /// When an ended episode is followed by the next.
    fn autoreset_mode(&self) -> AutoresetMode {
        AutoresetMode::SameStep
    }

    /// Does [`VecEnv::reset_async`], then [`VecEnv::reset_wait`].
    ///
    /// # Errors
    /// Theirs.
    fn reset_with(
        &mut self,
        request: &ResetRequest,
        obs: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        check_length(obs, self.num_envs() * self.obs_spec().num_bytes())?;
        self.reset_async(request)?;
        self.reset_wait(obs, batch, None)
    }

    /// Begins to restart environments and returns at once. Where batches are smaller than
    /// [`VecEnv::num_envs`], [`VecEnv::recv`] may take the results by parts.
    ///
    /// # Errors
    /// [`EnvError::Order`] while something is in flight, or for a mask before the first whole reset.
    fn reset_async(&mut self, _request: &ResetRequest) -> Result<(), EnvError> {
        Err(EnvError::unsupported::<Self>("reset_async"))
    }

    /// Waits for the reset that was begun; writes the observations of all environments to `obs`, and
    /// what is known of them to `batch`.
    ///
    /// # Errors
    /// [`EnvError::Order`] where none was begun, [`EnvError::Timeout`] after `timeout`,
    /// [`EnvError::BufferSize`], [`EnvError::Worker`].
    fn reset_wait(
        &mut self,
        _obs: &mut [u8],
        _batch: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        Err(EnvError::unsupported::<Self>("reset_wait"))
    }

    /// Restarts one environment; writes its first observation to `obs_row`, and what is known of all
    /// to `batch`.
    ///
    /// # Errors
    /// [`EnvError::NoSuchEnv`], and those of [`VecEnv::reset_with`].
    fn reset_at(
        &mut self,
        index: usize,
        seed: Option<u64>,
        obs_row: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        let (num_envs, row_bytes) = (self.num_envs(), self.obs_spec().num_bytes());
        if index >= num_envs {
            return Err(EnvError::NoSuchEnv { index, num_envs });
        }
        check_length(obs_row, row_bytes)?;
        let mut obs = vec![0; num_envs * row_bytes];
        self.reset_with(&ResetRequest::only(index, seed, num_envs), &mut obs, batch)?;
        obs_row.copy_from_slice(&obs[index * row_bytes..][..row_bytes]);
        Ok(())
    }

    /// Does what [`VecEnv::send`] does, for actions of any kind, and for the environments that
    /// `env_ids` names; `None`: those received last.
    ///
    /// # Errors
    /// Those of [`VecEnv::send`]; [`EnvError::ActionKind`] for actions of the wrong kind.
    fn send_actions(
        &mut self,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
    ) -> Result<(), EnvError> {
        match (actions, env_ids) {
            (Actions::Discrete(actions), None) => self.send(actions),
            (Actions::Continuous(_), None) => Err(EnvError::ActionKind {
                space: self.action_space(),
            }),
            (_, Some(_)) => Err(EnvError::unsupported::<Self>("send_actions with env_ids")),
        }
    }

    /// Does what [`VecEnv::recv`] does, but waits at most for `timeout`. Not every environment can:
    /// one that steps in this thread is waited for.
    ///
    /// # Errors
    /// Those of [`VecEnv::recv`]; [`EnvError::Timeout`], after which to receive again.
    fn recv_timeout(
        &mut self,
        obs: &mut [u8],
        batch: &mut StepBatch,
        _timeout: Duration,
    ) -> Result<(), EnvError> {
        self.recv(obs, batch)
    }

    /// Does [`VecEnv::send`], then [`VecEnv::recv`].
    ///
    /// # Errors
    /// Theirs.
    fn step(
        &mut self,
        actions: &[i64],
        obs: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        self.send(actions)?;
        self.recv(obs, batch)
    }

    /// Seeds what [`VecEnv::sample_actions`] draws.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`].
    fn seed_actions(&mut self, _seed: u64) -> Result<(), EnvError> {
        Err(EnvError::unsupported::<Self>("seed_actions"))
    }

    /// Draws random actions for all environments.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`].
    fn sample_actions(&mut self) -> Result<ActionBatch, EnvError> {
        Err(EnvError::unsupported::<Self>("sample_actions"))
    }

    /// What each environment shows.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`].
    fn render(&mut self) -> Result<Vec<Image>, EnvError> {
        Err(EnvError::unsupported::<Self>("render"))
    }

    /// What one environment shows.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`].
    fn render_at(&mut self, _index: usize) -> Result<Image, EnvError> {
        Err(EnvError::unsupported::<Self>("render_at"))
    }

    /// What all environments show, side by side in one picture.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`].
    fn render_tiles(&mut self) -> Result<Image, EnvError> {
        Err(EnvError::unsupported::<Self>("render_tiles"))
    }

    /// Each environment's attribute `name`, called with the arguments if it is a method.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`], also for what is not a [`Value`].
    fn call(
        &mut self,
        _name: &str,
        _args: &[Value],
        _kwargs: &[(&str, Value)],
        _indices: Option<&[usize]>,
    ) -> Result<Vec<Value>, EnvError> {
        Err(EnvError::unsupported::<Self>("call"))
    }

    /// An attribute of each environment.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`], also for what is not a [`Value`].
    fn get_attr(&mut self, name: &str, indices: Option<&[usize]>) -> Result<Vec<Value>, EnvError> {
        self.call(name, &[], &[], indices)
    }

    /// Sets an attribute of each environment to the value for it; a single value counts for all.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`].
    fn set_attr(
        &mut self,
        _name: &str,
        _values: &[Value],
        _indices: Option<&[usize]>,
    ) -> Result<(), EnvError> {
        Err(EnvError::unsupported::<Self>("set_attr"))
    }

    /// The whole state of each environment, the emulator's and everything around it. Brought back, it
    /// replays identically, in this batch or in another of the same id and settings.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`].
    fn save_state(&mut self, _indices: Option<&[usize]>) -> Result<Vec<Vec<u8>>, EnvError> {
        Err(EnvError::unsupported::<Self>("save_state"))
    }

    /// Brings environments to states that were saved, one for each; writes the observations of the
    /// whole batch to `obs` and what is known of it to `batch`. Only take states from where you trust:
    /// those of Python's environments are pickles.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`], [`EnvError::BufferSize`], [`EnvError::Order`] before the first reset.
    fn restore_state(
        &mut self,
        _states: &[Vec<u8>],
        _indices: Option<&[usize]>,
        _obs: &mut [u8],
        _batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        Err(EnvError::unsupported::<Self>("restore_state"))
    }

    /// Makes environments that failed anew, and returns which: those that shared a process go together.
    /// Receiving again then completes the step.
    ///
    /// # Errors
    /// [`EnvError::Worker`] where one failed again.
    fn restart_workers(&mut self, _indices: Option<&[usize]>) -> Result<Vec<usize>, EnvError> {
        Ok(Vec::new())
    }

    /// Ids of the processes that step the environments, in the order of these; none where this one does.
    ///
    /// # Errors
    /// [`EnvError::Closed`].
    fn worker_pids(&self) -> Result<Vec<u32>, EnvError> {
        Ok(Vec::new())
    }
}

/// Refuses a buffer of another length than `expected` bytes.
pub(crate) fn check_length(buffer: &[u8], expected: usize) -> Result<(), EnvError> {
    if buffer.len() == expected {
        Ok(())
    } else {
        Err(EnvError::BufferSize {
            expected,
            got: buffer.len(),
        })
    }
}
