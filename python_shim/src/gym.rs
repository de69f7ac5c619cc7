//! [`VecGymEnv`]: a batch of Gymnasium environments, made and stepped by the Python package
//! `atari_wrappers`. Here is what makes and ends it, and the trait's methods; `tensors` has those of
//! tch-rs' example, `inspect` and `resets` what else a batch can do, and `calls` calls Python.

mod arrays;
mod calls;
mod inspect;
mod resets;
mod results;
mod spaces;
mod tensors;

use std::{
    cell::{Cell, RefCell},
    mem,
    time::Duration,
};

use pyo3::{buffer::PyUntypedBuffer, intern, prelude::*};
use vec_env::{Actions, BatchSpec, EnvError, ObsSlot, StepBatch, VecEnv};

use arrays::ActionArray;
pub use inspect::Image;
pub use resets::ResetRequest;
use spaces::Spaces;
pub use tensors::Step;

use crate::{MakeOptions, Value, error::CallError, interpreter, value};

/// A batch of Gymnasium environments.
///
/// Two interfaces, and some pairs of methods with the same name: the inherent ones (`new`, `reset`,
/// `step`, …) speak in float tensors and `PyResult`; those of [`VecEnv`] write bytes
/// into memory of the caller's. On a value or a `&VecGymEnv`, `env.reset()` is the inherent one; write
/// `VecEnv::reset(&mut env, seed, &mut obs)` for the other. Generic code and `dyn VecEnv` see the
/// trait only.
///
/// Dropping it closes the environments and ends their worker processes.
pub struct VecGymEnv {
    id: String,
    env: Py<PyAny>,
    send: Py<PyAny>,
    recv: Py<PyAny>,
    spaces: Spaces,
    actions: ActionArray,
    /// The observations last received: their memory is given back within the next call, which saves
    /// attaching the GIL once more for that alone.
    received: Option<PyUntypedBuffer>,
    /// Where the step in flight is to be copied to, if its `send` said so.
    slot: RefCell<Option<ObsSlot>>,
    is_closed: Cell<bool>,
    extras: RefCell<Vec<(String, Value)>>,
    /// Memory that the tensor methods reuse.
    scratch: RefCell<StepBatch>,
}

impl VecGymEnv {
    /// Makes `num_envs` environments with id `env_id`, of Atari or of any other kind that Gymnasium
    /// knows, with `options` as keyword arguments of `atari_wrappers.make_vec`.
    ///
    /// ```no_run
    /// # use python_shim::{MakeOptions, VecGymEnv, vec_env::EnvError};
    /// let options = MakeOptions::new().with("preset", "baselines").with("screen_size", vec![96, 72]);
    /// let env = VecGymEnv::make_vec("SpaceInvadersNoFrameskip-v4", 8, &options)?;
    /// # Ok::<(), EnvError>(())
    /// ```
    ///
    /// # Errors
    /// [`EnvError::Backend`] when Python or a package is missing, and for an id or a setting that
    /// `atari_wrappers` refuses, [`EnvError::Unsupported`] for other spaces than boxes of uint8, float32 or
    /// float64 observations, of which the last cross as float32, or actions than those of [`ActionSpace`](vec_env::ActionSpace).
    pub fn make_vec(
        env_id: &str,
        num_envs: usize,
        options: &MakeOptions,
    ) -> Result<Self, EnvError> {
        interpreter::start()?;
        let make = |py: Python<'_>| -> Result<Self, CallError> {
            let make_vec = interpreter::atari_wrappers(py)?.getattr(intern!(py, "make_vec"))?;
            let kwargs = value::to_dict(py, options.settings())?;
            let env = make_vec.call((env_id, num_envs), Some(&kwargs))?;
            Self::from_python(env_id, &env)
        };
        Ok(Python::attach(make)?)
    }

    /// Takes over an `atari_wrappers.VecEnv`; closes it again where it cannot be used.
    fn from_python(id: &str, env: &Bound<'_, PyAny>) -> Result<Self, CallError> {
        Self::wrap(id, env).inspect_err(|_| {
            // The reason for refusing matters more than what closing might add.
            let _ = env.call_method0(intern!(env.py(), "close"));
        })
    }

    fn wrap(id: &str, env: &Bound<'_, PyAny>) -> Result<Self, CallError> {
        let py = env.py();
        let spaces = Spaces::read(id, env)?;
        Ok(Self {
            id: id.to_owned(),
            send: env.getattr(intern!(py, "send"))?.unbind(),
            recv: env.getattr(intern!(py, "recv"))?.unbind(),
            env: env.clone().unbind(),
            actions: ActionArray::new(py, spaces.batch.num_envs, &spaces.batch.action_space)?,
            spaces,
            received: None,
            slot: RefCell::default(),
            is_closed: Cell::new(false),
            extras: RefCell::default(),
            scratch: RefCell::default(),
        })
    }

    /// What the last reset or step said beyond [`StepBatch`], by name; nothing for Atari games. What
    /// [`Value`] does not carry is left out.
    #[must_use]
    pub fn extras(&self) -> Vec<(String, Value)> {
        self.extras.borrow().clone()
    }

    /// The Gymnasium id that the environments were made with.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
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

impl Drop for VecGymEnv {
    fn drop(&mut self) {
        // Nobody is left to hear of an error; close first to hear of it.
        let _ = self.close_python();
    }
}

impl std::fmt::Debug for VecGymEnv {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("VecGymEnv")
            .field("id", &self.id)
            .field("spaces", &self.spaces)
            .finish_non_exhaustive()
    }
}
