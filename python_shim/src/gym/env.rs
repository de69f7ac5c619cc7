//! What a [`VecGymEnv`] is, how it is made and how it ends.

use std::{
    cell::{Cell, RefCell},
    iter,
};

use pyo3::{buffer::PyUntypedBuffer, intern, prelude::*};
use vec_env::{BatchSpec, EnvError, ObsSlot, StepBatch};

use super::{arrays::ActionArray, spaces};
use crate::{
    error::CallError,
    interpreter,
    value::{self, MakeOptions, Value},
};

/// A batch of Gymnasium environments.
///
/// Two interfaces, and some pairs of methods with the same name: the inherent ones (`new`, `reset`,
/// `step`, …) speak in float tensors and `PyResult`; those of [`VecEnv`](vec_env::VecEnv) write bytes
/// into memory of the caller's. On a value or a `&VecGymEnv`, `env.reset()` is the inherent one; write
/// `VecEnv::reset(&mut env, seed, &mut obs)` for the other. Generic code and `dyn VecEnv` see the
/// trait only.
///
/// Dropping it closes the environments and ends their worker processes.
pub struct VecGymEnv {
    pub(super) id: String,
    pub(super) env: Py<PyAny>,
    pub(super) send: Py<PyAny>,
    pub(super) recv: Py<PyAny>,
    pub(super) spec: BatchSpec,
    /// Python's observations are float64; they cross as float32.
    pub(super) narrows_obs: bool,
    /// `[num_envs, ...obs_spec.shape]`
    pub(super) batch_shape: Vec<i64>,
    pub(super) actions: ActionArray,
    /// The observations last received: their memory is given back within the next call, which saves
    /// attaching the GIL once more for that alone.
    pub(super) received: Option<PyUntypedBuffer>,
    /// Where the step in flight is to be copied to, if its `send` said so.
    pub(super) slot: RefCell<Option<ObsSlot>>,
    pub(super) is_closed: Cell<bool>,
    pub(super) extras: RefCell<Vec<(String, Value)>>,
    /// Memory that the tensor methods reuse.
    pub(super) scratch: RefCell<StepBatch>,
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

    /// Has a server make `num_envs` environments with id `env_id`, which are stepped over a socket: an
    /// `atari_wrappers.remote.RemoteVecEnv` with `options` as keyword arguments. The server's token is that of the
    /// environment variable `ATARI_WRAPPERS_TOKEN`.
    ///
    /// # Errors
    /// Those of [`VecGymEnv::make_vec`]; [`EnvError::Backend`] also where there is no server at `address`, or where it
    /// refuses; [`EnvError::Unsupported`] where it serves another id.
    pub fn connect(
        address: &str,
        env_id: &str,
        num_envs: usize,
        options: &MakeOptions,
    ) -> Result<Self, EnvError> {
        interpreter::start()?;
        let connect = |py: Python<'_>| -> Result<Self, CallError> {
            interpreter::atari_wrappers(py)?;
            let remote = interpreter::import(py, "atari_wrappers.remote")?;
            let class = remote.getattr(intern!(py, "RemoteVecEnv"))?;
            let kwargs = value::to_dict(py, options.settings())?;
            let env = class.call((address, num_envs), Some(&kwargs))?;
            let made = Self::from_python(env_id, &env)?;
            let served: String = env.getattr(intern!(py, "env_name"))?.extract()?;
            if served != env_id {
                let problem = format!("the server at {address} serves `{served}`, not `{env_id}`");
                return Err(EnvError::Unsupported(problem).into());
            }
            Ok(made)
        };
        Ok(Python::attach(connect)?)
    }

    /// Takes over an `atari_wrappers.VecEnv`; closes it again where it cannot be used.
    pub(super) fn from_python(id: &str, env: &Bound<'_, PyAny>) -> Result<Self, CallError> {
        Self::wrap(id, env).inspect_err(|_| {
            // The reason for refusing matters more than what closing might add.
            let _ = env.call_method0(intern!(env.py(), "close"));
        })
    }

    fn wrap(id: &str, env: &Bound<'_, PyAny>) -> Result<Self, CallError> {
        let py = env.py();
        let (spec, narrows_obs) = spaces::read(id, env)?;
        let batch_shape = iter::once(&spec.num_envs).chain(&spec.obs_spec.shape);
        Ok(Self {
            id: id.to_owned(),
            send: env.getattr(intern!(py, "send"))?.unbind(),
            recv: env.getattr(intern!(py, "recv"))?.unbind(),
            env: env.clone().unbind(),
            actions: ActionArray::new(py, spec.num_envs, &spec.action_space)?,
            batch_shape: batch_shape.map(|&size| size as i64).collect(),
            spec,
            narrows_obs,
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
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
