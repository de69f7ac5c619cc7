//! [`Turn`]: which call a batch that steps in the calling thread may take next.

use crate::{
    error::EnvError,
    slot::ObsSlot,
    spaces::{ActionBatch, Actions, BatchSpec},
};

/// How far the calls of a batch have come, and the step in flight.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    was_reset: bool,
    in_flight: Option<(ActionBatch, ObsSlot)>,
    is_closed: bool,
}

impl Turn {
    fn check_open(&self) -> Result<(), EnvError> {
        if self.is_closed {
            return Err(EnvError::Closed);
        }
        Ok(())
    }

    fn check_idle(&self, call: &str) -> Result<(), EnvError> {
        self.check_open()?;
        if self.in_flight.is_some() {
            return Err(EnvError::Order(format!("{call}: call recv first")));
        }
        Ok(())
    }

    /// Refuses `call` while a step is in flight, and before a reset.
    pub(crate) fn check_ready(&self, call: &str) -> Result<(), EnvError> {
        self.check_idle(call)?;
        if !self.was_reset {
            return Err(EnvError::Order(format!("{call}: call reset first")));
        }
        Ok(())
    }

    /// Begins a reset, which drops the step in flight; [`Turn::set_ready`] follows.
    pub(crate) fn begin_reset(&mut self, spec: &BatchSpec, obs: &[u8]) -> Result<(), EnvError> {
        self.check_open()?;
        EnvError::check_length(obs, spec.obs_bytes())?;
        self.in_flight = None;
        Ok(())
    }

    /// Begins to restore states; [`Turn::set_ready`] follows, too.
    pub(crate) fn begin_restore(&self, spec: &BatchSpec, obs: &[u8]) -> Result<(), EnvError> {
        self.check_idle("restore_state")?;
        EnvError::check_length(obs, spec.obs_bytes())
    }

    /// Lets steps follow: every environment was reset or restored.
    pub(crate) fn set_ready(&mut self) {
        self.was_reset = true;
    }

    /// Keeps a step until [`Turn::recv`].
    pub(crate) fn send(
        &mut self,
        spec: &BatchSpec,
        actions: Actions<'_>,
        obs: ObsSlot,
    ) -> Result<(), EnvError> {
        self.check_ready("send")?;
        spec.action_space.check(actions, spec.num_envs, |row| row)?;
        spec.action_space.check_bounds(actions, |row| row)?;
        EnvError::check_length(&obs, spec.obs_bytes())?;
        self.in_flight = Some((actions.to_batch(), obs));
        Ok(())
    }

    /// Takes the step in flight.
    pub(crate) fn recv(&mut self) -> Result<(ActionBatch, ObsSlot), EnvError> {
        self.check_open()?;
        let none = || EnvError::Order("recv: call send first".to_owned());
        self.in_flight.take().ok_or_else(none)
    }

    pub(crate) fn close(&mut self) {
        self.is_closed = true;
        self.in_flight = None;
    }
}
