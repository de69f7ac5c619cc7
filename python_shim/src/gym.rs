//! [`VecGymEnv`]: a batch of Gymnasium environments, made and stepped by the Python package
//! `atari_wrappers`. Here are the trait's methods; `env` makes and ends it, `tensors` has the methods of
//! tch-rs' example, `inspect` and `resets` what else a batch can do, and `calls` calls Python.

mod arrays;
mod calls;
mod env;
mod inspect;
mod resets;
mod results;
mod spaces;
mod tensors;

use std::{mem, time::Duration};

use vec_env::{Actions, BatchSpec, EnvError, ObsSlot, StepBatch, VecEnv};

pub use env::VecGymEnv;
pub use resets::ResetRequest;
pub use tensors::Step;

impl VecEnv for VecGymEnv {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_open()?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
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
        Self::worker_pids(self).unwrap_or_default()
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
