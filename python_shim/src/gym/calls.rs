//! The calls into Python, and what is pending between them.
//!
//! The GIL is attached for the two Python calls of a step only. Both return or wait without it while
//! the environments work, and observations are copied after it has been let go.

use std::cell::{Cell, RefCell};

use pyo3::{buffer::PyUntypedBuffer, intern, prelude::*, types::PyDict};
use vec_env::{Actions, EnvError, ObsSlot, StepBatch};

use super::{ResetRequest, VecGymEnv, arrays::ActionArray};
use crate::{
    error::{CallError, env_error},
    value,
};

/// What was sent and not received, and whose turn it is next. Python knows too, and refuses what is
/// out of order; here it is what sizes of buffers are checked against.
#[derive(Default)]
pub(super) struct Pending {
    /// Environments sent and not received.
    pub count: Cell<usize>,
    /// Where the next receive writes, if the send said so.
    pub slot: RefCell<Option<ObsSlot>>,
    /// The environments received last; none if that was all of them.
    turn: RefCell<Option<Vec<usize>>>,
    is_closed: Cell<bool>,
}

impl Pending {
    pub fn check_open(&self) -> Result<(), EnvError> {
        if self.is_closed.get() {
            return Err(EnvError::Closed);
        }
        Ok(())
    }

    /// Everything is received, and the next step takes an action for each environment.
    pub fn clear(&self) {
        self.count.set(0);
        self.slot.replace(None);
        self.turn.replace(None);
    }
}

impl VecGymEnv {
    /// Calls a method of the Python env.
    pub(super) fn call_python<T>(
        &self,
        method: &str,
        kwargs: impl FnOnce(Python<'_>) -> PyResult<Bound<'_, PyDict>>,
        read: impl FnOnce(Bound<'_, PyAny>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        self.pending.check_open()?;
        Python::attach(|py| {
            let env = self.env.bind(py);
            read(env.call_method(method, (), Some(&kwargs(py)?))?)
        })
    }

    /// Resets all and returns the first observations; `&self` for the tensor methods' sake.
    pub(super) fn reset_python(
        &self,
        seed: Option<u64>,
        batch: &mut StepBatch,
    ) -> Result<PyUntypedBuffer, CallError> {
        self.pending.check_open()?;
        if self.pending.count.get() > 0 {
            self.drop_pending()?;
        }
        let result = self.call_python(
            "reset",
            |py| keywords(py, "seed", seed),
            |result| self.read_reset(&result, batch),
        );
        self.pending.clear();
        if let Err(CallError::Python(error)) = &result
            && matches!(env_error(error), EnvError::Worker { .. })
        {
            // It goes on where nothing failed; the next reset has to receive it first.
            self.pending.count.set(self.spaces.num_envs);
        }
        result
    }

    /// Receives what is pending and forgets it.
    fn drop_pending(&self) -> Result<(), CallError> {
        let mut receive = "recv";
        while self.pending.count.get() > 0 {
            let received = self.call_python(
                receive,
                |py| Ok(PyDict::new(py)),
                |result| Ok(result.get_item(0)?.len()?),
            );
            match received.map_err(EnvError::from) {
                Ok(count) => self.pending.count.update(|left| left - count),
                // What is left is a reset, or fewer environments than a batch, which Python refuses.
                Err(EnvError::Order(_)) if receive == "recv" => receive = "reset_wait",
                Err(EnvError::Order(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(super) fn begin_reset(&self, request: &ResetRequest) -> Result<(), CallError> {
        self.call_python("reset_async", |py| reset_keywords(py, request), |_| Ok(()))?;
        let all = || vec![true; self.spaces.num_envs];
        let mask = request.mask.clone().unwrap_or_else(all);
        self.pending.clear();
        self.pending
            .count
            .set(mask.iter().filter(|&&begun| begun).count());
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
            self.pending.check_open()?;
            let num_envs = self.check_actions(actions, env_ids)?;
            if let Some(slot) = slot {
                let num_rows = self.rows_of(self.pending.count.get() + num_envs);
                EnvError::check_length(slot, num_rows * self.spaces.obs.num_bytes())?;
            }
            let smaller;
            let array = if actions.len() == self.actions.len() {
                &self.actions
            } else {
                smaller = ActionArray::new(py, num_envs, &self.spaces.actions)?;
                &smaller
            };
            array.write(py, actions);
            match env_ids {
                None => self.send.call1(py, (array.array(py),)),
                Some(ids) => self.send.call1(py, (array.array(py), ids)),
            }?;
            self.pending.count.update(|count| count + num_envs);
            Ok(())
        })
    }

    /// Returns for how many environments the actions are.
    fn check_actions(
        &self,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
    ) -> Result<usize, EnvError> {
        let turn = self.pending.turn.borrow();
        let env_ids = env_ids.or(turn.as_deref());
        let num_envs = env_ids.map_or(self.spaces.num_envs, <[usize]>::len);
        let env_of = |row: usize| env_ids.map_or(row, |ids| ids[row]);
        self.spaces.actions.check(actions, num_envs, env_of)?;
        Ok(num_envs)
    }

    /// Rows that the next call of `recv` brings.
    pub(super) fn next_rows(&self) -> usize {
        self.rows_of(self.pending.count.get())
    }

    /// Rows that a receive brings when `count` environments are pending.
    fn rows_of(&self, count: usize) -> usize {
        count.min(self.spaces.batch_size)
    }

    /// Waits for the step that was sent and fills `batch`; the observations stay in Python's memory.
    pub(super) fn recv_python(
        &self,
        timeout: Option<f64>,
        batch: &mut StepBatch,
    ) -> Result<PyUntypedBuffer, CallError> {
        self.pending.check_open()?;
        let num_rows = self.next_rows();
        let buffer = Python::attach(|py| {
            let recv = self.recv.bind(py);
            let result = match timeout {
                None => recv.call0(),
                Some(timeout) => recv.call((), Some(&keywords(py, "timeout", timeout)?)),
            }?;
            self.read_step(num_rows, &result, batch)
        })?;
        self.pending.count.update(|count| count - num_rows);
        if num_rows < self.spaces.num_envs {
            self.pending.turn.replace(Some(batch.env_ids.clone()));
        } else if self.pending.turn.borrow().is_some() {
            self.pending.turn.replace(None);
        }
        Ok(buffer)
    }

    /// Closes once; what a closed environment held is freed by Python.
    pub(super) fn close_python(&self) -> Result<(), CallError> {
        if self.pending.is_closed.replace(true) {
            return Ok(());
        }
        self.pending.clear();
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
