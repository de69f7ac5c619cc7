//! `VecGymEnv` as a [`VecEnv`].

use std::{mem, time::Duration};

use pyo3::{buffer::PyUntypedBuffer, prelude::*};
use vec_env::{Actions, BatchSpec, EnvError, ObsSlot, StepBatch, VecEnv};

use super::{VecGymEnv, arrays, finite};

impl VecGymEnv {
    /// Copies observations and keeps their memory until the next call; refuses those, and rewards in `batch`,
    /// that are not finite.
    pub(super) fn take(
        &mut self,
        buffer: PyUntypedBuffer,
        obs: &mut [u8],
        batch: &StepBatch,
    ) -> Result<(), EnvError> {
        obs.copy_from_slice(arrays::bytes(&buffer));
        self.received = Some(buffer);
        finite::check(&self.id, &self.spaces.batch.obs_spec, obs, batch)
    }

    /// Does what [`VecEnv::send`] does for the environments that `env_ids` names (`None`: those received
    /// last), whose observations [`VecGymEnv::recv_into`] will take.
    ///
    /// # Errors
    /// Those of [`VecEnv::send`].
    pub fn send_to(
        &mut self,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
    ) -> Result<(), EnvError> {
        let received = mem::take(&mut self.received);
        Ok(self.send_python(actions, env_ids, None, received)?)
    }

    /// Waits for what [`VecGymEnv::send_to`] sent, or [`VecGymEnv::reset_async`] began, at most for
    /// `timeout`; writes observations to `obs`, a row for each environment received.
    ///
    /// # Errors
    /// Those of [`VecEnv::recv_timeout`]; [`EnvError::BufferSize`], after which to receive again.
    pub fn recv_into(
        &mut self,
        obs: &mut [u8],
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        let timeout = timeout.map(|timeout| timeout.as_secs_f64());
        let buffer = self.recv_python(timeout, Some(obs), step)?;
        self.take(buffer, obs, step)
    }
}

impl VecEnv for VecGymEnv {
    fn spec(&self) -> &BatchSpec {
        &self.spaces.batch
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_open()?;
        EnvError::check_length(obs, self.spaces.batch.obs_bytes())?;
        self.received = None;
        let mut batch = StepBatch::default();
        let buffer = self.reset_python(seed, &mut batch)?;
        self.take(buffer, obs, &batch)
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.check_open()?;
        if self.slot.borrow().is_some() {
            return Err(EnvError::Order(
                "a step is in flight: call `recv` first".to_owned(),
            ));
        }
        let received = mem::take(&mut self.received);
        self.send_python(actions, None, Some(&obs), received)?;
        self.slot.replace(Some(obs));
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.check_open()?;
        let Some(mut slot) = self.slot.take() else {
            return Err(EnvError::Order(
                "no step is in flight: call `send` first".to_owned(),
            ));
        };
        let received = self.recv_into(&mut slot, step, timeout);
        if received.as_ref().is_err_and(EnvError::is_in_flight) {
            self.slot.replace(Some(slot));
        }
        received
    }

    fn worker_pids(&self) -> Vec<u32> {
        let read = |py: Python<'_>| self.env.bind(py).getattr("worker_pids")?.extract();
        Python::attach(read).unwrap_or_default()
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        self.restart_workers_at(None)
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.save_states(None, true)
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.restore_states(states, None, true, obs, &mut StepBatch::default())
            .map_err(|error| match error {
                EnvError::Backend {
                    message,
                    is_usage: true,
                    ..
                } => EnvError::State(message),
                error => error,
            })
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.received = None;
        Ok(self.close_python()?)
    }
}
