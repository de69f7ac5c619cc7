//! The calls into Python.
//!
//! The GIL is attached for the two Python calls of a step only. Both return or wait without it while
//! the environments work, and observations are copied after it has been let go. What is in flight is on
//! Python's ticket, and asked there: of its own this side has the memory that it copies to.

use std::{mem, time::Duration};

use pyo3::{
    buffer::PyUntypedBuffer,
    intern,
    prelude::*,
    types::{IntoPyDict, PyDict},
};
use vec_env::{Actions, EnvError, ObsSlot, StepBatch};

use super::{
    arrays::{self, ActionArray},
    env::VecGymEnv,
    results,
};
use crate::error::CallError;

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
        results::check_finite(&self.id, &self.spec.obs_spec, obs, batch)
    }

    /// Does what [`VecEnv::send`](vec_env::VecEnv::send) does for the environments that `env_ids` names (`None`: those received
    /// last), whose observations [`VecGymEnv::recv_into`] will take.
    ///
    /// # Errors
    /// Those of [`VecEnv::send`](vec_env::VecEnv::send).
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
    /// Those of [`VecEnv::recv_timeout`](vec_env::VecEnv::recv_timeout); [`EnvError::BufferSize`], after which to receive again.
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

    /// Calls Python with its env, unless that is closed.
    pub(super) fn with_env<T>(
        &self,
        call: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        self.check_open()?;
        Python::attach(|py| call(self.env.bind(py)))
    }

    /// Calls a method of the Python env with the keyword arguments that `fill` sets.
    pub(super) fn call_python<T>(
        &self,
        method: &str,
        fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
        read: impl FnOnce(Bound<'_, PyAny>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        self.with_env(|env| {
            let kwargs = PyDict::new(env.py());
            fill(&kwargs)?;
            read(env.call_method(method, (), Some(&kwargs))?)
        })
    }

    pub(super) fn check_open(&self) -> Result<(), EnvError> {
        if self.is_closed.get() {
            return Err(EnvError::Closed);
        }
        Ok(())
    }

    /// Resets all and returns the first observations; `&self` for the tensor methods' sake.
    pub(super) fn reset_python(
        &self,
        seed: Option<u64>,
        batch: &mut StepBatch,
    ) -> Result<PyUntypedBuffer, CallError> {
        self.call_python("drop_pending", |_| Ok(()), |_| Ok(()))?;
        self.slot.replace(None);
        let fill = |kwargs: &Bound<'_, PyDict>| kwargs.set_item("seed", seed);
        self.call_python("reset", fill, |result| self.read_reset(&result, batch))
    }

    pub(super) fn send_python(
        &self,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
        slot: Option<&ObsSlot>,
        received: Option<PyUntypedBuffer>,
    ) -> Result<(), CallError> {
        Python::attach(|py| {
            if let Some(buffer) = received {
                buffer.release(py);
            }
            self.check_open()?;
            let num_envs = self.check_actions(py, actions, env_ids)?;
            if let Some(slot) = slot {
                let num_rows = self.rows_after(py, num_envs)?;
                EnvError::check_length(slot, num_rows * self.spec.obs_spec.num_bytes())?;
            }
            let smaller;
            let array = if actions.len() == self.actions.len() {
                &self.actions
            } else {
                smaller = ActionArray::new(py, num_envs, &self.spec.action_space)?;
                &smaller
            };
            array.write(py, actions);
            match env_ids {
                None => self.send.call1(py, (array.array(py),)),
                Some(ids) => self.send.call1(py, (array.array(py), ids)),
            }?;
            Ok(())
        })
    }

    /// Returns for how many environments the actions are: those named, or those whose turn it is.
    fn check_actions(
        &self,
        py: Python<'_>,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
    ) -> Result<usize, CallError> {
        let turn: Option<Vec<usize>> = match env_ids {
            Some(_) => None,
            None => self.env.getattr(py, intern!(py, "turn"))?.extract(py)?,
        };
        let env_ids = env_ids.or(turn.as_deref());
        let num_envs = env_ids.map_or(self.spec.num_envs, <[usize]>::len);
        let env_of = |row: usize| env_ids.map_or(row, |ids| ids[row]);
        let space = &self.spec.action_space;
        space.check(actions, num_envs, env_of)?;
        Ok(num_envs)
    }

    /// Rows of the next results once `sent` environments are in flight beside those that are.
    fn rows_after(&self, py: Python<'_>, sent: usize) -> PyResult<usize> {
        let name = intern!(py, "num_in_flight");
        let in_flight: usize = self.env.getattr(py, name)?.extract(py)?;
        Ok((in_flight + sent).min(self.spec.batch_size))
    }

    /// Waits for the step that was sent and fills `batch`; the observations stay in Python's memory. `obs` is where they
    /// are to be copied to.
    pub(super) fn recv_python(
        &self,
        timeout: Option<f64>,
        obs: Option<&[u8]>,
        batch: &mut StepBatch,
    ) -> Result<PyUntypedBuffer, CallError> {
        self.check_open()?;
        Python::attach(|py| {
            let num_rows = self.rows_after(py, 0)?;
            if let Some(obs) = obs
                && num_rows > 0
            {
                EnvError::check_length(obs, num_rows * self.spec.obs_spec.num_bytes())?;
            }
            let recv = self.recv.bind(py);
            let result = match timeout {
                None => recv.call0(),
                Some(timeout) => recv.call((), Some(&[("timeout", timeout)].into_py_dict(py)?)),
            }?;
            self.read_step(num_rows, &result, batch)
        })
    }

    /// Closes once; what a closed environment held is freed by Python.
    pub(super) fn close_python(&self) -> Result<(), CallError> {
        if self.is_closed.replace(true) {
            return Ok(());
        }
        self.slot.replace(None);
        // No interpreter, no environment: a host that ended Python has freed it.
        let closed =
            Python::try_attach(|py| self.env.call_method0(py, intern!(py, "close")).map(drop));
        Ok(closed.unwrap_or(Ok(()))?)
    }
}
