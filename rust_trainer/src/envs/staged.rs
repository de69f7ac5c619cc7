//! [`Staged`]: a batch whose observations are shown otherwise than it writes them.

use std::time::Duration;

use vec_env::{Actions, EnvError, ObsBuffer, ObsSlot, StepBatch, VecEnv};

/// A batch that writes its observations to memory of its own; whoever stands above it makes of them what is
/// asked for.
pub(super) struct Staged<Env: ?Sized> {
    pub env: Box<Env>,
    /// What the last step brought.
    pub step: StepBatch,
    obs: ObsBuffer,
    /// Where the observations of the step in flight are asked for.
    slot: Option<ObsSlot>,
}

impl<Env: VecEnv + ?Sized> Staged<Env> {
    pub fn new(env: Box<Env>) -> Self {
        Self {
            obs: ObsBuffer::new(env.spec().obs_bytes()),
            env,
            step: StepBatch::default(),
            slot: None,
        }
    }

    /// Resets; what all environments show.
    pub fn reset(&mut self, seed: Option<u64>) -> Result<Vec<u8>, EnvError> {
        self.slot = None;
        // A step in flight may hold the other memory until the batch drops it.
        let mut shown = vec![0; self.env.spec().obs_bytes()];
        self.env.reset(seed, &mut shown)?;
        Ok(shown)
    }

    /// Brings the environments to `states`; what all of them show.
    pub fn restore_state(&mut self, states: &[Vec<u8>]) -> Result<Vec<u8>, EnvError> {
        let mut seen = vec![0; self.env.spec().obs_bytes()];
        self.env.restore_state(states, &mut seen)?;
        self.slot = None;
        Ok(seen)
    }

    pub fn is_in_flight(&self) -> bool {
        self.slot.is_some()
    }

    /// Sends actions; what is made of the observations goes to `slot`.
    pub fn send(&mut self, actions: Actions<'_>, slot: ObsSlot) -> Result<(), EnvError> {
        self.env.send(actions, self.obs.slot())?;
        self.slot = Some(slot);
        Ok(())
    }

    /// Receives the step in flight: the observations, and where that goes which is made of them.
    pub fn recv(&mut self, timeout: Option<Duration>) -> Result<(ObsSlot, ObsSlot), EnvError> {
        if let Err(error) = self.env.recv_timeout(&mut self.step, timeout) {
            if !error.is_in_flight() {
                self.slot = None;
            }
            return Err(error);
        }
        let order = || EnvError::Order("no step is in flight: call `send` first".to_owned());
        Ok((self.obs.slot(), self.slot.take().ok_or_else(order)?))
    }

    pub fn close(&mut self) -> Result<(), EnvError> {
        self.slot = None;
        self.env.close()
    }
}
