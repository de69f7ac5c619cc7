//! [`Batch`]: environments of any kind on threads, as `gymnasium_envs` calls them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use numpy::{IntoPyArray, PyArray1, PyArray3};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyBytesMethods, PyDict},
};
use vec_env::{
    AutoresetMode, Env, EnvError, ObsSlot, Picture, StepBatch, ThreadedVecEnv, VecEnv,
    pool::message_of,
};

use crate::{
    arrays::{Destination, describe_spaces, picture_array, with_actions},
    errors::{exception, made},
    of_process::OfProcess,
};

/// A batch of environments, stepped while the GIL is free.
///
/// Several threads of Python may call it: each waits for the others' calls to end. `gymnasium_envs` checks the order of
/// calls and says it in Gymnasium's words.
#[pyclass(frozen)]
pub struct Batch(OfProcess<Inner>);

struct Inner {
    // Dropped first: its threads may be writing to the memory that `obs` keeps.
    envs: Box<dyn AnyEnvs>,
    step: StepBatch,
    /// Where the step in flight writes, which is let go of with the GIL in hand.
    obs: Option<Destination>,
    /// What an environment has panicked with in the calling thread; the batch itself knows of its threads.
    panic: Option<String>,
}

/// Environments of whatever kind.
trait AnyEnvs: VecEnv {
    fn reset_envs(
        &mut self,
        env_ids: &[usize],
        seeds: &[Option<u64>],
        obs: &mut [u8],
    ) -> Result<(), EnvError>;

    fn render(&mut self, index: usize) -> Result<Option<Picture>, EnvError>;

    fn obs_bounds(&mut self) -> Result<Option<[Vec<f32>; 2]>, EnvError>;

    fn render_fps(&mut self) -> Result<f64, EnvError>;

    fn ended(&mut self) -> Result<Vec<bool>, EnvError>;
}

impl<E: Env + 'static> AnyEnvs for ThreadedVecEnv<E> {
    fn reset_envs(
        &mut self,
        env_ids: &[usize],
        seeds: &[Option<u64>],
        obs: &mut [u8],
    ) -> Result<(), EnvError> {
        Self::reset_envs(self, env_ids, seeds, obs)
    }

    fn render(&mut self, index: usize) -> Result<Option<Picture>, EnvError> {
        self.look(index, |env| env.render())
    }

    fn obs_bounds(&mut self) -> Result<Option<[Vec<f32>; 2]>, EnvError> {
        self.look(0, |env| env.obs_bounds())
    }

    fn render_fps(&mut self) -> Result<f64, EnvError> {
        self.look(0, |env| env.render_fps())
    }

    fn ended(&mut self) -> Result<Vec<bool>, EnvError> {
        Self::ended(self)
    }
}

/// Where episodes ended that another one followed at once, and their last observations: `[n]` and `[n, row bytes]`.
type Finals<'py> = (Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<u8>>);
/// `(reward, terminated, truncated, final)`.
type Results<'py> = (
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Option<Finals<'py>>,
);

impl Batch {
    /// A batch of environments from calls of `make`. Autoreset modes have the names of Gymnasium's; `num_threads` is that
    /// of [`ThreadedVecEnv::new`].
    ///
    /// # Errors
    /// A `ValueError` for what `make` refuses, and for a value that is none; a `RuntimeError` where it panics.
    pub fn new<E: Env + 'static>(
        num_envs: usize,
        autoreset_mode: &str,
        num_threads: usize,
        make: impl Fn() -> Result<E, String>,
    ) -> PyResult<Self> {
        let mode: Result<AutoresetMode, EnvError> = autoreset_mode.parse();
        let mode = mode.map_err(|error| exception(&error))?;
        let envs = made(|| (0..num_envs).map(|_| make()).collect::<Result<Vec<E>, _>>())?;
        let envs = ThreadedVecEnv::new(envs, mode, num_threads);
        let envs = envs.map_err(|error| exception(&error))?;
        let has_threads = envs.has_threads();
        let inner = Inner {
            envs: Box::new(envs),
            step: StepBatch::default(),
            obs: None,
            panic: None,
        };
        Ok(Self(OfProcess::new(inner, has_threads)))
    }

    /// The batch, once no other thread is in a call of it.
    fn call<T>(&self, py: Python<'_>, call: impl FnOnce(&mut Inner) -> PyResult<T>) -> PyResult<T> {
        let inner = &mut *self.0.lock(py)?;
        if inner.panic.is_none() {
            match catch_unwind(AssertUnwindSafe(|| call(inner))) {
                Ok(called) => return called,
                Err(payload) => inner.panic = Some(message_of(&*payload).to_owned()),
            }
        }
        let problem = inner.panic.as_deref().unwrap_or_default();
        Err(exception(&EnvError::panicked(problem)))
    }
}

/// A caller's array for observations, and its memory for the batch.
fn lend(array: &Bound<'_, PyAny>) -> PyResult<(Destination, ObsSlot)> {
    let destination = Destination::new(array)?;
    #[expect(unsafe_code, reason = "numpy's memory as the destination")]
    // SAFETY: it is the only slot of the array, which `gymnasium_envs` makes anew for each call.
    let slot = unsafe { destination.slot() };
    Ok((destination, slot))
}

#[pymethods]
impl Batch {
    /// What the environments are: a dict of plain values.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.call(py, |inner| {
            let envs = &mut inner.envs;
            let bounds = envs.obs_bounds().map_err(|error| exception(&error))?;
            let fps = envs.render_fps().map_err(|error| exception(&error))?;
            let spec = envs.spec();
            let about = describe_spaces(py, &spec.obs_spec, bounds, &spec.action_space)?;
            about.set_item("render_fps", fps)?;
            Ok(about)
        })
    }

    /// Restart environments; `obs`, bytes, is filled with what all show.
    fn reset(
        &self,
        py: Python<'_>,
        env_ids: Vec<usize>,
        seeds: Vec<Option<u64>>,
        obs: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (_, mut slot) = lend(obs)?;
        self.call(py, |inner| {
            let (envs, step) = (&mut inner.envs, &mut inner.step);
            if inner.obs.is_some() {
                // Ctrl-C came behind the beginning of a step, of which Python does not know.
                let _dropped = py.detach(|| envs.recv(step));
                inner.obs = None;
            }
            let reset = py.detach(|| envs.reset_envs(&env_ids, &seeds, &mut slot));
            reset.map_err(|error| exception(&error))
        })
    }

    /// Begin a step, whose observations fill `obs`, bytes, until `recv` returns.
    fn send(
        &self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        obs: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (destination, slot) = lend(obs)?;
        self.call(py, |inner| {
            with_actions(actions, |actions| {
                let space = inner.envs.action_space();
                space.check(actions, inner.envs.num_envs(), |row| row)?;
                space.check_bounds(actions, |row| row)?;
                inner.envs.send(actions, slot)
            })?;
            inner.obs = Some(destination);
            Ok(())
        })
    }

    /// Wait for the step that was begun.
    fn recv<'py>(&self, py: Python<'py>) -> PyResult<Results<'py>> {
        self.call(py, |inner| {
            let (envs, step) = (&mut inner.envs, &mut inner.step);
            let received = py.detach(|| envs.recv(step));
            inner.obs = None;
            received.map_err(|error| exception(&error))?;
            let step = &inner.step;
            let row_bytes = inner.envs.obs_spec().num_bytes();
            let finals = (!step.final_obs.is_empty()).then(|| {
                let mut is_final = vec![false; step.reward.len()];
                let mut obs = vec![0; step.reward.len() * row_bytes];
                for (row, last) in &step.final_obs {
                    is_final[*row] = true;
                    obs[row * row_bytes..][..row_bytes].copy_from_slice(last);
                }
                (is_final.into_pyarray(py), obs.into_pyarray(py))
            });
            Ok((
                PyArray1::from_slice(py, &step.reward),
                PyArray1::from_slice(py, &step.terminated),
                PyArray1::from_slice(py, &step.truncated),
                finals,
            ))
        })
    }

    /// Return what an environment looks like, uint8 `[height, width, 3]`, or `None` if it cannot be drawn.
    fn render<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Option<Bound<'py, PyArray3<u8>>>> {
        self.call(py, |inner| {
            let picture = inner.envs.render(index);
            let picture = picture.map_err(|error| exception(&error))?;
            picture
                .map(|picture| picture_array(py, picture))
                .transpose()
        })
    }

    /// Return the state of each environment, plain data.
    fn save_state<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        self.call(py, |inner| {
            let states = inner.envs.save_state();
            let states = states.map_err(|error| exception(&error))?;
            Ok(states.iter().map(|state| PyBytes::new(py, state)).collect())
        })
    }

    /// Bring environments to states, one for each, and return which wait for a reset; `obs`, bytes, is filled with what they
    /// show.
    fn restore_state(
        &self,
        py: Python<'_>,
        states: Vec<Bound<'_, PyBytes>>,
        obs: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<bool>> {
        let states: Vec<Vec<u8>> = states
            .iter()
            .map(|state| state.as_bytes().to_vec())
            .collect();
        let (_, mut slot) = lend(obs)?;
        self.call(py, |inner| {
            let envs = &mut inner.envs;
            let restored = envs.restore_state(&states, &mut slot);
            restored
                .and_then(|()| envs.ended())
                .map_err(|error| exception(&error))
        })
    }

    /// End the threads; a step in flight is given up.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let inner = &mut *self.0.lock(py)?;
        let envs = &mut inner.envs;
        let closed = py.detach(|| envs.close());
        inner.obs = None;
        closed.map_err(|error| exception(&error))
    }
}
