//! The calls into Python.
//!
//! The GIL is attached for the two Python calls of a step only. Both return or wait without it while
//! the environments work, and observations are copied after it has been let go. What is in flight is on
//! Python's ticket, and asked there: of its own this side has the memory that it copies to.

use pyo3::{buffer::PyUntypedBuffer, intern, prelude::*, types::PyDict};
use vec_env::{Actions, EnvError, ObsSlot, StepBatch};

use super::{ResetRequest, VecGymEnv, arrays::ActionArray};
use crate::{error::CallError, value};

impl VecGymEnv {
    /// Calls a method of the Python env.
    pub(super) fn call_python<T>(
        &self,
        method: &str,
        kwargs: impl FnOnce(Python<'_>) -> PyResult<Bound<'_, PyDict>>,
        read: impl FnOnce(Bound<'_, PyAny>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        self.check_open()?;
        Python::attach(|py| {
            let env = self.env.bind(py);
            read(env.call_method(method, (), Some(&kwargs(py)?))?)
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
        self.call_python("drop_pending", |py| Ok(PyDict::new(py)), |_| Ok(()))?;
        self.slot.replace(None);
        self.call_python(
            "reset",
            |py| keywords(py, "seed", seed),
            |result| self.read_reset(&result, batch),
        )
    }

    pub(super) fn begin_reset(&self, request: &ResetRequest) -> Result<(), CallError> {
        self.call_python("reset_async", |py| reset_keywords(py, request), |_| Ok(()))?;
        self.slot.replace(None);
        Ok(())
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
                EnvError::check_length(slot, num_rows * self.spaces.batch.obs_spec.num_bytes())?;
            }
            let smaller;
            let array = if actions.len() == self.actions.len() {
                &self.actions
            } else {
                smaller = ActionArray::new(py, num_envs, &self.spaces.batch.action_space)?;
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
        let num_envs = env_ids.map_or(self.spaces.batch.num_envs, <[usize]>::len);
        let env_of = |row: usize| env_ids.map_or(row, |ids| ids[row]);
        self.spaces
            .batch
            .action_space
            .check(actions, num_envs, env_of)?;
        Ok(num_envs)
    }

    /// Rows of the next results once `sent` environments are in flight beside those that are.
    fn rows_after(&self, py: Python<'_>, sent: usize) -> PyResult<usize> {
        let name = intern!(py, "num_in_flight");
        let in_flight: usize = self.env.getattr(py, name)?.extract(py)?;
        Ok((in_flight + sent).min(self.spaces.batch.batch_size))
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
                EnvError::check_length(obs, num_rows * self.spaces.batch.obs_spec.num_bytes())?;
            }
            let recv = self.recv.bind(py);
            let result = match timeout {
                None => recv.call0(),
                Some(timeout) => recv.call((), Some(&keywords(py, "timeout", timeout)?)),
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

/// Keyword arguments: a single one.
pub(super) fn keywords<'py>(
    py: Python<'py>,
    name: &str,
    value: impl IntoPyObject<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let kwargs = PyDict::new(py);
    kwargs.set_item(name, value)?;
    Ok(kwargs)
}

fn reset_keywords<'py>(py: Python<'py>, request: &ResetRequest) -> PyResult<Bound<'py, PyDict>> {
    let kwargs = keywords(py, "seed", request.seeds.as_ref())?;
    kwargs.set_item(
        intern!(py, "options"),
        value::to_dict(py, &request.options)?,
    )?;
    kwargs.set_item(intern!(py, "mask"), request.mask.as_ref())?;
    Ok(kwargs)
}
