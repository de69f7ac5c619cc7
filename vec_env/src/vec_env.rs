//! [`VecEnv`]: what training asks of a batch of environments.

use std::time::Duration;

use crate::{
    error::EnvError,
    slot::{ObsBuffer, ObsSlot},
    spaces::{ActionSpace, Actions, AutoresetMode, BatchSpec, ObsSpec},
    step::StepBatch,
};

/// A batch of environments, stepped together.
///
/// Observations are written as raw bytes in native endianness: a row of [`ObsSpec::num_bytes`] for each
/// environment, C order.
///
/// After [`EnvError::Worker`] and [`EnvError::Timeout`] the batch goes on: the step is still in flight,
/// and the batch keeps its slot.
pub trait VecEnv: Send {
    /// What the batch is; it stays that.
    fn spec(&self) -> &BatchSpec;

    /// Starts new episodes everywhere and writes their first observations to `obs`.
    ///
    /// `seed` makes the batch reproducible; the environments of one batch still differ. A step that
    /// was sent and not received is dropped, and its slot with it.
    ///
    /// # Errors
    /// [`EnvError::BufferSize`] for a buffer of the wrong length, [`EnvError::Closed`] after
    /// [`VecEnv::close`], [`EnvError::Worker`] where an environment failed.
    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError>;

    /// Starts one step and returns at once; emulation goes on in its own threads. One action for each
    /// environment received last, all of them after a reset. The next observations will be written to
    /// `obs`: a row for each environment of [`VecEnv::batch_size`].
    ///
    /// # Errors
    /// [`EnvError::ActionCount`], [`EnvError::ActionKind`], [`EnvError::ActionRange`], [`EnvError::ActionBounds`] and
    /// [`EnvError::BufferSize`] before anything is sent, [`EnvError::Order`] without a reset, when a
    /// step is already in flight, or where an ended episode waits for a reset. The slot is dropped.
    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError>;

    /// Waits for the step in flight, or for the first [`VecEnv::batch_size`] environments of it that
    /// are ready. Their observations are in the slot when this returns, and the slot is dropped; the
    /// rest is written to `step`. It waits at most for `timeout`, if there is one; not every environment
    /// can: one that steps in this thread is waited for.
    ///
    /// # Errors
    /// [`EnvError::Order`] when no step is in flight, [`EnvError::Worker`] where an environment failed,
    /// [`EnvError::Timeout`], after which to receive again.
    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError>;

    /// Frees what the environments hold, and the slot of a step in flight. Closing twice is fine; any
    /// other call afterwards is [`EnvError::Closed`].
    ///
    /// # Errors
    /// [`EnvError::Backend`] for what the environments raise while they close.
    fn close(&mut self) -> Result<(), EnvError>;

    /// Waits for the step in flight, however long it takes.
    ///
    /// # Errors
    /// Those of [`VecEnv::recv_timeout`] but the timeout.
    fn recv(&mut self, step: &mut StepBatch) -> Result<(), EnvError> {
        self.recv_timeout(step, None)
    }

    /// [`BatchSpec::backend`].
    fn backend(&self) -> &str {
        &self.spec().backend
    }

    /// [`BatchSpec::num_envs`].
    fn num_envs(&self) -> usize {
        self.spec().num_envs
    }

    /// [`BatchSpec::num_players`].
    fn num_players(&self) -> usize {
        self.spec().num_players
    }

    /// [`BatchSpec::batch_size`].
    fn batch_size(&self) -> usize {
        self.spec().batch_size
    }

    /// [`BatchSpec::obs_spec`].
    fn obs_spec(&self) -> &ObsSpec {
        &self.spec().obs_spec
    }

    /// [`BatchSpec::action_space`].
    fn action_space(&self) -> &ActionSpace {
        &self.spec().action_space
    }

    /// [`BatchSpec::autoreset_mode`].
    fn autoreset_mode(&self) -> AutoresetMode {
        self.spec().autoreset_mode
    }

    /// The processes in which environments run beside this one, which may be ended where nothing else ends a
    /// call: it is [`EnvError::Worker`] then.
    fn worker_pids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Makes environments that failed anew, and returns which: those that shared a process go together.
    /// Receiving again then completes the step.
    ///
    /// # Errors
    /// [`EnvError::Worker`] where one failed again.
    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        Ok(Vec::new())
    }

    /// The whole state of each environment as plain data: the game, its random numbers, its episode's
    /// record so far, what it showed last. What follows is the same to the last bit once it is brought
    /// back, in this batch or in another one made alike.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] where they cannot be saved, [`EnvError::Order`] without a reset or while
    /// a step is in flight.
    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        Err(self.has_no_states())
    }

    /// Brings every environment to a state that [`VecEnv::save_state`] returned, one for each, which is as good as a
    /// reset; writes what they showed last to `obs`. All of them, or none where one is refused. Nothing
    /// in a state runs.
    ///
    /// # Errors
    /// [`EnvError::State`] for one that is damaged or of something else, and for too few or too many;
    /// [`EnvError::BufferSize`]; [`EnvError::Unsupported`] where they cannot be brought back, [`EnvError::Order`] while a
    /// step is in flight, and without a reset where that has to come first (Python's environments).
    fn restore_state(&mut self, _states: &[Vec<u8>], _obs: &mut [u8]) -> Result<(), EnvError> {
        Err(self.has_no_states())
    }

    /// The error of environments that cannot be saved.
    fn has_no_states(&self) -> EnvError {
        EnvError::Unsupported(format!(
            "the environments of backend `{}` cannot save their states",
            self.backend()
        ))
    }

    /// Sends, receives, and copies the observations to `obs`: for a loop that keeps no store of them. Where workers may
    /// fail, send and receive: the observations of a step that is completed after [`EnvError::Worker`] are not in `obs`.
    ///
    /// # Errors
    /// Those of [`VecEnv::send`] and [`VecEnv::recv`].
    fn step(
        &mut self,
        actions: Actions<'_>,
        obs: &mut [u8],
        step: &mut StepBatch,
    ) -> Result<(), EnvError> {
        let buffer = ObsBuffer::new(obs.len());
        self.send(actions, buffer.slot())?;
        self.recv(step)?;
        obs.copy_from_slice(&buffer.take());
        Ok(())
    }
}
