//! [`Agents`]: one environment of several agents, as `gymnasium_envs` calls it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

use numpy::{IntoPyArray, PyArray1, PyArray3};
use pyo3::{
    prelude::*,
    sync::MutexExt,
    types::{PyBytes, PyBytesMethods, PyDict},
};
use vec_env::{ActionBatch, Agent, EnvError, MultiAgentEnv, Transition, pool::message_of};

use crate::{
    arrays::{describe_spaces, picture_array, with_actions},
    errors::{exception, made},
};

/// An environment of several agents, stepped while the GIL is free; several threads of Python may call it.
#[pyclass(frozen)]
pub struct Agents(Mutex<Inner>);

struct Inner {
    env: Box<dyn MultiAgentEnv>,
    /// What each agent observes.
    seen: Vec<Vec<u8>>,
    /// What it panicked with: nobody knows what it left behind.
    panic: Option<String>,
}

/// What each agent observes, as bytes, and who takes part.
type Observed<'py> = (Vec<Bound<'py, PyArray1<u8>>>, Vec<bool>);
/// Each agent's name and a dict of plain values; pictures a second.
type About<'py> = (Vec<(String, Bound<'py, PyDict>)>, f64);
/// Reward, terminated, truncated; `None` of an agent that took no part.
type Brought = Option<(f32, bool, bool)>;

impl Inner {
    fn observed<'py>(&self, py: Python<'py>) -> Observed<'py> {
        let seen = self.seen.iter();
        let seen = seen.map(|seen| seen.clone().into_pyarray(py)).collect();
        (seen, self.env.takes_part().to_vec())
    }
}

impl Agents {
    /// The environment that `make` makes.
    ///
    /// # Errors
    /// A `ValueError` for what it refuses; a `RuntimeError` where it panics.
    pub fn new<E: MultiAgentEnv + 'static>(
        make: impl FnOnce() -> Result<E, String>,
    ) -> PyResult<Self> {
        let env = made(make)?;
        let room = |agent: &Agent| vec![0; agent.obs_spec.num_bytes()];
        Ok(Self(Mutex::new(Inner {
            seen: env.agents().iter().map(room).collect(),
            env: Box::new(env),
            panic: None,
        })))
    }

    /// Calls the environment without the GIL, and `then` with it, once no other thread is in a call.
    fn call<T: Send, U>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Inner) -> Result<T, EnvError> + Send,
        then: impl FnOnce(&mut Inner, T) -> PyResult<U>,
    ) -> PyResult<U> {
        let locked = self.0.lock_py_attached(py);
        let mut locked = locked.unwrap_or_else(PoisonError::into_inner);
        let inner: &mut Inner = &mut locked;
        if inner.panic.is_none() {
            match py.detach(|| catch_unwind(AssertUnwindSafe(|| call(inner)))) {
                Ok(Ok(called)) => return then(inner, called),
                Ok(Err(error)) => return Err(exception(&error)),
                Err(payload) => inner.panic = Some(message_of(&*payload).to_owned()),
            }
        }
        let problem = inner.panic.as_deref().unwrap_or_default();
        Err(exception(&EnvError::panicked(problem)))
    }
}

#[pymethods]
impl Agents {
    /// What the agents are.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<About<'py>> {
        let look = |inner: &mut Inner| {
            let env = &inner.env;
            let bounds: Vec<_> = (0..env.agents().len())
                .map(|place| env.obs_bounds(place))
                .collect();
            Ok((bounds, env.render_fps()))
        };
        self.call(py, look, |inner, (bounds, fps)| {
            let about = |(agent, bounds): (&Agent, _)| {
                let spaces = describe_spaces(py, &agent.obs_spec, bounds, &agent.action_space)?;
                Ok((agent.name.clone(), spaces))
            };
            let about: PyResult<_> = inner.env.agents().iter().zip(bounds).map(about).collect();
            Ok((about?, fps))
        })
    }

    /// Start an episode.
    fn reset<'py>(&self, py: Python<'py>, seed: Option<u64>) -> PyResult<Observed<'py>> {
        let reset = |inner: &mut Inner| {
            inner.env.reset(seed, &mut inner.seen);
            inner.env.take_error().map_or(Ok(()), Err)
        };
        self.call(py, reset, |inner, ()| Ok(inner.observed(py)))
    }

    /// Take an array of each agent's action, `None` of those that take no part.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: Vec<Option<Bound<'py, PyAny>>>,
    ) -> PyResult<(Vec<Brought>, Observed<'py>)> {
        let mut taken: Vec<Option<ActionBatch>> = vec![None; actions.len()];
        for (action, taken) in actions.iter().zip(&mut taken) {
            if let Some(action) = action {
                with_actions(action, |action| {
                    *taken = Some(action.to_batch());
                    Ok(())
                })?;
            }
        }
        let step = move |inner: &mut Inner| {
            let actions = taken.iter();
            let actions = actions.map(|action| action.as_ref().map(ActionBatch::as_actions));
            let actions: Vec<_> = actions.collect();
            Agent::check(inner.env.agents(), inner.env.takes_part(), &actions)?;
            let brought = inner.env.step(&actions, &mut inner.seen);
            inner.env.take_error().map_or(Ok(brought), Err)
        };
        self.call(py, step, |inner, brought| {
            let plain = |each: Transition| (each.reward, each.terminated, each.truncated);
            let brought = brought.into_iter().map(|each| each.map(plain)).collect();
            Ok((brought, inner.observed(py)))
        })
    }

    /// Return what it looks like, uint8 `[height, width, 3]`, or `None` if it cannot be drawn.
    fn render<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray3<u8>>>> {
        let render = |inner: &mut Inner| Ok(inner.env.render());
        self.call(py, render, |_, picture| {
            picture
                .map(|picture| picture_array(py, picture))
                .transpose()
        })
    }

    /// Return its state, plain data.
    fn save_state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let save = |inner: &mut Inner| {
            let none = || EnvError::Unsupported("the environment has no states".to_owned());
            inner.env.save_state().ok_or_else(none)
        };
        self.call(py, save, |_, state| Ok(PyBytes::new(py, &state)))
    }

    /// Go to a state of `save_state`.
    fn restore_state<'py>(
        &self,
        py: Python<'py>,
        state: &Bound<'py, PyBytes>,
    ) -> PyResult<Observed<'py>> {
        let state = state.as_bytes().to_vec();
        let restore = move |inner: &mut Inner| {
            let is_restored = inner.env.restore_state(&state, &mut inner.seen);
            let none = || EnvError::State("it is none of this environment".to_owned());
            is_restored.then_some(()).ok_or_else(none)
        };
        self.call(py, restore, |inner, ()| Ok(inner.observed(py)))
    }
}
