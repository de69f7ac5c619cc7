//! Resets of a part of the environments, with seeds, options and masks ([`ResetRequest`]); and saved
//! states.

use std::time::Duration;

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use vec_env::{EnvError, StepBatch};

use super::env::VecGymEnv;
use crate::value::{self, Value};

/// Which environments to restart, with which seeds and options; by default all of them, whose random
/// numbers go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResetRequest {
    /// A seed for each environment of the batch; `None` where its random numbers go on.
    pub seeds: Option<Vec<Option<u64>>>,
    /// Which environments to restart; the others stay as they are. The first reset is of all.
    pub mask: Option<Vec<bool>>,
    /// Gymnasium's `options`.
    pub options: Vec<(String, Value)>,
}

impl ResetRequest {
    /// All environments, seeded `seed`, `seed + 1`, ….
    #[must_use]
    pub fn seeded(seed: u64, num_envs: usize) -> Self {
        Self {
            seeds: Some((seed..).take(num_envs).map(Some).collect()),
            ..Self::default()
        }
    }

    /// One environment of `num_envs`.
    #[must_use]
    pub fn only(index: usize, seed: Option<u64>, num_envs: usize) -> Self {
        let here = |env: usize| env == index;
        Self {
            seeds: seed.map(|seed| (0..num_envs).map(|env| here(env).then_some(seed)).collect()),
            mask: Some((0..num_envs).map(here).collect()),
            options: Vec::new(),
        }
    }

    /// The same with the environments that `mask` names.
    #[must_use]
    pub fn with_mask(self, mask: Vec<bool>) -> Self {
        Self {
            mask: Some(mask),
            ..self
        }
    }

    /// The same with one more of Gymnasium's `options`.
    #[must_use]
    pub fn with_option(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.options.push((name.to_owned(), value.into()));
        self
    }
}

/// While a step is in flight, all of these are [`EnvError::Order`].
impl VecGymEnv {
    /// Restarts environments as the request says; writes the observations of all of them to `obs`, and
    /// what is known of them to `batch`.
    ///
    /// # Errors
    /// Those of [`VecEnv::reset`](vec_env::VecEnv::reset); [`EnvError::Order`] for a mask before the first whole reset.
    pub fn reset_with(
        &mut self,
        request: &ResetRequest,
        obs: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.reset_async(request)?;
        self.reset_wait(obs, batch, None)
    }

    /// Begins what [`VecGymEnv::reset_with`] does and returns at once. Where batches are smaller than
    /// the number of environments, [`VecGymEnv::recv_into`] may take the results by parts.
    ///
    /// # Errors
    /// [`EnvError::Order`], also for a mask before the first whole reset.
    pub fn reset_async(&mut self, request: &ResetRequest) -> Result<(), EnvError> {
        self.received = None;
        let fill = |kwargs: &Bound<'_, PyDict>| {
            kwargs.set_item("seed", request.seeds.as_ref())?;
            kwargs.set_item("options", value::to_dict(kwargs.py(), &request.options)?)?;
            kwargs.set_item("mask", request.mask.as_ref())
        };
        self.call_python("reset_async", fill, |_| Ok(()))?;
        self.slot.replace(None);
        Ok(())
    }

    /// Waits for the reset that was begun; writes as [`VecGymEnv::reset_with`] does.
    ///
    /// # Errors
    /// [`EnvError::Order`] where none was begun, [`EnvError::Timeout`] after `timeout`,
    /// [`EnvError::BufferSize`], [`EnvError::Worker`].
    pub fn reset_wait(
        &mut self,
        obs: &mut [u8],
        batch: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.check_open()?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        let timeout = timeout.map(|timeout| timeout.as_secs_f64());
        let fill = |kwargs: &Bound<'_, PyDict>| kwargs.set_item("timeout", timeout);
        let buffer =
            self.call_python("reset_wait", fill, |result| self.read_reset(&result, batch))?;
        self.slot.replace(None);
        self.take(buffer, obs, batch)
    }

    /// The whole state of each environment, the emulator's and everything around it. Brought back, it
    /// replays identically, in this batch or in another of the same id and settings.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] where the environment cannot be saved.
    pub fn save_state(&mut self, indices: Option<&[usize]>) -> Result<Vec<Vec<u8>>, EnvError> {
        self.save_states(indices, false)
    }

    /// With `plain` no pickles: only states of which nothing runs when they are brought back.
    pub(super) fn save_states(
        &mut self,
        indices: Option<&[usize]>,
        plain: bool,
    ) -> Result<Vec<Vec<u8>>, EnvError> {
        let read = |states: Bound<'_, PyAny>| {
            let bytes = |state: Bound<'_, PyAny>| -> PyResult<Vec<u8>> {
                Ok(state.cast_into::<PyBytes>()?.as_bytes().to_vec())
            };
            let states = states.try_iter()?.map(|state| Ok(bytes(state?)?));
            states.collect()
        };
        let fill = |kwargs: &Bound<'_, PyDict>| {
            kwargs.set_item("indices", indices)?;
            kwargs.set_item("plain", plain)
        };
        Ok(self.call_python("save_state", fill, read)?)
    }

    /// Brings environments to states that were saved, one for each; writes the observations of the
    /// whole batch to `obs` and what is known of it to `batch`. Only take states from where you trust:
    /// those of Python's environments are pickles.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`], [`EnvError::BufferSize`], [`EnvError::Order`] before the first reset.
    pub fn restore_state(
        &mut self,
        states: &[Vec<u8>],
        indices: Option<&[usize]>,
        obs: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        self.restore_states(states, indices, false, obs, batch)
    }

    /// With `plain` no pickles.
    pub(super) fn restore_states(
        &mut self,
        states: &[Vec<u8>],
        indices: Option<&[usize]>,
        plain: bool,
        obs: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        self.check_open()?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.received = None;
        let fill = |kwargs: &Bound<'_, PyDict>| {
            let py = kwargs.py();
            kwargs.set_item("indices", indices)?;
            kwargs.set_item("plain", plain)?;
            let states = states.iter().map(|state| PyBytes::new(py, state));
            kwargs.set_item("states", PyList::new(py, states)?)
        };
        let buffer = self.call_python("restore_state", fill, |result| {
            self.read_reset(&result, batch)
        })?;
        self.slot.replace(None);
        self.take(buffer, obs, batch)
    }
}
