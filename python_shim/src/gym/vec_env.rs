//! `VecGymEnv` as a [`VecEnv`].

use std::{mem, time::Duration};

use pyo3::{
    buffer::PyUntypedBuffer,
    intern,
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};

use super::{VecGymEnv, convert, crossing::keywords, failure, info, transfer};
use crate::{
    ActionBatch, ActionSpace, Actions, AutoresetMode, EnvError, Image, ObsSpec, ResetRequest,
    StepBatch, Value, VecEnv, env::check_length,
};

impl VecGymEnv {
    /// Bytes of a whole batch of observations.
    fn num_bytes(&self) -> usize {
        self.spaces.num_envs * self.spaces.obs.num_bytes()
    }

    /// Copies observations and keeps their memory until the next call.
    fn take(&mut self, buffer: PyUntypedBuffer, obs: &mut [u8]) {
        obs.copy_from_slice(transfer::bytes(&buffer));
        self.received = Some(buffer);
    }

    fn receive(
        &mut self,
        timeout: Option<f64>,
        obs: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        let num_rows = self.next_rows();
        if num_rows > 0 {
            check_length(obs, num_rows * self.spaces.obs.num_bytes())?;
        }
        let buffer = self.recv_python(timeout, batch)?;
        self.take(buffer, obs);
        Ok(())
    }

    /// Calls a method that takes `indices` beside `kwargs`.
    fn call_for<T>(
        &self,
        method: &str,
        indices: Option<&[usize]>,
        kwargs: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
        read: impl FnOnce(Bound<'_, PyAny>) -> Result<T, EnvError>,
    ) -> Result<T, EnvError> {
        self.call_python(
            method,
            |py| {
                let all = keywords(py, "indices", indices)?;
                kwargs(&all)?;
                Ok(all)
            },
            read,
        )
    }

    /// The values that envs answered with under `name`.
    fn values(&self, name: &str, answers: &Bound<'_, PyAny>) -> Result<Vec<Value>, EnvError> {
        let mut values = Vec::new();
        for answer in answers.try_iter()? {
            let value = convert::from_python(&answer?)?.map_err(|type_name| {
                transfer::broken(
                    &self.id,
                    format!("`{name}` is a Python `{type_name}`, which has no counterpart here"),
                )
            })?;
            values.push(value);
        }
        Ok(values)
    }
}

impl VecEnv for VecGymEnv {
    fn num_envs(&self) -> usize {
        self.spaces.num_envs
    }

    fn obs_spec(&self) -> &ObsSpec {
        &self.spaces.obs
    }

    fn num_actions(&self) -> i64 {
        self.spaces.num_actions()
    }

    fn backend(&self) -> &str {
        &self.spaces.backend
    }

    fn action_space(&self) -> ActionSpace {
        self.spaces.actions.clone()
    }

    fn num_players(&self) -> usize {
        self.spaces.num_players
    }

    fn batch_size(&self) -> usize {
        self.spaces.batch_size
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.spaces.autoreset
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.flight.check_open()?;
        check_length(obs, self.num_bytes())?;
        self.received = None;
        let batch = &mut StepBatch::default();
        let buffer = self.reset_python(seed, batch)?;
        self.take(buffer, obs);
        Ok(())
    }

    fn reset_async(&mut self, request: &ResetRequest) -> Result<(), EnvError> {
        self.received = None;
        self.begin_reset(request)
    }

    fn reset_wait(
        &mut self,
        obs: &mut [u8],
        batch: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.flight.check_open()?;
        check_length(obs, self.num_bytes())?;
        let buffer = self.call_python(
            "reset_wait",
            |py| keywords(py, "timeout", timeout.map(|timeout| timeout.as_secs_f64())),
            |result| info::read_reset(&self.id, &self.spaces, &result, batch),
        )?;
        self.flight.land();
        self.take(buffer, obs);
        Ok(())
    }

    fn send(&mut self, actions: &[i64]) -> Result<(), EnvError> {
        self.send_actions(Actions::Discrete(actions), None)
    }

    fn send_actions(
        &mut self,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
    ) -> Result<(), EnvError> {
        let received = mem::take(&mut self.received);
        self.send_python(actions, env_ids, received)
    }

    fn recv(&mut self, obs: &mut [u8], batch: &mut StepBatch) -> Result<(), EnvError> {
        self.receive(None, obs, batch)
    }

    fn recv_timeout(
        &mut self,
        obs: &mut [u8],
        batch: &mut StepBatch,
        timeout: Duration,
    ) -> Result<(), EnvError> {
        self.receive(Some(timeout.as_secs_f64()), obs, batch)
    }

    fn seed_actions(&mut self, seed: u64) -> Result<(), EnvError> {
        self.flight.check_open()?;
        Python::attach(|py| {
            let space = self.env.getattr(py, intern!(py, "action_space"))?;
            space.call_method1(py, intern!(py, "seed"), (seed,))?;
            Ok(())
        })
    }

    fn sample_actions(&mut self) -> Result<ActionBatch, EnvError> {
        self.flight.check_open()?;
        Python::attach(|py| {
            let space = self.env.getattr(py, intern!(py, "action_space"))?;
            let drawn = space.call_method0(py, intern!(py, "sample"))?;
            let flat = drawn
                .call_method0(py, intern!(py, "ravel"))?
                .call_method0(py, intern!(py, "tolist"))?;
            Ok(match self.spaces.actions {
                ActionSpace::Box { .. } => ActionBatch::Continuous(flat.extract(py)?),
                _ => ActionBatch::Discrete(flat.extract(py)?),
            })
        })
    }

    fn render(&mut self) -> Result<Vec<Image>, EnvError> {
        self.call_python(
            "render",
            |py| Ok(PyDict::new(py)),
            |pictures| {
                let pictures = pictures.try_iter()?;
                pictures
                    .map(|picture| transfer::image(&self.id, &picture?))
                    .collect()
            },
        )
    }

    fn render_at(&mut self, index: usize) -> Result<Image, EnvError> {
        let read = |picture: Bound<'_, PyAny>| transfer::image(&self.id, &picture);
        self.call_python("render_at", |py| keywords(py, "index", index), read)
    }

    fn render_tiles(&mut self) -> Result<Image, EnvError> {
        let read = |picture: Bound<'_, PyAny>| transfer::image(&self.id, &picture);
        self.call_python("render_tiles", |py| Ok(PyDict::new(py)), read)
    }

    fn call(
        &mut self,
        name: &str,
        args: &[Value],
        kwargs: &[(&str, Value)],
        indices: Option<&[usize]>,
    ) -> Result<Vec<Value>, EnvError> {
        self.flight.check_open()?;
        Python::attach(|py| {
            let positional = convert::to_list(py, args)?;
            positional.insert(0, name)?;
            let keywords = convert::to_dict(py, kwargs)?;
            keywords.set_item(intern!(py, "indices"), indices)?;
            let answers = self
                .env
                .bind(py)
                .getattr(intern!(py, "call"))?
                .call(positional.to_tuple(), Some(&keywords))
                .map_err(|error| failure::classify(py, &self.id, error))?;
            self.values(name, &answers)
        })
    }

    fn set_attr(
        &mut self,
        name: &str,
        values: &[Value],
        indices: Option<&[usize]>,
    ) -> Result<(), EnvError> {
        let count = indices.map_or(self.spaces.num_envs, <[usize]>::len);
        let fill = |kwargs: &Bound<'_, PyDict>| {
            let py = kwargs.py();
            let each = match values {
                [value] => PyList::new(py, vec![convert::to_python(py, value)?; count])?,
                values => convert::to_list(py, values)?,
            };
            kwargs.set_item(intern!(py, "name"), name)?;
            kwargs.set_item(intern!(py, "values"), each)
        };
        self.call_for("set_attr", indices, fill, |_| Ok(()))
    }

    fn save_state(&mut self, indices: Option<&[usize]>) -> Result<Vec<Vec<u8>>, EnvError> {
        self.call_for(
            "save_state",
            indices,
            |_| Ok(()),
            |states| {
                let states = states.try_iter()?;
                states
                    .map(|state| {
                        Ok(state?
                            .cast_into::<PyBytes>()
                            .map_err(PyErr::from)?
                            .as_bytes()
                            .to_vec())
                    })
                    .collect()
            },
        )
    }

    fn restore_state(
        &mut self,
        states: &[Vec<u8>],
        indices: Option<&[usize]>,
        obs: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        self.flight.check_open()?;
        check_length(obs, self.num_bytes())?;
        self.received = None;
        let fill = |kwargs: &Bound<'_, PyDict>| {
            let py = kwargs.py();
            let states = states.iter().map(|state| PyBytes::new(py, state));
            kwargs.set_item(intern!(py, "states"), PyList::new(py, states)?)
        };
        let buffer = self.call_for("restore_state", indices, fill, |result| {
            info::read_reset(&self.id, &self.spaces, &result, batch)
        })?;
        self.flight.land();
        self.take(buffer, obs);
        Ok(())
    }

    fn restart_workers(&mut self, indices: Option<&[usize]>) -> Result<Vec<usize>, EnvError> {
        let read = |restarted: Bound<'_, PyAny>| Ok(restarted.extract()?);
        self.call_for("restart_workers", indices, |_| Ok(()), read)
    }

    fn worker_pids(&self) -> Result<Vec<u32>, EnvError> {
        self.flight.check_open()?;
        Python::attach(|py| {
            let pids = self.env.bind(py).getattr(intern!(py, "worker_pids"))?;
            Ok(pids.extract()?)
        })
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.received = None;
        self.close_python()
    }
}
